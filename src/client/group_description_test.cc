#include "client/group_description.h"

#include <gtest/gtest.h>

namespace naru::client {
namespace {

using ConsumerGroup = kafka::ConsumerGroupDescribeResponse::DescribedGroup;

TEST(GroupDescription, AGroupOfTheConsumerProtocol) {
  ConsumerGroup described;
  described.group_id = "g";
  described.group_state = "Reconciling";
  described.group_epoch = 7;
  described.assignment_epoch = 6;
  described.assignor_name = "uniform";
  for (const char* id : {"m2", "m1"}) {
    auto& member = described.members.emplace_back();
    member.member_id = id;
    member.instance_id = "one";
    member.client_id = "app";
    member.client_host = "/10.0.0.7";
    member.member_epoch = 6;
    member.subscribed_topic_names = {"payments", "orders"};
    member.subscribed_topic_regex = "o.*";
    member.assignment.topic_partitions = {{.topic_id = {}, .topic_name = "payments", .partitions = {PartitionIndex(3)}},
                                          {.topic_id = {},
                                           .topic_name = "orders",
                                           .partitions = {PartitionIndex(2), PartitionIndex(0), PartitionIndex(2)}}};
    member.target_assignment.topic_partitions = {
        {.topic_id = {}, .topic_name = "orders", .partitions = {PartitionIndex(1)}}};
  }
  const GroupDescription group = to_description(described, BrokerId(4));
  EXPECT_EQ(group.id, "g");
  EXPECT_EQ(group.type, "consumer");
  EXPECT_FALSE(group.is_classic());
  EXPECT_EQ(group.state, "Reconciling");
  EXPECT_EQ(group.protocol_type, "consumer");
  EXPECT_EQ(group.protocol, "uniform");
  EXPECT_EQ(group.coordinator, BrokerId(4));
  EXPECT_EQ(group.epoch, 7);
  EXPECT_EQ(group.assignment_epoch, 6);
  EXPECT_EQ(group.state_since, -1) << "this message does not tell";
  ASSERT_EQ(group.members.size(), 2u);
  const GroupMember& member = group.members[0];
  EXPECT_EQ(member.id, "m1");
  EXPECT_EQ(member.instance_id, "one");
  EXPECT_EQ(member.client_id, "app");
  EXPECT_EQ(member.host, "10.0.0.7");
  EXPECT_EQ(member.epoch, 6);
  EXPECT_EQ(member.topics, (std::vector<std::string>{"orders", "payments"}));
  EXPECT_EQ(member.topic_expression, "o.*");
  EXPECT_EQ(member.partitions,
            (std::vector<TopicPartition>{
                {"orders", PartitionIndex(0)}, {"orders", PartitionIndex(2)}, {"payments", PartitionIndex(3)}}));
  EXPECT_EQ(member.target, (std::vector<TopicPartition>{{"orders", PartitionIndex(1)}}));
  EXPECT_EQ(member.unread_bytes, 0u);
}

}  // namespace
}  // namespace naru::client
