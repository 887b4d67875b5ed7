// A regular expression over names, in RE2's syntax: matching takes time linear in the name, whatever the pattern.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "foundation/status.h"

namespace naru {

inline constexpr size_t kRegularExpressionBytesMax = 16 * 1024;

// Immutable. A pattern comes from a stranger: its length and the memory of what is made of it are bounded.
class RegularExpression {
 public:
  // INVALID_REGULAR_EXPRESSION, with a sentence for the person who wrote it.
  static Result<RegularExpression> compile(std::string_view pattern);

  RegularExpression(RegularExpression&&) noexcept;
  RegularExpression& operator=(RegularExpression&&) noexcept;
  ~RegularExpression();

  // The whole name has to match.
  bool matches(std::string_view name) const;

 private:
  struct Compiled;
  explicit RegularExpression(std::unique_ptr<const Compiled> compiled);

  std::unique_ptr<const Compiled> compiled_;
};

}  // namespace naru
