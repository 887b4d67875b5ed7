// What everything that writes records shares.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>

#include "foundation/byte_writer.h"
#include "foundation/bytes.h"

namespace naru {

// Lengths in the format are signed 32-bit numbers.
inline constexpr size_t kMaxBatchSize = std::numeric_limits<int32_t>::max();

// A key, a value, or what belongs to a header of a record.
inline void write_nullable(ByteWriter& writer, std::optional<BytesView> bytes) {
  writer.write_varint(bytes ? static_cast<int32_t>(bytes->size()) : -1);
  if (bytes) writer.write_bytes(*bytes);
}

}  // namespace naru
