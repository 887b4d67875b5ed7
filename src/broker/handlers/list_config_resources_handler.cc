// ListConfigResources: what has a configuration that can be described.
#include <algorithm>
#include <array>
#include <bitset>
#include <optional>

#include "broker/api_handlers.h"
#include "broker/handlers/config_resources.h"
#include "broker/handlers/decode_request.h"
#include "broker/turns.h"
#include "cluster_control/metadata_publisher.h"
#include "kafka_protocol/messages/list_config_resources_request.h"
#include "kafka_protocol/messages/list_config_resources_response.h"

namespace naru {
namespace {

using ConfigResourcesAnswer = kafka::ListConfigResourcesResponse;

constexpr std::array<int8_t, 5> kAllTypes{kTopicResource, kBrokerResource, kBrokerLoggerResource,
                                          kClientMetricsResource, kGroupResource};
using WantedTypes = std::bitset<kAllTypes.size()>;

Task<void> add_resources(const MetadataImage& image, int8_t type, ConfigResourcesAnswer& response, Turns& turns) {
  const auto add = [&](std::string name) {
    response.config_resources.push_back({.resource_name = std::move(name), .resource_type = type});
    return turns.step();
  };
  if (type == kTopicResource) {
    for (const TopicMetadataPtr& topic : image.topics()) co_await add(topic->name);
  } else if (type == kBrokerResource || type == kBrokerLoggerResource) {
    for (const auto& [id, broker] : image.brokers()) co_await add(std::to_string(id.value()));
  } else if (type == kGroupResource) {
    for (const auto& [group, configs] : image.group_configs()) co_await add(group);
  } else if (type == kClientMetricsResource) {
    for (const auto& [subscription, configs] : image.client_metrics()) co_await add(subscription);
  }
}

// Which of kAllTypes are asked for; none if there is another one among them. Looks at each element of the request once.
Task<std::optional<WantedTypes>> wanted_types(const RequestContext& context, const std::vector<int8_t>& types,
                                              Turns& turns) {
  WantedTypes wanted;
  for (const int8_t type : types) {
    co_await turns.step();
    const auto* found = std::ranges::find(kAllTypes, type);
    if (found == kAllTypes.end()) co_return std::nullopt;
    wanted.set(static_cast<size_t>(found - kAllTypes.begin()));
  }
  if (context.version > 0) co_return types.empty() ? WantedTypes().set() : wanted;
  WantedTypes client_metrics;
  client_metrics.set(static_cast<size_t>(std::ranges::find(kAllTypes, kClientMetricsResource) - kAllTypes.begin()));
  co_return client_metrics;
}

}  // namespace

Task<Response> handle_list_config_resources(const BrokerServices& services, const RequestContext& context,
                                            kafka::WireReader& reader) {
  kafka::ListConfigResourcesRequest request;
  if (auto malformed = decode_or_close(context, reader, request)) co_return std::move(*malformed);

  ConfigResourcesAnswer response;
  if (!services.authorizer.authorize(context.caller, Operation::describe_configs, ResourceType::cluster,
                                     kClusterResource)) {
    response.error_code = ErrorCode::cluster_authorization_failed;
    co_return encode_reply(context, response);
  }
  Turns turns(services, context);
  const auto wanted = co_await wanted_types(context, request.resource_types, turns);
  if (!wanted) {
    response.error_code = ErrorCode::unsupported_version;
    co_return encode_reply(context, response);
  }
  const MetadataImagePtr image = services.metadata.current();
  for (size_t i = 0; i < kAllTypes.size(); ++i) {
    if (wanted->test(i)) co_await add_resources(*image, kAllTypes[i], response, turns);
  }
  co_await turns.to_worker_if_large();
  co_return encode_reply(context, response);
}

}  // namespace naru
