// UpdateFeatures: every feature has one level, which no broker can change while it runs. An update to that level
// succeeds, and any other is refused.
#include <algorithm>

#include "broker/api_handlers.h"
#include "broker/features.h"
#include "broker/handlers/decode_request.h"
#include "broker/handlers/metadata_words.h"
#include "broker/turns.h"
#include "kafka_protocol/messages/update_features_request.h"
#include "kafka_protocol/messages/update_features_response.h"

namespace naru {
namespace {

constexpr int16_t kFirstVersionWithUpgradeType = 1;
constexpr int16_t kLastVersionWithResults = 1;
constexpr size_t kShownBytes = 100;  // of a name that may be long

// Kafka's numbers.
constexpr int8_t kUpgrade = 1, kUnsafeDowngrade = 3;

Status check_update(const kafka::UpdateFeaturesRequest::FeatureUpdateKey& update, bool has_type) {
  const std::string_view shown = update.feature.substr(0, kShownBytes);
  const auto* const feature = std::ranges::find(kFeatures, update.feature, &Feature::name);
  if (feature == std::end(kFeatures)) {
    return error(ErrorCode::invalid_update_version, "there is no feature '{}'", shown);
  }
  if (has_type && (update.upgrade_type < kUpgrade || update.upgrade_type > kUnsafeDowngrade)) {
    return error(ErrorCode::invalid_update_version, "{}: {} is no type of upgrade", shown, update.upgrade_type);
  }
  if (update.max_version_level != feature->level) {
    return error(ErrorCode::invalid_update_version,
                 "{} cannot have level {}: brokers of this version have it at level {} and cannot change that", shown,
                 update.max_version_level, feature->level);
  }
  return {};
}

}  // namespace

Task<Response> handle_update_features(const BrokerServices& services, const RequestContext& context,
                                      kafka::WireReader& reader) {
  kafka::UpdateFeaturesRequest request;
  if (auto malformed = decode_or_close(context, reader, request)) co_return std::move(*malformed);

  Turns turns(services, context);
  kafka::UpdateFeaturesResponse response;
  response.error_message.reset();
  Status status;
  if (!services.authorizer.authorize(context.caller, Operation::alter, ResourceType::cluster, kClusterResource)) {
    status = Status(ErrorCode::cluster_authorization_failed, "");
  }
  for (const auto& update : request.feature_updates) {
    co_await turns.step();
    if (status.ok()) status = check_update(update, context.version >= kFirstVersionWithUpgradeType);
    if (!status.ok()) break;
    if (context.version > kLastVersionWithResults) continue;
    response.results.push_back({.feature = std::string(update.feature)});
  }
  if (!status.ok()) {
    response.error_code = status.code();
    response.error_message = error_text(status);
    response.results.clear();
  }
  co_await turns.to_worker_if_large();
  co_return encode_reply(context, response);
}

}  // namespace naru
