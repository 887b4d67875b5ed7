#include "coordinator_runtime/coordinator_key.h"

#include <cstdint>
#include <limits>
#include <string_view>

#include "foundation/assert.h"

namespace naru {
namespace {

constexpr uint32_t kReplacement = 0xFFFD;

struct DecodedCharacter {
  uint32_t code_point;
  size_t size;
};

// The bytes that may follow a leading byte depend on it, so that overlong forms and surrogates are ill-formed.
struct Utf8Form {
  size_t size = 1;
  uint8_t second_min = 0x80;
  uint8_t second_max = 0xBF;
  uint32_t bits = 0;
};

Utf8Form form_of(uint8_t lead) {
  const auto low = [lead](uint32_t mask) { return lead & mask; };
  if (lead >= 0xC2 && lead <= 0xDF) return {2, 0x80, 0xBF, low(0x1F)};
  if (lead == 0xE0) return {3, 0xA0, 0xBF, low(0x0F)};
  if (lead == 0xED) return {3, 0x80, 0x9F, low(0x0F)};
  if (lead >= 0xE1 && lead <= 0xEF) return {3, 0x80, 0xBF, low(0x0F)};
  if (lead == 0xF0) return {4, 0x90, 0xBF, low(0x07)};
  if (lead >= 0xF1 && lead <= 0xF3) return {4, 0x80, 0xBF, low(0x07)};
  if (lead == 0xF4) return {4, 0x80, 0x8F, low(0x07)};
  return {1, 0, 0, kReplacement};
}

DecodedCharacter decode_first(std::string_view text) {
  const auto byte = [text](size_t i) { return static_cast<uint8_t>(text[i]); };
  if (byte(0) < 0x80) return {byte(0), 1};
  const Utf8Form form = form_of(byte(0));
  uint32_t code_point = form.bits;
  for (size_t i = 1; i < form.size; ++i) {
    const uint8_t min = i == 1 ? form.second_min : 0x80;
    const uint8_t max = i == 1 ? form.second_max : 0xBF;
    if (i >= text.size() || byte(i) < min || byte(i) > max) return {kReplacement, i};
    code_point = (code_point << 6) | (byte(i) & 0x3F);
  }
  return {code_point, form.size};
}

}  // namespace

int32_t java_string_hash(std::string_view utf8) {
  uint32_t hash = 0;
  const auto add = [&hash](uint32_t code_unit) { hash = hash * 31 + code_unit; };
  while (!utf8.empty()) {
    const DecodedCharacter character = decode_first(utf8);
    utf8.remove_prefix(character.size);
    if (character.code_point < 0x10000) {
      add(character.code_point);
    } else {
      add(0xD800 + ((character.code_point - 0x10000) >> 10));
      add(0xDC00 + ((character.code_point - 0x10000) & 0x3FF));
    }
  }
  return static_cast<int32_t>(hash);
}

int32_t coordinator_partition(std::string_view key, int32_t partitions) {
  NARU_ASSERT(partitions > 0, "a topic of {} partitions", partitions);
  const int32_t hash = java_string_hash(key);
  // The one number without an absolute value counts as 0.
  if (hash == std::numeric_limits<int32_t>::min()) return 0;
  return (hash < 0 ? -hash : hash) % partitions;
}

}  // namespace naru
