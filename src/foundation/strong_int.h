// Integers that cannot be mixed up: an Offset is not a LeaderEpoch, and neither becomes an int64_t by itself.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

#include <fmt/core.h>

namespace naru {

template <class Tag, class Rep>
class StrongInt {
 public:
  using rep = Rep;

  constexpr StrongInt() = default;
  constexpr explicit StrongInt(Rep value) : value_(value) {}

  constexpr Rep value() const { return value_; }

  constexpr auto operator<=>(const StrongInt&) const = default;

  constexpr StrongInt& operator++() {
    ++value_;
    return *this;
  }
  constexpr StrongInt operator+(Rep delta) const { return StrongInt(static_cast<Rep>(value_ + delta)); }
  constexpr StrongInt operator-(Rep delta) const { return StrongInt(static_cast<Rep>(value_ - delta)); }
  constexpr Rep operator-(StrongInt other) const { return static_cast<Rep>(value_ - other.value_); }
  constexpr StrongInt& operator+=(Rep delta) {
    value_ += delta;
    return *this;
  }

 private:
  Rep value_{};
};

}  // namespace naru

template <class Tag, class Rep>
struct std::hash<naru::StrongInt<Tag, Rep>> {
  size_t operator()(naru::StrongInt<Tag, Rep> id) const noexcept { return std::hash<Rep>{}(id.value()); }
};

template <class Tag, class Rep>
struct fmt::formatter<naru::StrongInt<Tag, Rep>> {
  constexpr auto parse(fmt::format_parse_context& context) { return context.begin(); }
  template <class Context>
  auto format(naru::StrongInt<Tag, Rep> id, Context& context) const {
    return fmt::format_to(context.out(), "{}", id.value());
  }
};
