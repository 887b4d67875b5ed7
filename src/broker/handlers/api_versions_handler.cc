// ApiVersions: what this broker speaks. Allowed before anything else, never authorized.
#include <algorithm>

#include "broker/api_handlers.h"
#include "broker/features.h"
#include "broker/handlers/decode_request.h"
#include "broker/peers.h"
#include "kafka_protocol/messages/api_versions_request.h"
#include "kafka_protocol/messages/api_versions_response.h"

namespace naru {
namespace {

constexpr int16_t kFirstVersionWithClientSoftware = 3;
constexpr int16_t kFirstVersionWithFeaturesFromZero = 4;
constexpr size_t kSoftwareWordBytes = 256;  // of each; the rest is cut off

bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

// Letters and digits, with dots and dashes in between.
bool is_software_word(std::string_view text) {
  return !text.empty() && is_letter_or_digit(text.front()) && is_letter_or_digit(text.back()) &&
         std::ranges::all_of(text, [](char c) { return is_letter_or_digit(c) || c == '.' || c == '-'; });
}

bool may_act_as_broker(const BrokerServices& services, const RequestContext& context) {
  return services.authorizer.authorize(context.caller, Operation::cluster_action, ResourceType::cluster,
                                       kClusterResource);
}

}  // namespace

Task<Response> handle_api_versions(const BrokerServices& services, const RequestContext& context,
                                   kafka::WireReader& reader) {
  kafka::ApiVersionsRequest request;
  if (auto malformed = decode_or_close(context, reader, request)) co_return std::move(*malformed);

  kafka::ApiVersionsResponse response;
  if (context.version >= kFirstVersionWithClientSoftware) {
    if (!is_software_word(request.client_software_name) || !is_software_word(request.client_software_version)) {
      response.error_code = ErrorCode::invalid_request;
      co_return encode_reply(context, response);
    }
    Caller caller = context.caller;
    caller.software = {std::string(request.client_software_name.substr(0, kSoftwareWordBytes)),
                       std::string(request.client_software_version.substr(0, kSoftwareWordBytes))};
    context.connection->set_caller(std::make_shared<const Caller>(std::move(caller)));
  }
  const bool to_broker = request.client_software_name == kPeerSoftware && may_act_as_broker(services, context);
  for (const kafka::ApiRow& row : kafka::kApiTable) {
    if (row.between_brokers && !to_broker) continue;
    response.api_keys.push_back({.api_key = std::to_underlying(row.key),
                                 .min_version = row.min_advertised_version,
                                 .max_version = row.max_version});
  }
  response.finalized_features_epoch = 0;
  for (const auto& [name, level] : kFeatures) {
    response.finalized_features.push_back(
        {.name = std::string(name), .max_version_level = level, .min_version_level = level});
    // Clients of older versions stumble over a feature that may be off.
    if (context.version >= kFirstVersionWithFeaturesFromZero) {
      response.supported_features.push_back({.name = std::string(name), .min_version = 0, .max_version = level});
    }
  }
  co_return encode_reply(context, response);
}

}  // namespace naru
