// DescribeUserScramCredentials: no user has any, and one that is asked for by name does not exist.
#include <map>

#include "broker/api_handlers.h"
#include "broker/handlers/decode_request.h"
#include "broker/handlers/metadata_words.h"
#include "broker/turns.h"
#include "kafka_protocol/messages/describe_user_scram_credentials_request.h"
#include "kafka_protocol/messages/describe_user_scram_credentials_response.h"

namespace naru {

Task<Response> handle_describe_user_scram_credentials(const BrokerServices& services, const RequestContext& context,
                                                      kafka::WireReader& reader) {
  kafka::DescribeUserScramCredentialsRequest request;
  if (auto malformed = decode_or_close(context, reader, request)) co_return std::move(*malformed);

  kafka::DescribeUserScramCredentialsResponse response;
  if (!services.authorizer.authorize(context.caller, Operation::describe, ResourceType::cluster, kClusterResource)) {
    response.error_code = ErrorCode::cluster_authorization_failed;
    response.error_message = error_text(Status(response.error_code, ""));
    co_return encode_reply(context, response);
  }
  Turns turns(services, context);
  std::map<std::string_view, size_t> results;
  if (!request.users) request.users.emplace();
  for (const auto& user : *request.users) {
    co_await turns.step();
    const auto [at, is_new] = results.try_emplace(user.name, response.results.size());
    if (is_new) response.results.emplace_back().user = user.name;
    auto& result = response.results[at->second];
    result.error_code = is_new ? ErrorCode::resource_not_found : ErrorCode::duplicate_resource;
    result.error_message = is_new ? "the user has no SCRAM credentials" : "the request names the user more than once";
  }
  co_await turns.to_worker_if_large();
  co_return encode_reply(context, response);
}

}  // namespace naru
