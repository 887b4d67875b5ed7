// NaruForward: a request that another broker passes on because this one is the controller.
#include <utility>

#include "broker/api_handlers.h"
#include "broker/forwarded_requests.h"
#include "broker/handlers/decode_request.h"
#include "kafka_protocol/messages/naru_forward_request.h"
#include "kafka_protocol/messages/naru_forward_response.h"

namespace naru {
namespace {

// The purpose is that of a listener for clients: nobody passes on what brokers ask each other.
CallerPtr caller_of(const kafka::NaruForwardRequest& request) {
  return std::make_shared<const Caller>(Caller{
      .principal = {.type = std::string(request.principal_type), .name = std::string(request.principal_name)},
      .authentication = static_cast<Authentication>(request.authentication),
      .listener = std::string(request.listener),
      .purpose = ListenerPurpose::clients,
      .address = {.host = std::string(request.host), .port = request.port},
      .software = {.name = std::string(request.software_name), .version = std::string(request.software_version)}});
}

}  // namespace

Task<Response> handle_naru_forward(const BrokerServices&, const RequestContext& context, kafka::WireReader& reader) {
  kafka::NaruForwardRequest request;
  if (auto malformed = decode_or_close(context, reader, request)) co_return std::move(*malformed);
  context.quota.exempt();  // the caller's own are asked for the request inside

  auto answer = co_await context.forwarded.answer_forwarded(context, caller_of(request), context.keep(request.frame));
  kafka::NaruForwardResponse response;
  if (answer.response.close_reason) {
    response.error_code = ErrorCode::invalid_request;
    response.error_message = std::move(*answer.response.close_reason);
  }
  response.caller_throttle_ms = static_cast<int32_t>(answer.throttle.count());
  for (const OutputChunk& chunk : answer.response.chunks) append_bytes(response.frame, std::get<Bytes>(chunk));
  co_return encode_reply(context, response);
}

}  // namespace naru
