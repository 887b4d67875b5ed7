// ConsumerGroupHeartbeat: a member of the consumer protocol joins, stays, is told what to read, and leaves.
#include <algorithm>

#include "broker/api_handlers.h"
#include "broker/group_coordinators.h"
#include "broker/handlers/decode_request.h"
#include "broker/handlers/group_words.h"
#include "cluster_control/metadata_publisher.h"
#include "kafka_protocol/messages/consumer_group_heartbeat_request.h"
#include "kafka_protocol/messages/consumer_group_heartbeat_response.h"
#include "platform/random.h"

namespace naru {
namespace {

using HeartbeatRequest = kafka::ConsumerGroupHeartbeatRequest;
using HeartbeatResponse = kafka::ConsumerGroupHeartbeatResponse;

constexpr int16_t kFirstVersionWithOwnMemberIds = 1;
constexpr int32_t kUnchanged = -1;

ConsumerHeartbeat to_consumer_heartbeat(const BrokerServices& services, const RequestContext& context,
                                        const HeartbeatRequest& request) {
  ConsumerHeartbeat heartbeat{.group_id = std::string(request.group_id),
                              .member_id = std::string(request.member_id),
                              .member_epoch = request.member_epoch,
                              .instance_id = to_owned(request.instance_id),
                              .rack_id = to_owned(request.rack_id),
                              .subscribed_expression = to_owned(request.subscribed_topic_regex),
                              .assignor = to_owned(request.server_assignor),
                              .client_id = std::string(context.client_id.value_or("")),
                              .client_host = "/" + context.caller.address.host,
                              .must_bring_member_id = context.version >= kFirstVersionWithOwnMemberIds};
  if (!heartbeat.must_bring_member_id) heartbeat.fresh_member_id = services.random.uuid().to_string();
  if (request.rebalance_timeout_ms != kUnchanged) {
    heartbeat.rebalance_timeout = Milliseconds(request.rebalance_timeout_ms);
  }
  if (request.subscribed_topic_names) {
    auto& topics = heartbeat.subscribed_topics.emplace();
    for (const std::string_view name : *request.subscribed_topic_names) topics.emplace_back(name);
  }
  if (request.topic_partitions) {
    auto& owned = heartbeat.owned.emplace();
    for (const auto& topic : *request.topic_partitions) {
      for (const PartitionIndex partition : topic.partitions) owned.push_back({topic.topic_id, partition});
    }
  }
  return heartbeat;
}

size_t elements_of(const HeartbeatRequest& request) {
  size_t elements = request.subscribed_topic_names ? request.subscribed_topic_names->size() : 0;
  if (!request.topic_partitions) return elements;
  for (const auto& topic : *request.topic_partitions) elements += 1 + topic.partitions.size();
  return elements;
}

// Members that stay and have nothing to say send most heartbeats.
bool says_something(const HeartbeatRequest& request) {
  return request.member_epoch <= 0 || request.subscribed_topic_names || request.subscribed_topic_regex ||
         request.server_assignor;
}

ErrorCode heartbeat_access(const BrokerServices& services, const RequestContext& context,
                           const HeartbeatRequest& request) {
  const ErrorCode group = group_access(services, context, Operation::read, request.group_id);
  if (group != ErrorCode::none || !request.subscribed_topic_names) return group;
  const bool sees_all = std::ranges::all_of(*request.subscribed_topic_names, [&](std::string_view name) {
    return services.authorizer.authorize(context.caller, Operation::describe, ResourceType::topic, name);
  });
  return sees_all ? ErrorCode::none : ErrorCode::topic_authorization_failed;
}

HeartbeatResponse to_heartbeat_response(ConsumerHeartbeatAnswer answer) {
  HeartbeatResponse response;
  response.error_code = answer.error;
  if (answer.error != ErrorCode::none) {
    response.error_message = answer.message.empty() ? std::string(describe(answer.error).meaning) : answer.message;
    return response;
  }
  response.member_id = std::move(answer.member_id);
  response.member_epoch = answer.member_epoch;
  response.heartbeat_interval_ms = static_cast<int32_t>(answer.heartbeat_interval.count());
  if (!answer.assignment) return response;
  auto& topics = response.assignment.emplace().topic_partitions;
  for (const auto& [topic_id, partition] : *answer.assignment) {
    if (topics.empty() || topics.back().topic_id != topic_id) topics.emplace_back().topic_id = topic_id;
    topics.back().partitions.push_back(partition);
  }
  return response;
}

}  // namespace

Task<Response> handle_consumer_group_heartbeat(const BrokerServices& services, const RequestContext& context,
                                               kafka::WireReader& reader) {
  HeartbeatRequest request;
  if (auto malformed = decode_or_close(context, reader, request)) co_return std::move(*malformed);
  const size_t elements = elements_of(request);
  co_await off_the_loop_if_large(services, context, elements);

  ConsumerHeartbeatAnswer refused{.error = heartbeat_access(services, context, request)};
  if (refused.error == ErrorCode::none) {
    // It may be the first one of a group, and get all partitions that there are.
    const size_t assignable =
        says_something(request) ? static_cast<size_t>(services.metadata.current()->partition_count()) : 0;
    auto answer = co_await services.groups.ask<ConsumerHeartbeatAnswer>(
        request.group_id,
        [heartbeat = to_consumer_heartbeat(services, context, request)](
            GroupCoordinator& groups, Reply<ConsumerHeartbeatAnswer> reply, const CoordinatorTime& time,
            CoordinatorOutcome& outcome) mutable {
          groups.consumer_heartbeat(std::move(heartbeat), std::move(reply), time, outcome);
        },
        {.elements = elements + assignable, .whole_group = true});
    if (answer && answer->assignment) {
      co_await off_the_loop_if_large(services, context, answer->assignment->size());
    }
    if (answer) co_return encode_reply(context, to_heartbeat_response(std::move(*answer)));
    refused.error = answer.error().code();
  }
  co_return encode_reply(context, to_heartbeat_response(std::move(refused)));
}

}  // namespace naru
