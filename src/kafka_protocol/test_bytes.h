// For tests: bytes as people write them.
#pragma once

#include <string>
#include <string_view>

#include <fmt/format.h>

#include "foundation/bytes.h"

namespace naru::kafka {

// "0012 0003 6d65": blanks are ignored.
inline Bytes from_hex(std::string_view text) {
  const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  Bytes bytes;
  int high = -1;
  for (const char c : text) {
    if (c == ' ') continue;
    if (high < 0) {
      high = digit(c);
    } else {
      bytes.push_back(static_cast<std::byte>(high * 16 + digit(c)));
      high = -1;
    }
  }
  return bytes;
}

inline std::string to_hex(BytesView bytes) {
  std::string text;
  for (const std::byte byte : bytes) text += fmt::format("{:02x}", std::to_integer<int>(byte));
  return text;
}

}  // namespace naru::kafka
