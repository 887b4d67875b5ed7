#include "client/consumer_protocol.h"

#include <gtest/gtest.h>

namespace naru::client {
namespace {

Bytes bytes_of(std::string_view text) {
  const BytesView view = as_bytes(text);
  return {view.begin(), view.end()};
}

constexpr std::string_view kSubscription{"\0\0\0\0\0\2\0\1b\0\1a\xff\xff\xff\xff", 16};
constexpr std::string_view kAssignment{"\0\1\0\0\0\1\0\1t\0\0\0\2\0\0\0\5\0\0\0\1\xff\xff\xff\xff", 25};

TEST(ConsumerProtocol, TopicsAndPartitionsComeInOrder) {
  EXPECT_EQ(read_subscription(bytes_of(kSubscription)), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(read_assignment(bytes_of(kAssignment)),
            (std::vector<TopicPartition>{{"t", PartitionIndex(1)}, {"t", PartitionIndex(5)}}));
}

TEST(ConsumerProtocol, WhatIsSomethingElseIsNotUnderstood) {
  EXPECT_FALSE(read_subscription(bytes_of("\xff\xff")));
  EXPECT_FALSE(read_assignment(bytes_of(R"({"worker": "connect"})")));
}

}  // namespace
}  // namespace naru::client
