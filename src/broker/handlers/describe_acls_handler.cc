// DescribeAcls: there is no authorizer, so there are no rules to describe.
#include "broker/api_handlers.h"
#include "broker/handlers/decode_request.h"
#include "broker/handlers/metadata_words.h"
#include "kafka_protocol/messages/describe_acls_request.h"
#include "kafka_protocol/messages/describe_acls_response.h"

namespace naru {

Task<Response> handle_describe_acls(const BrokerServices& services, const RequestContext& context,
                                    kafka::WireReader& reader) {
  kafka::DescribeAclsRequest request;
  if (auto malformed = decode_or_close(context, reader, request)) co_return std::move(*malformed);

  kafka::DescribeAclsResponse response;
  response.error_code = ErrorCode::security_disabled;
  if (!services.authorizer.authorize(context.caller, Operation::describe, ResourceType::cluster, kClusterResource)) {
    response.error_code = ErrorCode::cluster_authorization_failed;
  }
  response.error_message = error_text(Status(response.error_code, ""));
  co_return encode_reply(context, response);
}

}  // namespace naru
