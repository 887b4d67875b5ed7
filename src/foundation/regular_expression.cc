#include "foundation/regular_expression.h"

#include <cstdint>
#include <utility>

#include <re2/re2.h>

namespace naru {
namespace {

// RE2 refuses patterns whose program would be larger: a{1000}{1000} and the like.
constexpr int64_t kExpressionMemoryMax = int64_t{1} << 20;

// Matching costs at most the size of the program for each character of each topic's name. Some hundred names side by
// side, or any pattern that a person would write, are smaller.
constexpr int kExpressionProgramMax = 1000;

RE2::Options expression_options() {
  RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(kExpressionMemoryMax);
  options.set_never_capture(true);
  return options;
}

}  // namespace

struct RegularExpression::Compiled {
  explicit Compiled(std::string_view pattern)
      : expression(re2::StringPiece(pattern.data(), pattern.size()), expression_options()) {}
  RE2 expression;
};

RegularExpression::RegularExpression(std::unique_ptr<const Compiled> compiled) : compiled_(std::move(compiled)) {}
RegularExpression::RegularExpression(RegularExpression&&) noexcept = default;
RegularExpression& RegularExpression::operator=(RegularExpression&&) noexcept = default;
RegularExpression::~RegularExpression() = default;

Result<RegularExpression> RegularExpression::compile(std::string_view pattern) {
  if (pattern.size() > kRegularExpressionBytesMax) {
    return failure(ErrorCode::invalid_regular_expression, "the expression is longer than {} bytes",
                   kRegularExpressionBytesMax);
  }
  auto compiled = std::make_unique<const Compiled>(pattern);
  if (!compiled->expression.ok()) {
    return failure(ErrorCode::invalid_regular_expression, "the expression {} is not valid: {}", pattern,
                   compiled->expression.error());
  }
  if (compiled->expression.ProgramSize() > kExpressionProgramMax) {
    return failure(ErrorCode::invalid_regular_expression, "the expression is too complicated");
  }
  return RegularExpression(std::move(compiled));
}

bool RegularExpression::matches(std::string_view name) const {
  return RE2::FullMatch(re2::StringPiece(name.data(), name.size()), compiled_->expression);
}

}  // namespace naru
