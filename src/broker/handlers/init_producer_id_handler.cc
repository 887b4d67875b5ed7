// InitProducerId: an id for an idempotent producer, which it puts into its batches; or the one of a transactional id,
// whose earlier producers are fenced by it.
#include "broker/api_handlers.h"
#include "broker/handlers/decode_request.h"
#include "broker/handlers/transaction_words.h"
#include "broker/producer_id_pool.h"
#include "broker/transaction_coordinators.h"
#include "foundation/log.h"
#include "kafka_protocol/messages/init_producer_id_request.h"
#include "kafka_protocol/messages/init_producer_id_response.h"

namespace naru {
namespace {

constexpr int16_t kFirstInitVersionWithFenced = 4;
constexpr ProducerEpoch kNoProducerEpoch{-1};

ErrorCode problem_with(const BrokerServices& services, const RequestContext& context,
                       const kafka::InitProducerIdRequest& request) {
  if ((request.producer_id == kNoProducerId) != (request.producer_epoch == kNoProducerEpoch)) {
    return ErrorCode::invalid_request;
  }
  if (request.transactional_id) {
    return transactional_id_access(services, context, Operation::write, *request.transactional_id);
  }
  const bool allowed = services.authorizer.authorize(context.caller, Operation::idempotent_write, ResourceType::cluster,
                                                     kClusterResource);
  return allowed ? ErrorCode::none : ErrorCode::cluster_authorization_failed;
}

Task<Result<ProducerId>> fresh_id(const BrokerServices& services) {
  auto id = co_await services.producer_ids.next();
  if (id) co_return id;
  log_warn("broker", "no producer id can be given out now: {}", id.error().to_string());
  co_return failure(Status(ErrorCode::coordinator_load_in_progress));  // which clients wait and try again for
}

Task<Result<InitProducerAnswer>> ask_to_init(const BrokerServices& services, InitProducer init) {
  const std::string id = init.transactional_id;
  for (;;) {
    auto answer = co_await services.transactions.ask<InitProducerAnswer>(
        id, [init](TransactionCoordinator& transactions, Reply<InitProducerAnswer> reply, const CoordinatorTime& time,
                   CoordinatorOutcome& outcome) { transactions.init_producer(init, std::move(reply), time, outcome); });
    if (!answer || !answer->needs_fresh_id || init.fresh_id) co_return answer;
    const auto fresh = co_await fresh_id(services);
    if (!fresh) co_return failure(fresh.error());
    init.fresh_id = *fresh;
  }
}

Task<Result<InitProducerAnswer>> init(const BrokerServices& services, const RequestContext& context,
                                      const kafka::InitProducerIdRequest& request) {
  if (!request.transactional_id) {
    // A producer that names the id it had gets a new one too: sequences begin anew with it.
    const auto id = co_await fresh_id(services);
    if (!id) co_return failure(id.error());
    co_return InitProducerAnswer{.producer = {*id, ProducerEpoch(0)}};
  }
  InitProducer wanted{.transactional_id = std::string(*request.transactional_id),
                      .timeout_ms = request.transaction_timeout_ms,
                      .expected = std::nullopt,
                      .fresh_id = std::nullopt,
                      .connection = context.connection->number()};
  if (request.producer_id != kNoProducerId) {
    wanted.expected = ProducerIdentity{request.producer_id, request.producer_epoch};
  }
  co_return co_await ask_to_init(services, std::move(wanted));
}

}  // namespace

Task<Response> handle_init_producer_id(const BrokerServices& services, const RequestContext& context,
                                       kafka::WireReader& reader) {
  kafka::InitProducerIdRequest request;
  if (auto malformed = decode_or_close(context, reader, request)) co_return std::move(*malformed);

  kafka::InitProducerIdResponse response;
  response.producer_epoch = kNoProducerEpoch;
  response.error_code = problem_with(services, context, request);
  if (response.error_code != ErrorCode::none) co_return encode_reply(context, response);
  const auto answer = co_await init(services, context, request);
  if (answer && answer->is_late) co_return close_late(context, *request.transactional_id);
  const ErrorCode code = answer ? answer->error : answer.error().code();
  response.error_code = fenced_for(context.version, kFirstInitVersionWithFenced, code);
  if (code == ErrorCode::none) {
    response.producer_id = answer->producer.id;
    response.producer_epoch = answer->producer.epoch;
  }
  co_return encode_reply(context, response);
}

}  // namespace naru
