// DeleteAcls: there is no authorizer that has any, which each filter is told.
#include "broker/api_handlers.h"
#include "broker/handlers/decode_request.h"
#include "broker/handlers/metadata_words.h"
#include "broker/turns.h"
#include "kafka_protocol/messages/delete_acls_request.h"
#include "kafka_protocol/messages/delete_acls_response.h"

namespace naru {

Task<Response> handle_delete_acls(const BrokerServices& services, const RequestContext& context,
                                  kafka::WireReader& reader) {
  kafka::DeleteAclsRequest request;
  if (auto malformed = decode_or_close(context, reader, request)) co_return std::move(*malformed);

  const bool may =
      services.authorizer.authorize(context.caller, Operation::alter, ResourceType::cluster, kClusterResource);
  const auto refusal = may ? ErrorCode::security_disabled : ErrorCode::cluster_authorization_failed;
  Turns turns(services, context);
  kafka::DeleteAclsResponse response;
  for (size_t i = 0; i < request.filters.size(); ++i) {
    co_await turns.step();
    auto& result = response.filter_results.emplace_back();
    result.error_code = refusal;
    result.error_message = error_text(Status(refusal, ""));
  }
  co_await turns.to_worker_if_large();
  co_return encode_reply(context, response);
}

}  // namespace naru
