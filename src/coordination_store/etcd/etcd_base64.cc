#include "coordination_store/etcd/etcd_base64.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace naru {
namespace {

constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

constexpr std::array<int8_t, 256> kDigits = [] {
  std::array<int8_t, 256> digits{};
  digits.fill(-1);
  for (size_t i = 0; i < kAlphabet.size(); ++i) {
    digits[static_cast<unsigned char>(kAlphabet[i])] = static_cast<int8_t>(i);
  }
  return digits;
}();

}  // namespace

std::string encode_base64(BytesView bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t at = 0; at < bytes.size(); at += 3) {
    const size_t count = std::min<size_t>(3, bytes.size() - at);
    uint32_t group = 0;
    for (size_t i = 0; i < 3; ++i) group = group << 8 | (i < count ? std::to_integer<uint32_t>(bytes[at + i]) : 0);
    for (size_t i = 0; i < 4; ++i) text += i <= count ? kAlphabet[group >> (18 - 6 * i) & 63] : '=';
  }
  return text;
}

std::optional<Bytes> decode_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  Bytes bytes;
  bytes.reserve(text.size() / 4 * 3);
  for (size_t at = 0; at < text.size(); at += 4) {
    std::string_view quartet = text.substr(at, 4);
    if (at + 4 == text.size()) {
      while (quartet.size() > 2 && quartet.back() == '=') quartet.remove_suffix(1);
    }
    uint32_t group = 0;
    for (size_t i = 0; i < 4; ++i) {
      const int digit = i < quartet.size() ? kDigits[static_cast<unsigned char>(quartet[i])] : 0;
      if (digit < 0) return std::nullopt;
      group = group << 6 | static_cast<uint32_t>(digit);
    }
    for (size_t i = 0; i + 1 < quartet.size(); ++i)
      bytes.push_back(static_cast<std::byte>(group >> (16 - 8 * i) & 255));
  }
  return bytes;
}

}  // namespace naru
