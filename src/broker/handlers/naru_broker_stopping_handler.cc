// NaruBrokerStopping: a broker that is going to stop asks the controller to find other leaders.
#include "broker/api_handlers.h"
#include "broker/handlers/decode_request.h"
#include "broker/handlers/from_broker.h"
#include "cluster_control/controller_shell.h"
#include "kafka_protocol/messages/naru_broker_stopping_request.h"
#include "kafka_protocol/messages/naru_broker_stopping_response.h"

namespace naru {

Task<Response> handle_naru_broker_stopping(const BrokerServices& services, const RequestContext& context,
                                           kafka::WireReader& reader) {
  kafka::NaruBrokerStoppingRequest request;
  if (auto malformed = decode_or_close(context, reader, request)) co_return std::move(*malformed);

  kafka::NaruBrokerStoppingResponse response;
  response.error_code = check_sender(services, request.broker_id, request.broker_epoch);
  if (response.error_code != ErrorCode::none) co_return encode_reply(context, response);
  const auto still_led = co_await services.controller.controlled_shutdown(request.broker_id, request.broker_epoch);
  if (still_led) {
    response.still_led = static_cast<int32_t>(still_led->size());
  } else {
    response.error_code = still_led.error().code();
  }
  co_return encode_reply(context, response);
}

}  // namespace naru
