// Reads untrusted bytes. The first error sticks: after it every read yields zero or empty, and ok() is asked once at
// the end.
#pragma once

#include <concepts>
#include <cstdint>
#include <string_view>

#include "foundation/bytes.h"
#include "foundation/endian.h"

namespace naru {

class ByteReader {
 public:
  explicit ByteReader(BytesView bytes) : bytes_(bytes) {}

  bool ok() const { return error_ == nullptr; }
  // What went wrong first, and at which byte; nullptr and the current position when nothing did.
  const char* error() const { return error_; }
  size_t position() const { return ok() ? position_ : error_position_; }
  size_t remaining() const { return bytes_.size() - position_; }
  bool at_end() const { return remaining() == 0; }

  void fail(const char* reason) {
    if (error_ != nullptr) return;
    error_ = reason;
    error_position_ = position_;
    position_ = bytes_.size();
  }

  template <std::integral T>
  T read_int() {
    if (remaining() < sizeof(T)) {
      fail("truncated integer");
      return 0;
    }
    const T value = load_big_endian<T>(bytes_.data() + position_);
    position_ += sizeof(T);
    return value;
  }

  BytesView read_bytes(size_t count) {
    if (remaining() < count) {
      fail("length reaches beyond the end");
      return {};
    }
    const BytesView view = bytes_.subspan(position_, count);
    position_ += count;
    return view;
  }

  // 7 bits per byte, low group first. At most 5 bytes (10 for 64 bits), and no bits beyond the type.
  uint32_t read_uvarint() { return static_cast<uint32_t>(read_uvarint_bits(32)); }
  uint64_t read_uvarlong() { return read_uvarint_bits(64); }
  int32_t read_varint() {
    const uint32_t raw = read_uvarint();
    return static_cast<int32_t>(raw >> 1) ^ -static_cast<int32_t>(raw & 1);
  }
  int64_t read_varlong() {
    const uint64_t raw = read_uvarlong();
    return static_cast<int64_t>(raw >> 1) ^ -static_cast<int64_t>(raw & 1);
  }

 private:
  uint64_t read_uvarint_bits(int bits) {
    uint64_t value = 0;
    for (int shift = 0; shift < bits; shift += 7) {
      if (at_end()) {
        fail("truncated varint");
        return 0;
      }
      const auto byte = std::to_integer<uint64_t>(bytes_[position_++]);
      const uint64_t group = byte & 0x7f;
      if (bits - shift < 7 && (group >> (bits - shift)) != 0) break;
      value |= group << shift;
      if ((byte & 0x80) == 0) return value;
    }
    fail("varint too long");
    return 0;
  }

  BytesView bytes_;
  size_t position_ = 0;
  size_t error_position_ = 0;
  const char* error_ = nullptr;
};

}  // namespace naru
