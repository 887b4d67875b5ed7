// AllocateProducerIds: a broker gets its next block of producer ids.
#include "broker/api_handlers.h"
#include "broker/handlers/decode_request.h"
#include "broker/handlers/from_broker.h"
#include "cluster_control/controller_shell.h"
#include "kafka_protocol/messages/allocate_producer_ids_request.h"
#include "kafka_protocol/messages/allocate_producer_ids_response.h"

namespace naru {

Task<Response> handle_allocate_producer_ids(const BrokerServices& services, const RequestContext& context,
                                            kafka::WireReader& reader) {
  kafka::AllocateProducerIdsRequest request;
  if (auto malformed = decode_or_close(context, reader, request)) co_return std::move(*malformed);

  kafka::AllocateProducerIdsResponse response;
  response.error_code = check_sender(services, request.broker_id, request.broker_epoch);
  if (response.error_code != ErrorCode::none) co_return encode_reply(context, response);
  const auto block = co_await services.controller.allocate_producer_ids();
  if (block) {
    response.producer_id_start = block->first;
    response.producer_id_len = static_cast<int32_t>(block->end - block->first);
  } else {
    response.error_code = block.error().code();
  }
  co_return encode_reply(context, response);
}

}  // namespace naru
