// Byte views. Everything that came from a client or from a disk is a BytesView until it has been checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace naru {

using Bytes = std::vector<std::byte>;
using BytesView = std::span<const std::byte>;
using MutableBytesView = std::span<std::byte>;

inline BytesView as_bytes(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}
inline std::string_view as_text(BytesView bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
inline void append_bytes(Bytes& to, BytesView from) {
  to.insert(to.end(), from.begin(), from.end());
}
inline bool equal_bytes(BytesView a, BytesView b) {
  return as_text(a) == as_text(b);
}

}  // namespace naru
