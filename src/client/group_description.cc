#include "client/group_description.h"

#include <algorithm>
#include <utility>

#include "client/consumer_protocol.h"
#include "foundation/sort_and_drop_doubles.h"

namespace naru::client {
namespace {

using ConsumerAnswer = kafka::ConsumerGroupDescribeResponse;

// Java writes addresses as "/10.0.0.7".
std::string without_slash(std::string host) {
  if (host.starts_with('/')) host.erase(0, 1);
  return host;
}

GroupMember to_member(kafka::DescribeGroupsResponse::DescribedGroupMember described, bool is_consumer) {
  GroupMember member{.id = std::move(described.member_id),
                     .instance_id = std::move(described.group_instance_id),
                     .client_id = std::move(described.client_id),
                     .host = without_slash(std::move(described.client_host)),
                     .topics = {},
                     .partitions = {},
                     .unread_bytes = described.member_assignment.size()};
  if (!is_consumer) return member;
  member.topics = read_subscription(described.member_metadata).value_or(std::vector<std::string>());
  if (auto partitions = read_assignment(described.member_assignment)) {
    member.partitions = std::move(*partitions);
    member.unread_bytes = 0;
  }
  return member;
}

std::vector<TopicPartition> to_partitions(const std::vector<ConsumerAnswer::TopicPartitions>& topics) {
  std::vector<TopicPartition> partitions;
  for (const auto& topic : topics) {
    for (const PartitionIndex partition : topic.partitions) partitions.push_back({topic.topic_name, partition});
  }
  sort_and_drop_doubles(partitions);
  return partitions;
}

GroupMember to_member(ConsumerAnswer::Member described) {
  GroupMember member{.id = std::move(described.member_id),
                     .instance_id = std::move(described.instance_id),
                     .client_id = std::move(described.client_id),
                     .host = without_slash(std::move(described.client_host)),
                     .topics = std::move(described.subscribed_topic_names),
                     .topic_expression = described.subscribed_topic_regex.value_or(""),
                     .partitions = to_partitions(described.assignment.topic_partitions),
                     .target = to_partitions(described.target_assignment.topic_partitions),
                     .pending_revocation = to_partitions(described.naru_pending_revocation),
                     .epoch = described.member_epoch};
  std::ranges::sort(member.topics);
  return member;
}

}  // namespace

GroupDescription to_description(kafka::DescribeGroupsResponse::DescribedGroup described, BrokerId coordinator) {
  const bool is_consumer = described.protocol_type == kConsumerProtocolType;
  GroupDescription group{.id = std::move(described.group_id),
                         .type = kClassicGroupType,
                         .state = std::move(described.group_state),
                         .protocol_type = std::move(described.protocol_type),
                         .protocol = std::move(described.protocol_data),
                         .coordinator = coordinator,
                         .members = {},
                         .state_since = described.naru_state_since_ms,
                         .waiting_for = std::move(described.naru_waiting_for)};
  for (auto& member : described.members) group.members.push_back(to_member(std::move(member), is_consumer));
  std::ranges::sort(group.members, {}, &GroupMember::id);
  return group;
}

GroupDescription to_description(ConsumerAnswer::DescribedGroup described, BrokerId coordinator) {
  GroupDescription group{.id = std::move(described.group_id),
                         .type = kConsumerGroupType,
                         .state = std::move(described.group_state),
                         .protocol_type = std::string(kConsumerProtocolType),
                         .protocol = std::move(described.assignor_name),
                         .coordinator = coordinator,
                         .members = {},
                         .state_since = described.naru_state_since_ms,
                         .waiting_for = {},
                         .epoch = described.group_epoch,
                         .assignment_epoch = described.assignment_epoch};
  for (auto& member : described.members) group.members.push_back(to_member(std::move(member)));
  std::ranges::sort(group.members, {}, &GroupMember::id);
  return group;
}

}  // namespace naru::client
