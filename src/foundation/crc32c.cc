#include "foundation/crc32c.h"

#include <isa-l/crc.h>

#include <algorithm>
#include <climits>

namespace naru {

uint32_t crc32c(BytesView bytes) {
  return crc32c_extend(0, bytes);
}

uint32_t crc32c_extend(uint32_t crc, BytesView bytes) {
  // The library takes an int length and a non-const pointer that it only reads.
  while (!bytes.empty()) {
    const auto part = std::min<size_t>(bytes.size(), INT_MAX);
    auto* data = reinterpret_cast<unsigned char*>(const_cast<std::byte*>(bytes.data()));
    crc = ~crc32_iscsi(data, static_cast<int>(part), ~crc);
    bytes = bytes.subspan(part);
  }
  return crc;
}

}  // namespace naru
