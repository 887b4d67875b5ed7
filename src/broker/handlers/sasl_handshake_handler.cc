// SaslHandshake: all listeners are plaintext, where every client is authenticated from the start. Never authorized.
#include "broker/api_handlers.h"
#include "broker/handlers/decode_request.h"
#include "kafka_protocol/messages/sasl_handshake_request.h"
#include "kafka_protocol/messages/sasl_handshake_response.h"

namespace naru {

Task<Response> handle_sasl_handshake(const BrokerServices&, const RequestContext& context, kafka::WireReader& reader) {
  kafka::SaslHandshakeRequest request;
  if (auto malformed = decode_or_close(context, reader, request)) co_return std::move(*malformed);

  kafka::SaslHandshakeResponse response;
  response.error_code = ErrorCode::illegal_sasl_state;
  co_return encode_reply(context, response);
}

}  // namespace naru
