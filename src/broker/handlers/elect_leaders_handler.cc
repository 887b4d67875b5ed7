// ElectLeaders: the preferred replica leads again, or somebody does where nobody may.
#include <set>

#include "broker/api_handlers.h"
#include "broker/handlers/decode_request.h"
#include "broker/handlers/metadata_words.h"
#include "broker/late_work.h"
#include "broker/turns.h"
#include "cluster_control/controller_shell.h"
#include "cluster_control/elect_leaders.h"
#include "kafka_protocol/messages/elect_leaders_request.h"
#include "kafka_protocol/messages/elect_leaders_response.h"

namespace naru {
namespace {

constexpr int16_t kFirstVersionWithType = 1;
constexpr int16_t kFirstVersionWithErrorCode = 1;

std::optional<ElectionType> type_of(const RequestContext& context, const kafka::ElectLeadersRequest& request) {
  if (context.version < kFirstVersionWithType) return ElectionType::preferred;
  switch (request.election_type) {
    case std::to_underlying(ElectionType::preferred):
      return ElectionType::preferred;
    case std::to_underlying(ElectionType::unclean):
      return ElectionType::unclean;
    default:
      return std::nullopt;
  }
}

// Version 0 has no place for an error of the whole: each partition that was named has it then.
Response refuse_all(const RequestContext& context, const kafka::ElectLeadersRequest& request, ErrorCode error) {
  kafka::ElectLeadersResponse response;
  if (context.version >= kFirstVersionWithErrorCode) {
    response.error_code = error;
  } else if (request.topic_partitions) {
    for (const auto& topic : *request.topic_partitions) {
      auto& refused = response.replica_election_results.emplace_back();
      refused.topic = topic.topic;
      for (const PartitionIndex index : topic.partitions) {
        refused.partition_result.push_back({.partition_id = index, .error_code = error});
      }
    }
  }
  return encode_reply(context, response);
}

}  // namespace

Task<Response> handle_elect_leaders(const BrokerServices& services, const RequestContext& context,
                                    kafka::WireReader& reader) {
  kafka::ElectLeadersRequest request;
  if (auto malformed = decode_or_close(context, reader, request)) co_return std::move(*malformed);

  const auto type = type_of(context, request);
  if (!services.authorizer.authorize(context.caller, Operation::alter, ResourceType::cluster, kClusterResource)) {
    co_return refuse_all(context, request, ErrorCode::cluster_authorization_failed);
  }
  if (!type) co_return refuse_all(context, request, ErrorCode::invalid_request);

  Turns turns(services, context);
  std::optional<std::vector<TopicPartition>> wanted;  // none: all
  if (request.topic_partitions) {
    std::set<TopicPartition> distinct;
    for (const auto& topic : *request.topic_partitions) {
      co_await turns.step();
      for (const PartitionIndex index : topic.partitions) {
        co_await turns.step();
        distinct.insert({std::string(topic.topic), index});
      }
    }
    wanted.emplace(distinct.begin(), distinct.end());
  } else if (!context.given_up.ok()) {
    co_return refuse_all(context, request,
                         context.given_up.code());  // which partitions it would have been is not known
  }
  co_await turns.to_worker_if_large();
  const auto results = co_await services.late_work.result_until(
      deadline_of(context, request.timeout_ms), context.memory,
      services.controller.elect_leaders(*type, std::move(wanted), context.given_up));
  co_await turns.to_worker_if_large();
  if (!results) co_return refuse_all(context, request, ErrorCode::request_timed_out);
  kafka::ElectLeadersResponse response;
  for (const ElectLeadersResult& result : *results) {
    if (response.replica_election_results.empty() || response.replica_election_results.back().topic != result.topic) {
      response.replica_election_results.push_back({.topic = result.topic});
    }
    auto& partition = response.replica_election_results.back().partition_result.emplace_back();
    partition.partition_id = result.index;
    partition.error_code = result.status.code();
    if (!result.status.ok()) partition.error_message = error_text(result.status);
  }
  co_return encode_reply(context, response);
}

}  // namespace naru
