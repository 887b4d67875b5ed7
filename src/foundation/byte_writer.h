// Appends big-endian integers, varints and bytes to a growing buffer.
#pragma once

#include <concepts>
#include <cstdint>
#include <string_view>

#include "foundation/bytes.h"
#include "foundation/endian.h"

namespace naru {

class ByteWriter {
 public:
  explicit ByteWriter(Bytes& to) : to_(to) {}

  size_t size() const { return to_.size(); }

  template <std::integral T>
  void write_int(T value) {
    const size_t at = to_.size();
    to_.resize(at + sizeof(T));
    store_big_endian(to_.data() + at, value);
  }
  // Overwrites an integer that was written as a placeholder.
  template <std::integral T>
  void patch_int(size_t at, T value) {
    store_big_endian(to_.data() + at, value);
  }
  void write_bytes(BytesView bytes) { append_bytes(to_, bytes); }

  void write_uvarint(uint32_t value) { write_uvarlong(value); }
  void write_uvarlong(uint64_t value) {
    for (; value >= 0x80; value >>= 7) to_.push_back(static_cast<std::byte>(value | 0x80));
    to_.push_back(static_cast<std::byte>(value));
  }
  void write_varint(int32_t value) {
    write_uvarint((static_cast<uint32_t>(value) << 1) ^ static_cast<uint32_t>(value >> 31));
  }
  void write_varlong(int64_t value) {
    write_uvarlong((static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63));
  }

 private:
  Bytes& to_;
};

constexpr size_t uvarint_size(uint64_t value) {
  size_t size = 1;
  for (; value >= 0x80; value >>= 7) ++size;
  return size;
}

}  // namespace naru
