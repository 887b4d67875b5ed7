// AddPartitionsToTxn: the producer is going to write to these partitions. All of them or none.
#include "broker/api_handlers.h"
#include "broker/handlers/decode_request.h"
#include "broker/handlers/transaction_words.h"
#include "broker/transaction_coordinators.h"
#include "broker/turns.h"
#include "cluster_control/internal_topics.h"
#include "cluster_control/metadata_publisher.h"
#include "kafka_protocol/messages/add_partitions_to_txn_request.h"
#include "kafka_protocol/messages/add_partitions_to_txn_response.h"

namespace naru {
namespace {

using AddedTopic = kafka::AddPartitionsToTxnRequest::AddPartitionsToTxnTopic;

ErrorCode problem_with_topic(const BrokerServices& services, const RequestContext& context, const MetadataImage& image,
                             const AddedTopic& topic, PartitionIndex index) {
  if (!services.authorizer.authorize(context.caller, Operation::write, ResourceType::topic, topic.name)) {
    return ErrorCode::topic_authorization_failed;
  }
  if (is_internal_topic(topic.name)) return ErrorCode::topic_authorization_failed;
  const TopicMetadata* known = image.find_topic(topic.name);
  const bool exists = known != nullptr && known->partition(index) != nullptr;
  return exists ? ErrorCode::none : ErrorCode::unknown_topic_or_partition;
}

Task<kafka::AddPartitionsToTxnResponse> answer_all(const kafka::AddPartitionsToTxnRequest& request, ErrorCode code,
                                                   Turns& turns) {
  kafka::AddPartitionsToTxnResponse response;
  for (const AddedTopic& topic : request.topics) {
    co_await turns.step();
    auto& answered = response.results_by_topic.emplace_back();
    answered.name = topic.name;
    for (const PartitionIndex index : topic.partitions) {
      co_await turns.step();
      answered.results_by_partition.push_back({.partition_index = index, .partition_error_code = code});
    }
  }
  co_return response;
}

// Those that cannot be added have an error then, the others are not attempted. False: all can be.
Task<bool> refuse_some(const BrokerServices& services, const RequestContext& context,
                       const kafka::AddPartitionsToTxnRequest& request, kafka::AddPartitionsToTxnResponse& response,
                       Turns& turns) {
  bool refused = false;
  const MetadataImagePtr image = services.metadata.current();
  for (size_t t = 0; t < request.topics.size(); ++t) {
    for (auto& result : response.results_by_topic[t].results_by_partition) {
      co_await turns.step();
      const ErrorCode code = problem_with_topic(services, context, *image, request.topics[t], result.partition_index);
      refused |= code != ErrorCode::none;
      if (code != ErrorCode::none) result.partition_error_code = code;
    }
  }
  co_return refused;
}

}  // namespace

Task<Response> handle_add_partitions_to_txn(const BrokerServices& services, const RequestContext& context,
                                            kafka::WireReader& reader) {
  kafka::AddPartitionsToTxnRequest request;
  if (auto malformed = decode_or_close(context, reader, request)) co_return std::move(*malformed);

  Turns turns(services, context, Turns::Order::kept);
  const ErrorCode refused = transactional_id_access(services, context, Operation::write, request.transactional_id);
  if (refused != ErrorCode::none) {
    co_return encode_reply(context, co_await answer_all(request, refused, turns));
  }
  kafka::AddPartitionsToTxnResponse response = co_await answer_all(request, ErrorCode::operation_not_attempted, turns);
  if (co_await refuse_some(services, context, request, response, turns)) co_return encode_reply(context, response);

  AddPartitions add{.transactional_id = std::string(request.transactional_id),
                    .producer = {request.producer_id, request.producer_epoch},
                    .partitions = {},
                    .mode = AddPartitions::Mode::add,
                    .connection = context.connection->number()};
  for (const AddedTopic& topic : request.topics) {
    co_await turns.step();
    for (const PartitionIndex index : topic.partitions) {
      co_await turns.step();
      add.partitions.push_back({std::string(topic.name), index});
    }
  }
  const RequestsBehind wait(context);
  context.times.mark(RequestStage::handled, services.clock.now());
  co_await turns.to_worker_if_large();
  const size_t elements = add.partitions.size();
  const auto answer = co_await services.transactions.ask<AddPartitionsAnswer>(
      request.transactional_id,
      [add = std::move(add)](TransactionCoordinator& transactions, Reply<AddPartitionsAnswer> reply,
                             const CoordinatorTime& time, CoordinatorOutcome& outcome) mutable {
        transactions.add_partitions(std::move(add), std::move(reply), time, outcome);
      },
      elements);
  if (answer && answer->is_late) co_return close_late(context, request.transactional_id);
  size_t next = 0;
  for (auto& topic : response.results_by_topic) {
    for (auto& result : topic.results_by_partition) {
      const ErrorCode code = answer ? answer->partitions[next++] : answer.error().code();
      result.partition_error_code = fenced_for(context.version, kFirstTxnVersionWithFenced, code);
    }
  }
  co_return encode_reply(context, response);
}

}  // namespace naru
