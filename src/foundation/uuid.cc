#include "foundation/uuid.h"

namespace naru {
namespace {

constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
constexpr size_t kTextLength = 22;  // 128 bits in 6-bit digits: 21 whole ones and one that carries 2 bits

// Bits [position, position + 6) of the 128, counted from the most significant; missing low bits are zero.
unsigned digit_at(const Uuid& id, unsigned position) {
  unsigned digit = 0;
  for (unsigned bit = position; bit < position + 6; ++bit) {
    digit <<= 1;
    if (bit < 64) digit |= (id.high >> (63 - bit)) & 1;
    if (bit >= 64 && bit < 128) digit |= (id.low >> (127 - bit)) & 1;
  }
  return digit;
}

}  // namespace

std::string Uuid::to_string() const {
  std::string text;
  text.reserve(kTextLength);
  for (unsigned i = 0; i < kTextLength; ++i) text.push_back(kAlphabet[digit_at(*this, i * 6)]);
  return text;
}

std::optional<Uuid> Uuid::parse(std::string_view text) {
  if (text.size() != kTextLength) return std::nullopt;
  Uuid id;
  unsigned position = 0;
  for (char c : text) {
    const auto digit = kAlphabet.find(c);
    if (digit == std::string_view::npos) return std::nullopt;
    for (int bit = 5; bit >= 0; --bit, ++position) {
      const uint64_t value = (digit >> bit) & 1;
      if (position < 64) {
        id.high |= value << (63 - position);
      } else if (position < 128) {
        id.low |= value << (127 - position);
      } else if (value != 0) {
        return std::nullopt;  // the last digit carries only two bits
      }
    }
  }
  return id;
}

Uuid Uuid::from_random_bits(uint64_t high, uint64_t low) {
  high = (high & ~0xf000ULL) | 0x4000ULL;
  low = (low & ~(3ULL << 62)) | (2ULL << 62);
  return {high, low};
}

}  // namespace naru
