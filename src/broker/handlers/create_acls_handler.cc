// CreateAcls: there is no authorizer to keep them, which each of them is told.
#include "broker/api_handlers.h"
#include "broker/handlers/decode_request.h"
#include "broker/handlers/metadata_words.h"
#include "broker/turns.h"
#include "kafka_protocol/messages/create_acls_request.h"
#include "kafka_protocol/messages/create_acls_response.h"

namespace naru {

Task<Response> handle_create_acls(const BrokerServices& services, const RequestContext& context,
                                  kafka::WireReader& reader) {
  kafka::CreateAclsRequest request;
  if (auto malformed = decode_or_close(context, reader, request)) co_return std::move(*malformed);

  const bool may =
      services.authorizer.authorize(context.caller, Operation::alter, ResourceType::cluster, kClusterResource);
  const auto refusal = may ? ErrorCode::security_disabled : ErrorCode::cluster_authorization_failed;
  Turns turns(services, context);
  kafka::CreateAclsResponse response;
  for (size_t i = 0; i < request.creations.size(); ++i) {
    co_await turns.step();
    response.results.push_back({.error_code = refusal, .error_message = error_text(Status(refusal, ""))});
  }
  co_await turns.to_worker_if_large();
  co_return encode_reply(context, response);
}

}  // namespace naru
