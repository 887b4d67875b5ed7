// AddOffsetsToTxn: the producer is going to commit offsets of this group.
#include "broker/api_handlers.h"
#include "broker/group_coordinators.h"
#include "broker/handlers/decode_request.h"
#include "broker/handlers/group_words.h"
#include "broker/handlers/transaction_words.h"
#include "broker/transaction_coordinators.h"
#include "cluster_control/internal_topics.h"
#include "kafka_protocol/messages/add_offsets_to_txn_request.h"
#include "kafka_protocol/messages/add_offsets_to_txn_response.h"

namespace naru {

Task<Response> handle_add_offsets_to_txn(const BrokerServices& services, const RequestContext& context,
                                         kafka::WireReader& reader) {
  kafka::AddOffsetsToTxnRequest request;
  if (auto malformed = decode_or_close(context, reader, request)) co_return std::move(*malformed);

  kafka::AddOffsetsToTxnResponse response;
  response.error_code = transactional_id_access(services, context, Operation::write, request.transactional_id);
  if (response.error_code == ErrorCode::none) {
    response.error_code = group_access(services, context, Operation::read, request.group_id);
  }
  if (response.error_code != ErrorCode::none) co_return encode_reply(context, response);
  const auto partition = services.groups.partition_of(request.group_id);
  if (!partition) {
    response.error_code = ErrorCode::coordinator_not_available;
    co_return encode_reply(context, response);
  }
  // A client that knows no word for being fenced (librdkafka) does not know either how to recover here, though it does
  // after AddPartitionsToTxn.
  const bool may_recover = context.version >= kFirstTxnVersionWithFenced;
  const RequestsBehind wait(context);
  context.times.mark(RequestStage::handled, services.clock.now());
  const auto answer = co_await services.transactions.ask<AddPartitionsAnswer>(
      request.transactional_id, [add = AddPartitions{.transactional_id = std::string(request.transactional_id),
                                                     .producer = {request.producer_id, request.producer_epoch},
                                                     .partitions = {{std::string(kOffsetsTopic), *partition}},
                                                     .mode = AddPartitions::Mode::add,
                                                     .connection = context.connection->number(),
                                                     .may_recover = may_recover}](
                                    TransactionCoordinator& transactions, Reply<AddPartitionsAnswer> reply,
                                    const CoordinatorTime& time, CoordinatorOutcome& outcome) mutable {
        transactions.add_partitions(std::move(add), std::move(reply), time, outcome);
      });
  if (answer && answer->is_late) co_return close_late(context, request.transactional_id);
  const ErrorCode code = answer ? answer->partitions.front() : answer.error().code();
  response.error_code = fenced_for(context.version, kFirstTxnVersionWithFenced, code);
  co_return encode_reply(context, response);
}

}  // namespace naru
