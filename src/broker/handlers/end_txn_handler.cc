// EndTxn: commit or abort. Answered when the decision is durable; the markers follow.
#include "broker/api_handlers.h"
#include "broker/handlers/decode_request.h"
#include "broker/handlers/transaction_words.h"
#include "broker/producer_id_pool.h"
#include "broker/transaction_coordinators.h"
#include "kafka_protocol/messages/end_txn_request.h"
#include "kafka_protocol/messages/end_txn_response.h"

namespace naru {
namespace {

constexpr int16_t kFirstVersionWithEpochBump = 5;

Task<Result<EndTransactionAnswer>> ask_to_end(const BrokerServices& services, EndTransaction end) {
  const std::string id = end.transactional_id;
  for (;;) {
    auto answer = co_await services.transactions.ask<EndTransactionAnswer>(
        id, [end](TransactionCoordinator& transactions, Reply<EndTransactionAnswer> reply, const CoordinatorTime& time,
                  CoordinatorOutcome& outcome) { transactions.end(end, std::move(reply), time, outcome); });
    if (!answer || !answer->needs_fresh_id || end.fresh_id) co_return answer;
    const auto fresh = co_await services.producer_ids.next();
    if (!fresh) co_return failure(ErrorCode::coordinator_not_available, "{}", fresh.error().message());
    end.fresh_id = *fresh;
  }
}

}  // namespace

Task<Response> handle_end_txn(const BrokerServices& services, const RequestContext& context,
                              kafka::WireReader& reader) {
  kafka::EndTxnRequest request;
  if (auto malformed = decode_or_close(context, reader, request)) co_return std::move(*malformed);

  kafka::EndTxnResponse response;
  response.error_code = transactional_id_access(services, context, Operation::write, request.transactional_id);
  if (response.error_code != ErrorCode::none) co_return encode_reply(context, response);
  context.times.mark(RequestStage::handled, services.clock.now());
  const auto answer = co_await ask_to_end(
      services, {.transactional_id = std::string(request.transactional_id),
                 .producer = {request.producer_id, request.producer_epoch},
                 .result = request.committed ? TransactionResult::commit : TransactionResult::abort,
                 .version = context.version >= kFirstVersionWithEpochBump ? kTransactionVersion2 : kTransactionVersion1,
                 .fresh_id = std::nullopt,
                 .connection = context.connection->number()});
  if (answer && answer->is_late) co_return close_late(context, request.transactional_id);
  const ErrorCode code = answer ? answer->error : answer.error().code();
  response.error_code = fenced_for(context.version, kFirstTxnVersionWithFenced, code);
  if (code == ErrorCode::none) {
    response.producer_id = answer->next.id;
    response.producer_epoch = answer->next.epoch;
  }
  co_return encode_reply(context, response);
}

}  // namespace naru
