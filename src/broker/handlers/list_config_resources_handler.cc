// ListConfigResources: what has a configuration that can be described.
#include <algorithm>

#include "broker/api_handlers.h"
#include "broker/handlers/config_resources.h"
#include "broker/handlers/decode_request.h"
#include "cluster_control/metadata_publisher.h"
#include "kafka_protocol/messages/list_config_resources_request.h"
#include "kafka_protocol/messages/list_config_resources_response.h"

namespace naru {
namespace {

using ConfigResourcesAnswer = kafka::ListConfigResourcesResponse;

constexpr int8_t kAllTypes[] = {kTopicResource, kBrokerResource, kBrokerLoggerResource, kClientMetricsResource,
                                kGroupResource};

void add_resources(const MetadataImage& image, int8_t type, ConfigResourcesAnswer& response) {
  const auto add = [&](std::string name) {
    response.config_resources.push_back({.resource_name = std::move(name), .resource_type = type});
  };
  if (type == kTopicResource) {
    for (const TopicMetadataPtr& topic : image.topics()) add(topic->name);
  } else if (type == kBrokerResource || type == kBrokerLoggerResource) {
    for (const auto& [id, broker] : image.brokers()) add(std::to_string(id.value()));
  } else if (type == kGroupResource) {
    for (const auto& [group, configs] : image.group_configs()) add(group);
  } else if (type == kClientMetricsResource) {
    for (const auto& [subscription, configs] : image.client_metrics()) add(subscription);
  }
}

}  // namespace

Task<Response> handle_list_config_resources(const BrokerServices& services, const RequestContext& context,
                                            kafka::WireReader& reader) {
  kafka::ListConfigResourcesRequest request;
  if (auto malformed = decode_or_close(context, reader, request)) co_return std::move(*malformed);

  ConfigResourcesAnswer response;
  if (!services.authorizer.authorize(context, Operation::describe_configs, ResourceType::cluster, kClusterResource)) {
    response.error_code = ErrorCode::cluster_authorization_failed;
    co_return encode_reply(context, response);
  }
  const auto wanted = [&](int8_t type) {
    if (context.version == 0) return type == kClientMetricsResource;
    return request.resource_types.empty() ||
           std::ranges::find(request.resource_types, type) != request.resource_types.end();
  };
  if (std::ranges::any_of(request.resource_types,
                          [](int8_t type) { return std::ranges::find(kAllTypes, type) == std::end(kAllTypes); })) {
    response.error_code = ErrorCode::unsupported_version;
    co_return encode_reply(context, response);
  }
  const MetadataImagePtr image = services.metadata.current();
  for (const int8_t type : kAllTypes) {
    if (wanted(type)) add_resources(*image, type, response);
  }
  co_return encode_reply(context, response);
}

}  // namespace naru
