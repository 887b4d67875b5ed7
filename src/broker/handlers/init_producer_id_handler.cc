// InitProducerId: an id for an idempotent producer, which it puts into its batches.
#include "broker/api_handlers.h"
#include "broker/handlers/decode_request.h"
#include "broker/producer_id_pool.h"
#include "foundation/log.h"
#include "kafka_protocol/messages/init_producer_id_request.h"
#include "kafka_protocol/messages/init_producer_id_response.h"

namespace naru {
namespace {

constexpr ProducerEpoch kNoProducerEpoch{-1};

ErrorCode problem_with(const BrokerServices& services, const RequestContext& context,
                       const kafka::InitProducerIdRequest& request) {
  if (request.transactional_id) {
    // The one code at which every client gives up at once; others make librdkafka or Java try for ever.
    return request.transactional_id->empty() ? ErrorCode::invalid_request
                                             : ErrorCode::transactional_id_authorization_failed;
  }
  if ((request.producer_id == kNoProducerId) != (request.producer_epoch == kNoProducerEpoch)) {
    return ErrorCode::invalid_request;
  }
  const bool allowed =
      services.authorizer.authorize(context, Operation::idempotent_write, ResourceType::cluster, kClusterResource);
  return allowed ? ErrorCode::none : ErrorCode::cluster_authorization_failed;
}

}  // namespace

Task<Response> handle_init_producer_id(const BrokerServices& services, const RequestContext& context,
                                       kafka::WireReader& reader) {
  kafka::InitProducerIdRequest request;
  if (auto malformed = decode_or_close(context, reader, request)) co_return std::move(*malformed);

  kafka::InitProducerIdResponse response;
  response.producer_epoch = kNoProducerEpoch;
  response.error_code = problem_with(services, context, request);
  if (response.error_code == ErrorCode::none) {
    // A producer that names the id it had gets a new one too: sequences begin anew with it.
    const auto id = co_await services.producer_ids.next();
    if (id) {
      response.producer_id = *id;
      response.producer_epoch = ProducerEpoch(0);
    } else {
      log_warn("broker", "no producer id can be given out now: {}", id.error().to_string());
      response.error_code = ErrorCode::coordinator_load_in_progress;  // which clients wait and try again for
    }
  }
  co_return encode_reply(context, response);
}

}  // namespace naru
