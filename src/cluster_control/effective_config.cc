#include "cluster_control/effective_config.h"

#include <string>

#include "cluster_control/metadata_keys.h"

namespace naru {
namespace {

const ConfigOverrides& find_or_empty(const std::map<std::string, ConfigOverrides, std::less<>>& all,
                                     std::string_view name) {
  static const ConfigOverrides kNone;
  const auto found = all.find(name);
  return found == all.end() ? kNone : found->second;
}

}  // namespace

const ConfigOverrides& stored_broker_configs(const MetadataImage& image, std::string_view name) {
  return find_or_empty(image.broker_configs(), name);
}

const ConfigOverrides& stored_group_configs(const MetadataImage& image, std::string_view group) {
  return find_or_empty(image.group_configs(), group);
}

const ConfigOverrides& stored_client_metrics(const MetadataImage& image, std::string_view subscription) {
  return find_or_empty(image.client_metrics(), subscription);
}

BrokerConfigLayers config_layers(const BrokerConfig& config, const MetadataImage& image) {
  return {.started_with = config,
          .all_brokers = stored_broker_configs(image, metadata_keys::kAllBrokers),
          .this_broker = stored_broker_configs(image, std::to_string(config.node_id.value()))};
}

BrokerConfig effective_broker_config(const BrokerConfig& config, const MetadataImage& image) {
  return effective_config(config_layers(config, image));
}

TopicConfig effective_topic_config(const BrokerConfig& config, const MetadataImage& image, const TopicMetadata& topic) {
  return resolve_topic_config(effective_broker_config(config, image), topic.configs);
}

}  // namespace naru
