// ConsumerGroupDescribe: epochs, members and assignments of groups of the consumer protocol.
#include <algorithm>
#include <set>

#include "broker/api_handlers.h"
#include "broker/group_coordinators.h"
#include "broker/handlers/decode_request.h"
#include "broker/handlers/group_words.h"
#include "broker/turns.h"
#include "kafka_protocol/messages/consumer_group_describe_request.h"
#include "kafka_protocol/messages/consumer_group_describe_response.h"

namespace naru {
namespace {

using DescribeResponse = kafka::ConsumerGroupDescribeResponse;
using ConsumerGroupAnswer = DescribeResponse::DescribedGroup;

constexpr int8_t kClassicMember = 0;
constexpr int8_t kConsumerMember = 1;

std::vector<DescribeResponse::TopicPartitions> to_partitions(std::vector<DescribedPartitions> partitions) {
  std::vector<DescribeResponse::TopicPartitions> topics;
  for (DescribedPartitions& topic : partitions) {
    topics.push_back(
        {.topic_id = topic.topic_id, .topic_name = std::move(topic.topic), .partitions = std::move(topic.partitions)});
  }
  return topics;
}

void fill_member(DescribedConsumerMember described, DescribeResponse::Member& member) {
  member.member_id = std::move(described.member_id);
  member.instance_id = std::move(described.instance_id);
  member.rack_id = std::move(described.rack_id);
  member.member_epoch = described.member_epoch;
  member.client_id = std::move(described.client_id);
  member.client_host = std::move(described.client_host);
  member.subscribed_topic_names = std::move(described.subscribed_topics);
  member.subscribed_topic_regex = std::move(described.subscribed_expression);
  member.assignment.topic_partitions = to_partitions(std::move(described.assignment));
  member.target_assignment.topic_partitions = to_partitions(std::move(described.target));
  member.member_type = described.is_classic ? kClassicMember : kConsumerMember;
}

// Who may not see a topic may not see who reads it.
bool sees_topics_of(const BrokerServices& services, const RequestContext& context,
                    const DescribedConsumerGroup& described) {
  const auto sees = [&](std::string_view topic) {
    return services.authorizer.authorize(context.caller, Operation::describe, ResourceType::topic, topic);
  };
  return std::ranges::all_of(described.members, [&](const DescribedConsumerMember& member) {
    return std::ranges::all_of(member.assignment, sees, &DescribedPartitions::topic) &&
           std::ranges::all_of(member.target, sees, &DescribedPartitions::topic) &&
           std::ranges::all_of(member.pending_revocation, sees, &DescribedPartitions::topic);
  });
}

// About what its members take, described and encoded.
uint64_t memory_of(const DescribedConsumerGroup& group) {
  uint64_t bytes = 0;
  for (const DescribedConsumerMember& member : group.members) {
    bytes += 1000;
    for (const std::string& topic : member.subscribed_topics) bytes += 100 + topic.size();
    for (const auto* partitions : {&member.assignment, &member.target, &member.pending_revocation}) {
      for (const DescribedPartitions& topic : *partitions) bytes += 200 + 8 * topic.partitions.size();
    }
  }
  return bytes;
}

size_t elements_of(const DescribedConsumerGroup& group) {
  size_t elements = 0;
  for (const DescribedConsumerMember& member : group.members) {
    elements += 1 + member.subscribed_topics.size() + member.assignment.size() + member.target.size();
  }
  return elements;
}

void fill_group(DescribedConsumerGroup described, bool include_progress, ConsumerGroupAnswer& group) {
  if (include_progress) group.naru_state_since_ms = described.state_since;
  group.group_state = std::move(described.state);
  group.group_epoch = described.group_epoch;
  group.assignment_epoch = described.assignment_epoch;
  group.assignor_name = std::move(described.assignor);
  for (DescribedConsumerMember& described_member : described.members) {
    DescribeResponse::Member& member = group.members.emplace_back();
    if (include_progress) {
      member.naru_pending_revocation = to_partitions(std::move(described_member.pending_revocation));
    }
    fill_member(std::move(described_member), member);
  }
}

}  // namespace

Task<Response> handle_consumer_group_describe(const BrokerServices& services, const RequestContext& context,
                                              kafka::WireReader& reader) {
  kafka::ConsumerGroupDescribeRequest request;
  if (auto malformed = decode_or_close(context, reader, request)) co_return std::move(*malformed);

  Turns turns(services, context);
  DescribeResponse response;
  std::set<std::string_view> answered;  // once each: a short request must not have an answer of gigabytes
  for (const std::string_view group_id : request.group_ids) {
    co_await turns.step();
    if (!answered.insert(group_id).second) continue;
    ConsumerGroupAnswer& group = response.groups.emplace_back();
    group.group_id = group_id;
    group.error_code = group_access(services, context, Operation::describe, group_id);
    if (group.error_code == ErrorCode::none && turns.nobody_waits()) group.error_code = ErrorCode::request_timed_out;
    if (group.error_code == ErrorCode::none) {
      auto described = co_await services.groups.ask<DescribedConsumerGroup>(
          group_id,
          [id = group.group_id](GroupCoordinator& groups, Reply<DescribedConsumerGroup> reply,
                                const CoordinatorTime& time, CoordinatorOutcome& outcome) {
            groups.describe_consumer_group(id, std::move(reply), time, outcome);
          },
          {.whole_group = true});
      group.error_code = described ? described->error : described.error().code();
      if (described) turns.add(elements_of(*described));
      if (group.error_code == ErrorCode::none && !sees_topics_of(services, context, *described)) {
        group.error_code = ErrorCode::topic_authorization_failed;
      }
      if (group.error_code == ErrorCode::none) {
        if (!context.memory.take_for_answer(memory_of(*described))) co_return no_memory_for_answer();
        fill_group(std::move(*described), request.naru_include_progress, group);
      }
    }
    if (group.error_code != ErrorCode::none) {
      group.error_message = describe(group.error_code).meaning;
    } else if (request.include_authorized_operations) {
      group.authorized_operations =
          authorized_operations(services.authorizer, context.caller, ResourceType::group, group_id);
    }
  }
  co_await turns.to_worker_if_large();
  co_return encode_reply(context, response);
}

}  // namespace naru
