#include "command_line/json_text.h"

#include <gtest/gtest.h>

namespace naru::command_line {
namespace {

TEST(JsonText, OneLine) {
  JsonText json(JsonText::Layout::one_line);
  json.open_object().member("a", 1).member("b", "x\"\\\n\x01").key("c").open_array();
  json.value(true).value(2.5).value(std::optional<int>()).close_array().key("d").open_object().close_object();
  EXPECT_EQ(json.close_object().take(), "{\"a\":1,\"b\":\"x\\\"\\\\\\n\\u0001\",\"c\":[true,2.5,null],\"d\":{}}\n");
}

TEST(JsonText, Indented) {
  JsonText json;
  json.open_array();
  json.open_object().member("a", int64_t{-1}).close_object();
  json.open_object().member("b", std::string("\xc3\xa4\xff")).close_object();
  EXPECT_EQ(json.close_array().take(),
            "[\n  {\n    \"a\": -1\n  },\n  {\n    \"b\": \"\xc3\xa4\xef\xbf\xbd\"\n  }\n]\n");
  EXPECT_EQ(JsonText().open_array().close_array().take(), "[]\n");
}

TEST(Base64, KnownAnswers) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foo"), "Zm9v");
  EXPECT_EQ(base64("\xff\xfe\xfd\xfc"), "//79/A==");
}

}  // namespace
}  // namespace naru::command_line
