#include "foundation/regular_expression.h"

#include <string>

#include <gtest/gtest.h>

namespace naru {
namespace {

ErrorCode compile_error(std::string_view pattern) {
  const auto compiled = RegularExpression::compile(pattern);
  return compiled.has_value() ? ErrorCode::none : compiled.error().code();
}

TEST(RegularExpression, MatchesWholeNamesOnly) {
  const auto orders = RegularExpression::compile("orders-.*");
  ASSERT_TRUE(orders.has_value());
  EXPECT_TRUE(orders->matches("orders-eu"));
  EXPECT_FALSE(orders->matches("old-orders-eu"));
  EXPECT_FALSE(orders->matches("orders"));
}

TEST(RegularExpression, RefusesWhatIsNotOneAndSaysWhy) {
  for (const char* pattern : {"(", "a**", "[", "(?=x)", "\\"}) {
    EXPECT_EQ(compile_error(pattern), ErrorCode::invalid_regular_expression) << pattern;
  }
  EXPECT_NE(RegularExpression::compile("orders-(").error().message().find("missing )"), std::string::npos);
}

TEST(RegularExpression, RefusesPatternsThatWouldTakeTooMuchMemory) {
  EXPECT_EQ(compile_error(std::string(kRegularExpressionBytesMax + 1, 'a')), ErrorCode::invalid_regular_expression);
  EXPECT_EQ(compile_error("((a{100}){100}){100}"), ErrorCode::invalid_regular_expression);
}

TEST(RegularExpression, IsNotSlowedDownByPatternsThatMakeOthersBacktrack) {
  const auto hostile = RegularExpression::compile("(a*)*b");
  ASSERT_TRUE(hostile.has_value());
  EXPECT_FALSE(hostile->matches(std::string(249, 'a')));
}

TEST(RegularExpression, TakesBytesThatAreNotTextAsNoExpression) {
  EXPECT_EQ(compile_error("\xff\xfe"), ErrorCode::invalid_regular_expression);
}

}  // namespace
}  // namespace naru
