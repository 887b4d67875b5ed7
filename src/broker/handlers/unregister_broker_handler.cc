// UnregisterBroker: what is remembered of a broker that is gone for good is forgotten.
#include "broker/api_handlers.h"
#include "broker/handlers/decode_request.h"
#include "broker/handlers/metadata_words.h"
#include "cluster_control/controller_shell.h"
#include "kafka_protocol/messages/unregister_broker_request.h"
#include "kafka_protocol/messages/unregister_broker_response.h"

namespace naru {

Task<Response> handle_unregister_broker(const BrokerServices& services, const RequestContext& context,
                                        kafka::WireReader& reader) {
  kafka::UnregisterBrokerRequest request;
  if (auto malformed = decode_or_close(context, reader, request)) co_return std::move(*malformed);

  Status status = context.given_up;
  if (!services.authorizer.authorize(context.caller, Operation::alter, ResourceType::cluster, kClusterResource)) {
    status = Status(ErrorCode::cluster_authorization_failed, "");
  }
  if (status.ok()) status = co_await services.controller.unregister_broker(request.broker_id);
  kafka::UnregisterBrokerResponse response;
  response.error_code = status.code();
  if (!status.ok()) response.error_message = error_text(status);
  co_return encode_reply(context, response);
}

}  // namespace naru
