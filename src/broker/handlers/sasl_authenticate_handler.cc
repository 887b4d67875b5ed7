// SaslAuthenticate: no handshake has begun, because no listener has any. Never authorized.
#include "broker/api_handlers.h"
#include "broker/handlers/decode_request.h"
#include "broker/handlers/metadata_words.h"
#include "kafka_protocol/messages/sasl_authenticate_request.h"
#include "kafka_protocol/messages/sasl_authenticate_response.h"

namespace naru {

Task<Response> handle_sasl_authenticate(const BrokerServices&, const RequestContext& context,
                                        kafka::WireReader& reader) {
  kafka::SaslAuthenticateRequest request;
  if (auto malformed = decode_or_close(context, reader, request)) co_return std::move(*malformed);

  kafka::SaslAuthenticateResponse response;
  response.error_code = ErrorCode::illegal_sasl_state;
  response.error_message = error_text(Status(response.error_code, ""));
  co_return encode_reply(context, response);
}

}  // namespace naru
