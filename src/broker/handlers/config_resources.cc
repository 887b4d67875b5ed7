#include "broker/handlers/config_resources.h"

namespace naru {

Result<ConfigResource> config_resource(int8_t type) {
  switch (type) {
    case kTopicResource:
      return ConfigResource::topic;
    case kBrokerResource:
      return ConfigResource::broker;
    case kGroupResource:
      return ConfigResource::group;
    case kClientMetricsResource:
      return ConfigResource::client_metrics;
    case kBrokerLoggerResource:
      return failure(ErrorCode::invalid_request,
                     "levels of loggers are changed one by one (IncrementalAlterConfigs), not all together");
    default:
      return failure(ErrorCode::invalid_request, "{} is no type of resource with a configuration", type);
  }
}

int8_t resource_type(ConfigResource resource) {
  switch (resource) {
    case ConfigResource::topic:
      return kTopicResource;
    case ConfigResource::broker:
      return kBrokerResource;
    case ConfigResource::group:
      return kGroupResource;
    case ConfigResource::client_metrics:
      return kClientMetricsResource;
  }
  return 0;
}

const ConfigDefinition* find_config(ConfigResource resource, std::string_view name) {
  switch (resource) {
    case ConfigResource::topic:
      return find_topic_config(name);
    case ConfigResource::broker:
      return find_broker_config(name);
    case ConfigResource::group:
      return find_group_config(name);
    case ConfigResource::client_metrics:
      return find_client_metrics_config(name);
  }
  return nullptr;
}

Status authorize_configs(const BrokerServices& services, const RequestContext& context, Operation operation,
                         ConfigResource resource, std::string_view name) {
  const auto allowed = [&](ResourceType type, std::string_view what) {
    return services.authorizer.authorize(context.caller, operation, type, what);
  };
  switch (resource) {
    case ConfigResource::topic:
      return allowed(ResourceType::topic, name) ? Status() : Status(ErrorCode::topic_authorization_failed);
    case ConfigResource::broker:
    case ConfigResource::client_metrics:
      return allowed(ResourceType::cluster, kClusterResource) ? Status()
                                                              : Status(ErrorCode::cluster_authorization_failed);
    case ConfigResource::group:
      return allowed(ResourceType::group, name) ? Status() : Status(ErrorCode::group_authorization_failed);
  }
  return Status(ErrorCode::invalid_request);
}

}  // namespace naru
