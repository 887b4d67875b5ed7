#include "kafka_protocol/embedded_consumer_protocol.h"

#include <gtest/gtest.h>

namespace naru::kafka {
namespace {

using namespace std::string_view_literals;

constexpr auto kEmbeddedSubscription = "\0\0\0\0\0\2\0\1b\0\1a\xff\xff\xff\xff"sv;
constexpr auto kEmbeddedAssignment = "\0\1\0\0\0\1\0\1t\0\0\0\2\0\0\0\5\0\0\0\1\xff\xff\xff\xff"sv;

TEST(EmbeddedConsumerProtocol, SubscriptionsAndAssignmentsAreRead) {
  const auto subscription = read_embedded_subscription(as_bytes(kEmbeddedSubscription));
  EXPECT_EQ(subscription.value().version, 0);
  EXPECT_EQ(subscription->message.topics, (std::vector<std::string>{"b", "a"}));
  const auto assignment = read_embedded_assignment(as_bytes(kEmbeddedAssignment));
  EXPECT_EQ(assignment.value().version, 1);
  EXPECT_EQ(assignment->message.assigned_partitions.at(0).topic, "t");
  EXPECT_EQ(assignment->message.assigned_partitions.at(0).partitions, (std::vector<int32_t>{5, 1}));
}

TEST(EmbeddedConsumerProtocol, WhatWasReadIsWrittenInAVersionThatTheReaderKnows) {
  const auto read = read_embedded_assignment(as_bytes(kEmbeddedAssignment));
  EXPECT_EQ(as_text(write_embedded_assignment(read.value().message, 1)), kEmbeddedAssignment);
  const Bytes newest = write_embedded_assignment(read->message, 99);
  EXPECT_EQ(read_embedded_assignment(newest).value().version, ConsumerProtocolAssignment::kMaxVersion);
}

TEST(EmbeddedConsumerProtocol, NewerVersionsAreReadAsFarAsTheyAreKnown) {
  std::string newer(kEmbeddedAssignment);
  newer[1] = 9;
  newer += "new";
  EXPECT_EQ(read_embedded_assignment(as_bytes(newer)).value().message.assigned_partitions.size(), 1U);
}

TEST(EmbeddedConsumerProtocol, ASubscriptionThatBreaksOffBehindTheFirstVersionsFieldsIsRead) {
  std::string cut(kEmbeddedSubscription);
  cut[1] = 1;  // the version in which the owned partitions begin to follow
  const auto read = read_embedded_subscription(as_bytes(cut));
  EXPECT_EQ(read.value().version, 1);
  EXPECT_EQ(read->message.topics.size(), 2U);
}

TEST(EmbeddedConsumerProtocol, WhatIsCutOffOrSomethingElseIsNotUnderstood) {
  for (size_t size = 0; size < kEmbeddedAssignment.size(); ++size)
    EXPECT_FALSE(read_embedded_assignment(as_bytes(kEmbeddedAssignment.substr(0, size)))) << size;
  for (size_t size = 0; size < kEmbeddedSubscription.size(); ++size)
    EXPECT_FALSE(read_embedded_subscription(as_bytes(kEmbeddedSubscription.substr(0, size)))) << size;
  EXPECT_FALSE(read_embedded_assignment(as_bytes("\xff\xff"sv)));
  EXPECT_FALSE(read_embedded_assignment(as_bytes(R"({"worker": "connect"})"sv)));
}

}  // namespace
}  // namespace naru::kafka
