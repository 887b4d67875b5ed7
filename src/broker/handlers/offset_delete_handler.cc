// OffsetDelete: a group forgets how far it has come in some partitions.
#include "broker/api_handlers.h"
#include "broker/group_coordinators.h"
#include "broker/handlers/decode_request.h"
#include "broker/handlers/group_words.h"
#include "broker/turns.h"
#include "cluster_control/metadata_publisher.h"
#include "kafka_protocol/messages/offset_delete_request.h"
#include "kafka_protocol/messages/offset_delete_response.h"

namespace naru {
namespace {

// What cannot be deleted is answered at once; `waiting` says where the coordinator's answers belong.
Task<std::vector<GroupPartition>> sort_out(const BrokerServices& services, const RequestContext& context,
                                           const kafka::OffsetDeleteRequest& request,
                                           kafka::OffsetDeleteResponse& response,
                                           std::vector<std::pair<size_t, size_t>>& waiting, Turns& turns) {
  const MetadataImagePtr image = services.metadata.current();
  std::vector<GroupPartition> partitions;
  for (const auto& topic : request.topics) {
    co_await turns.step();
    auto& answered = response.topics.emplace_back();
    answered.name = topic.name;
    const bool allowed =
        services.authorizer.authorize(context.caller, Operation::read, ResourceType::topic, topic.name);
    const TopicMetadata* known = image->find_topic(topic.name);
    for (const auto& partition : topic.partitions) {
      co_await turns.step();
      ErrorCode error = allowed ? ErrorCode::none : ErrorCode::topic_authorization_failed;
      if (allowed && (known == nullptr || known->partition(partition.partition_index) == nullptr)) {
        error = ErrorCode::unknown_topic_or_partition;
      }
      answered.partitions.push_back({.partition_index = partition.partition_index, .error_code = error});
      if (error != ErrorCode::none) continue;
      partitions.push_back({std::string(topic.name), partition.partition_index});
      waiting.emplace_back(response.topics.size() - 1, answered.partitions.size() - 1);
    }
  }
  co_return partitions;
}

}  // namespace

Task<Response> handle_offset_delete(const BrokerServices& services, const RequestContext& context,
                                    kafka::WireReader& reader) {
  kafka::OffsetDeleteRequest request;
  if (auto malformed = decode_or_close(context, reader, request)) co_return std::move(*malformed);

  kafka::OffsetDeleteResponse response;
  response.error_code = group_access(services, context, Operation::remove, request.group_id);
  if (response.error_code != ErrorCode::none) co_return encode_reply(context, response);

  Turns turns(services, context, Turns::Order::kept);
  std::vector<std::pair<size_t, size_t>> waiting;
  DeleteOffsets deletion{.group_id = std::string(request.group_id),
                         .partitions = co_await sort_out(services, context, request, response, waiting, turns)};
  co_await turns.to_worker_if_large();
  const auto answer = co_await services.groups.ask<DeleteOffsetsAnswer>(
      request.group_id,
      [deletion = std::move(deletion)](GroupCoordinator& groups, Reply<DeleteOffsetsAnswer> reply,
                                       const CoordinatorTime& time, CoordinatorOutcome& outcome) mutable {
        groups.delete_offsets(std::move(deletion), std::move(reply), time, outcome);
      },
      {.elements = waiting.size(), .whole_group = true});
  co_await off_the_loop_if_large(services, context, waiting.size());
  response.error_code = answer ? answer->error : answer.error().code();
  if (response.error_code != ErrorCode::none) {
    response.topics.clear();
  } else {
    for (size_t i = 0; i < waiting.size(); ++i) {
      const auto [topic, partition] = waiting[i];
      response.topics[topic].partitions[partition].error_code = answer->partitions[i];
    }
  }
  co_return encode_reply(context, response);
}

}  // namespace naru
