// 128-bit identifiers of topics, clusters and data folders. Text form: url-safe base64 without padding, as Kafka prints
// it.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace naru {

struct Uuid {
  uint64_t high = 0;
  uint64_t low = 0;

  constexpr auto operator<=>(const Uuid&) const = default;
  constexpr bool is_zero() const { return high == 0 && low == 0; }

  std::string to_string() const;
  static std::optional<Uuid> parse(std::string_view text);
  // A version-4 identifier made of 128 random bits; never one of Kafka's reserved values.
  static Uuid from_random_bits(uint64_t high, uint64_t low);
};

}  // namespace naru

template <>
struct std::hash<naru::Uuid> {
  size_t operator()(const naru::Uuid& id) const noexcept { return id.high ^ (id.low * 0x9e3779b97f4a7c15ULL); }
};
