// DescribeQuorum: the controller as a quorum of one. Its log are the transactions on the metadata, so that the offsets
// are the number of them.
#include "broker/api_handlers.h"
#include "broker/handlers/decode_request.h"
#include "broker/handlers/metadata_words.h"
#include "broker/turns.h"
#include "cluster_control/controller_shell.h"
#include "kafka_protocol/messages/describe_quorum_request.h"
#include "kafka_protocol/messages/describe_quorum_response.h"

namespace naru {
namespace {

constexpr int16_t kFirstVersionWithNodes = 2;
constexpr std::string_view kMetadataTopic = "__cluster_metadata";

Status check(const BrokerServices& services, const RequestContext& context) {
  if (!services.authorizer.authorize(context.caller, Operation::describe, ResourceType::cluster, kClusterResource)) {
    return Status(ErrorCode::cluster_authorization_failed, "");
  }
  NARU_TRY(context.given_up);
  if (!services.controller.is_in_office()) return Status(ErrorCode::not_controller, "");
  return {};
}

// As in Kafka: a request for anything else finds nothing at all.
bool asks_for_metadata(const kafka::DescribeQuorumRequest& request) {
  return request.topics.size() == 1 && request.topics.front().topic_name == kMetadataTopic &&
         request.topics.front().partitions.size() == 1 &&
         request.topics.front().partitions.front().partition_index == PartitionIndex(0);
}

void describe_controller(const BrokerServices& services, const RequestContext& context,
                         kafka::DescribeQuorumResponse& response) {
  const ControllerView controller = services.controller.controller();
  const MetadataImagePtr image = services.metadata.current();
  const int64_t now = services.clock.wall_now_ms();
  auto& topic = response.topics.emplace_back();
  topic.topic_name = kMetadataTopic;
  auto& partition = topic.partitions.emplace_back();
  partition.partition_index = PartitionIndex(0);
  partition.leader_id = controller.id;
  partition.leader_epoch = LeaderEpoch(controller.epoch);
  partition.high_watermark = image->cluster().generation;
  partition.current_voters.push_back({.replica_id = controller.id,
                                      .log_end_offset = image->cluster().generation,
                                      .last_fetch_timestamp = now,
                                      .last_caught_up_timestamp = now});
  if (context.version < kFirstVersionWithNodes) return;
  const BrokerMetadata* broker = image->find_broker(controller.id);
  const auto address = broker == nullptr ? std::nullopt : address_for(context, *broker);
  if (!address) return;
  auto& node = response.nodes.emplace_back();
  node.node_id = controller.id;
  node.listeners.push_back({.name = context.caller.listener, .host = address->host, .port = address->port});
}

}  // namespace

Task<Response> handle_describe_quorum(const BrokerServices& services, const RequestContext& context,
                                      kafka::WireReader& reader) {
  kafka::DescribeQuorumRequest request;
  if (auto malformed = decode_or_close(context, reader, request)) co_return std::move(*malformed);

  kafka::DescribeQuorumResponse response;
  if (const Status status = check(services, context); !status.ok()) {
    response.error_code = status.code();
    response.error_message = error_text(status);
    co_return encode_reply(context, response);
  }
  if (asks_for_metadata(request)) {
    describe_controller(services, context, response);
    co_return encode_reply(context, response);
  }
  Turns turns(services, context);
  const Status unknown(ErrorCode::unknown_topic_or_partition, "");
  for (const auto& asked : request.topics) {
    co_await turns.step();
    auto& topic = response.topics.emplace_back();
    topic.topic_name = asked.topic_name;
    for (const auto& partition : asked.partitions) {
      co_await turns.step();
      auto& refused = topic.partitions.emplace_back();
      refused.partition_index = partition.partition_index;
      refused.error_code = unknown.code();
      refused.error_message = error_text(unknown);
    }
  }
  co_await turns.to_worker_if_large();
  co_return encode_reply(context, response);
}

}  // namespace naru
