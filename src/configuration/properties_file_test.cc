#include "configuration/properties_file.h"

#include <gtest/gtest.h>

namespace naru {
namespace {

using Properties = std::vector<Property>;

TEST(PropertiesFile, ReadsAllThreeSeparatorsAndSkipsComments) {
  EXPECT_EQ(parse_properties("# comment\n! comment\n\n  a=1\nb : 2  \r\nc 3\nd=\n  \ne").value(),
            (Properties{{"a", "1", 4}, {"b", "2", 5}, {"c", "3", 6}, {"d", "", 7}, {"e", "", 9}}));
}

TEST(PropertiesFile, OnlyTheFirstSeparatorSeparates) {
  EXPECT_EQ(parse_properties("listeners=A://x:1,B://y:2").value(), (Properties{{"listeners", "A://x:1,B://y:2", 1}}));
}

TEST(PropertiesFile, ABackslashAtTheEndContinuesTheLine) {
  EXPECT_EQ(parse_properties("a=1,\\\n   2,\\\r\n\t3\nb=4").value(), (Properties{{"a", "1,2,3", 1}, {"b", "4", 4}}));
  EXPECT_EQ(parse_properties("a=x\\\\\nb=y").value(), (Properties{{"a", "x\\", 1}, {"b", "y", 2}}))
      << "an escaped backslash does not continue";
  EXPECT_EQ(parse_properties("a=x\\").value(), (Properties{{"a", "x", 1}})) << "nor does the end of the file";
  EXPECT_EQ(parse_properties("a=x\\\n# not a comment").value(), (Properties{{"a", "x# not a comment", 1}}));
}

TEST(PropertiesFile, EscapesProtectSeparatorsAndBlanks) {
  EXPECT_EQ(parse_properties("a\\=b\\:c\\ d=\\ x\\ty\\\\z\\ ").value(), (Properties{{"a=b:c d", " x\ty\\z ", 1}}));
}

TEST(PropertiesFile, RefusesWhatItWouldMisread) {
  EXPECT_EQ(parse_properties("a=1\nb=\\u00e4").error().message(),
            "line 2: \\u escapes are not supported; write the character as UTF-8");
  EXPECT_EQ(parse_properties("=1").error().message(), "line 1: there is no key before the separator");
  EXPECT_EQ(parse_properties(std::string_view("a\0b", 3)).error().message(),
            "the file contains a zero byte: it is not a text file");
  EXPECT_EQ(parse_properties(std::string(kMaxPropertiesBytes + 1, 'a')).error().message(),
            "the file has 1048577 bytes, more than 1048576");
}

}  // namespace
}  // namespace naru
