#include "coordinator_runtime/coordinator_key.h"

#include <gtest/gtest.h>

namespace naru {
namespace {

TEST(CoordinatorKey, GroupsFallOnThePartitionsOfOtherBrokers) {
  EXPECT_EQ(java_string_hash("my-group"), -1906497762);
  EXPECT_EQ(java_string_hash("g1"), 3242);
  EXPECT_EQ(coordinator_partition("my-group", 50), 12);
  EXPECT_EQ(coordinator_partition("g1", 50), 42);
  EXPECT_EQ(coordinator_partition("test-consumer-group", 50), 31);
  EXPECT_EQ(coordinator_partition("connect-cluster", 50), 13);
  EXPECT_EQ(coordinator_partition("", 50), 0);
}

TEST(CoordinatorKey, CountsCodeUnitsOfUtf16AndNotBytes) {
  EXPECT_EQ(java_string_hash("\xC3\xA9"), 0xE9);                          // é
  EXPECT_EQ(java_string_hash("\xE2\x82\xAC"), 0x20AC);                    // €
  EXPECT_EQ(java_string_hash("\xF0\x9F\x98\x80"), 0xD83D * 31 + 0xDE00);  // a surrogate pair
  EXPECT_EQ(java_string_hash("a\xC3\xA9"), 'a' * 31 + 0xE9);
}

TEST(CoordinatorKey, IllFormedPartsCountAsReplacementCharacters) {
  EXPECT_EQ(java_string_hash("\xFF"), 0xFFFD);
  EXPECT_EQ(java_string_hash("\xC3"), 0xFFFD);      // cut off
  EXPECT_EQ(java_string_hash("\xE2\x82"), 0xFFFD);  // cut off after a valid beginning
  EXPECT_EQ(java_string_hash("\xC3"
                             "a"),
            0xFFFD * 31 + 'a');                                   // the next character is not swallowed
  EXPECT_EQ(java_string_hash("\xC0\x80"), 0xFFFD * 31 + 0xFFFD);  // overlong
}

TEST(CoordinatorKey, TheSmallestHashHasAPartitionToo) {
  EXPECT_EQ(java_string_hash("polygenelubricants"), INT32_MIN);
  EXPECT_EQ(coordinator_partition("polygenelubricants", 50), 0);
}

}  // namespace
}  // namespace naru
