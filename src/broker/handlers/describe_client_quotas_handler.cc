// DescribeClientQuotas: there are no quotas, so a filter that is in order finds none.
#include <set>

#include "broker/api_handlers.h"
#include "broker/handlers/decode_request.h"
#include "broker/handlers/metadata_words.h"
#include "kafka_protocol/messages/describe_client_quotas_request.h"
#include "kafka_protocol/messages/describe_client_quotas_response.h"

namespace naru {
namespace {

constexpr std::string_view kUser = "user", kClientId = "client-id", kAddress = "ip";

// Kafka's numbers.
enum class Match : int8_t { exact = 0, default_entity = 1, any_specified = 2 };

Status check_match(int8_t type, bool has_name) {
  switch (static_cast<Match>(type)) {
    case Match::exact:
      if (!has_name) return Status(ErrorCode::invalid_request, "an exact match needs a name");
      return {};
    case Match::default_entity:
    case Match::any_specified:
      if (has_name) return Status(ErrorCode::invalid_request, "only an exact match has a name");
      return {};
  }
  return error(ErrorCode::invalid_request, "{} is no type of match", type);
}

// Each type of entity at most once, so this ends early however long the list is.
Status check_filter(const kafka::DescribeClientQuotasRequest& request) {
  std::set<std::string_view> types;
  for (const auto& component : request.components) {
    const std::string_view type = component.entity_type;
    if (type.empty()) return Status(ErrorCode::invalid_request, "a type of entity is empty");
    if (type != kUser && type != kClientId && type != kAddress) {
      return error(ErrorCode::unsupported_version, "quotas are of {}, {} and {}, not of '{}'", kUser, kClientId,
                   kAddress, type.substr(0, 100));
    }
    if (!types.insert(type).second) return error(ErrorCode::invalid_request, "the filter has {} more than once", type);
    NARU_TRY(check_match(component.match_type, component.match.has_value()));
  }
  if (types.contains(kAddress) && types.size() > 1) {
    return error(ErrorCode::invalid_request, "{} cannot be combined with {} or {}", kAddress, kUser, kClientId);
  }
  return {};
}

}  // namespace

Task<Response> handle_describe_client_quotas(const BrokerServices& services, const RequestContext& context,
                                             kafka::WireReader& reader) {
  kafka::DescribeClientQuotasRequest request;
  if (auto malformed = decode_or_close(context, reader, request)) co_return std::move(*malformed);

  Status status = check_filter(request);
  if (!services.authorizer.authorize(context.caller, Operation::describe_configs, ResourceType::cluster,
                                     kClusterResource)) {
    status = Status(ErrorCode::cluster_authorization_failed, "");
  }
  kafka::DescribeClientQuotasResponse response;
  response.error_code = status.code();
  if (status.ok()) {
    response.entries.emplace();
  } else {
    response.error_message = error_text(status);
    response.entries.reset();
  }
  co_return encode_reply(context, response);
}

}  // namespace naru
