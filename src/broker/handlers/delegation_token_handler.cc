// CreateDelegationToken, RenewDelegationToken, ExpireDelegationToken, DescribeDelegationToken: there are no tokens.
// Not authorized: what Kafka asks an authorizer for are tokens of other owners, and nothing is told of any.
#include "broker/api_handlers.h"
#include "broker/handlers/decode_request.h"
#include "kafka_protocol/messages/create_delegation_token_request.h"
#include "kafka_protocol/messages/create_delegation_token_response.h"
#include "kafka_protocol/messages/describe_delegation_token_request.h"
#include "kafka_protocol/messages/describe_delegation_token_response.h"
#include "kafka_protocol/messages/expire_delegation_token_request.h"
#include "kafka_protocol/messages/expire_delegation_token_response.h"
#include "kafka_protocol/messages/renew_delegation_token_request.h"
#include "kafka_protocol/messages/renew_delegation_token_response.h"

namespace naru {
namespace {

constexpr int16_t kFirstVersionWithRequester = 3;
constexpr int64_t kNever = -1;
constexpr auto kDisabled = ErrorCode::delegation_token_auth_disabled;

}  // namespace

Task<Response> handle_create_delegation_token(const BrokerServices&, const RequestContext& context,
                                              kafka::WireReader& reader) {
  kafka::CreateDelegationTokenRequest request;
  if (auto malformed = decode_or_close(context, reader, request)) co_return std::move(*malformed);

  kafka::CreateDelegationTokenResponse response;
  response.error_code = kDisabled;
  response.principal_type = context.caller.principal.type;
  response.principal_name = context.caller.principal.name;
  if (context.version >= kFirstVersionWithRequester) {
    response.token_requester_principal_type = context.caller.principal.type;
    response.token_requester_principal_name = context.caller.principal.name;
  }
  response.issue_timestamp_ms = kNever;
  response.expiry_timestamp_ms = kNever;
  response.max_timestamp_ms = kNever;
  co_return encode_reply(context, response);
}

Task<Response> handle_renew_delegation_token(const BrokerServices&, const RequestContext& context,
                                             kafka::WireReader& reader) {
  kafka::RenewDelegationTokenRequest request;
  if (auto malformed = decode_or_close(context, reader, request)) co_return std::move(*malformed);

  kafka::RenewDelegationTokenResponse response;
  response.error_code = kDisabled;
  response.expiry_timestamp_ms = kNever;
  co_return encode_reply(context, response);
}

Task<Response> handle_expire_delegation_token(const BrokerServices&, const RequestContext& context,
                                              kafka::WireReader& reader) {
  kafka::ExpireDelegationTokenRequest request;
  if (auto malformed = decode_or_close(context, reader, request)) co_return std::move(*malformed);

  kafka::ExpireDelegationTokenResponse response;
  response.error_code = kDisabled;
  response.expiry_timestamp_ms = kNever;
  co_return encode_reply(context, response);
}

Task<Response> handle_describe_delegation_token(const BrokerServices&, const RequestContext& context,
                                                kafka::WireReader& reader) {
  kafka::DescribeDelegationTokenRequest request;
  if (auto malformed = decode_or_close(context, reader, request)) co_return std::move(*malformed);

  kafka::DescribeDelegationTokenResponse response;
  response.error_code = kDisabled;
  co_return encode_reply(context, response);
}

}  // namespace naru
