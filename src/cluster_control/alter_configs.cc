#include "cluster_control/alter_configs.h"

#include <algorithm>
#include <cstdint>

#include "cluster_control/metadata_keys.h"
#include "cluster_control/stored_metadata.h"

namespace naru {
namespace {

// Whether topics take their default from this broker key: such a key is looked up whenever a topic's configuration is.
bool is_topic_default(std::string_view name) {
  return std::ranges::any_of(topic_config_definitions(), [name](const ConfigDefinition& topic) {
    const auto synonyms = topic.synonyms.view();
    return std::ranges::find(synonyms, name, &ConfigSynonym::broker_key) != synonyms.end();
  });
}

Status validate_broker_change(std::string_view name, const std::optional<std::string>& value) {
  const ConfigDefinition* definition = find_broker_config(name);
  if (definition == nullptr) return error(ErrorCode::invalid_config, "there is no broker configuration {}", name);
  if (!value) return {};
  if (definition->effect == ConfigEffect::at_restart && !is_topic_default(definition->name)) {
    return error(ErrorCode::invalid_config, "{} is read when the broker starts: set it in its configuration file",
                 name);
  }
  return validate_value(*definition, *value);
}

Status validate_topic_change(std::string_view name, const std::optional<std::string>& value) {
  if (value) return validate_topic_config(name, *value);
  if (find_topic_config(name) != nullptr) return {};
  return error(ErrorCode::invalid_config, "there is no topic configuration {}", name);
}

// Where a resource's configuration is stored, and what it is now.
struct StoredConfigs {
  std::string key;
  ConfigOverrides configs;
};

Result<StoredConfigs> find_topic_configs(const MetadataImage& image, const std::string& name) {
  const TopicMetadata* topic = image.find_topic(std::string_view(name));
  if (topic == nullptr) return failure(ErrorCode::unknown_topic_or_partition, "there is no topic {}", name);
  return StoredConfigs{metadata_keys::topic_configs(name), topic->configs};
}

Result<StoredConfigs> find_broker_configs(const MetadataImage& image, const std::string& name) {
  const auto id = parse_config_integer(name);
  const bool is_broker = id && *id >= 0 && *id <= INT32_MAX && image.find_broker(BrokerId(static_cast<int32_t>(*id)));
  if (!name.empty() && !is_broker) return failure(ErrorCode::invalid_request, "there is no broker '{}'", name);
  const std::string stored_as = name.empty() ? std::string(metadata_keys::kAllBrokers) : std::to_string(*id);
  const auto found = image.broker_configs().find(stored_as);
  return StoredConfigs{metadata_keys::broker_configs(stored_as),
                       found == image.broker_configs().end() ? ConfigOverrides() : found->second};
}

void overlay(BrokerConfig& config, const MetadataImage& image, const std::string& name) {
  const auto found = image.broker_configs().find(name);
  if (found == image.broker_configs().end()) return;
  for (const auto& [key, value] : found->second) {
    if (!validate_broker_change(key, value).ok()) continue;  // stored by a version that knew it
    config.values.set(key, value, ConfigSource::static_broker, metadata_keys::broker_configs(name));
  }
}

}  // namespace

AlterConfigsPlanner::AlterConfigsPlanner(std::vector<AlterConfigsItem> all, bool validate_only)
    : ItemPlanner(std::move(all)), validate_only_(validate_only) {
  std::set<std::pair<ConfigResource, std::string>> seen;
  for (const AlterConfigsItem& item : items()) {
    if (!seen.emplace(item.resource, item.name).second) duplicates_.emplace(item.resource, item.name);
  }
}

AlterConfigsResult AlterConfigsPlanner::plan_item(const MetadataImage& image, const MetadataDraft&,
                                                  AlterConfigsItem& item, MetadataChange& change) {
  return failed_item(item, plan_resource(image, item, change));
}

AlterConfigsResult AlterConfigsPlanner::failed_item(const AlterConfigsItem& item, const Status& status) const {
  return {item.resource, item.name, status};
}

Status AlterConfigsPlanner::plan_resource(const MetadataImage& image, const AlterConfigsItem& item,
                                          MetadataChange& change) const {
  if (duplicates_.contains({item.resource, item.name})) {
    return Status(ErrorCode::invalid_request, "the request names this resource more than once");
  }
  const bool is_topic = item.resource == ConfigResource::topic;
  NARU_TRY_ASSIGN(StoredConfigs stored,
                  is_topic ? find_topic_configs(image, item.name) : find_broker_configs(image, item.name));
  ConfigOverrides configs = stored.configs;
  std::set<std::string_view> named;
  for (const auto& [name, value] : item.changes) {
    if (!named.insert(name).second) return error(ErrorCode::invalid_request, "{} is given twice", name);
    NARU_TRY(is_topic ? validate_topic_change(name, value) : validate_broker_change(name, value));
    if (value) {
      configs.insert_or_assign(name, *value);
    } else {
      configs.erase(name);
    }
  }
  if (validate_only_ || configs == stored.configs) return {};
  if (configs.empty()) {
    change.deletes.push_back(stored.key);
  } else {
    change.puts.push_back({stored.key, encode_configs(configs)});
  }
  return {};
}

BrokerConfig effective_broker_config(const BrokerConfig& config, const MetadataImage& image) {
  BrokerConfig effective = config;
  overlay(effective, image, std::string(metadata_keys::kAllBrokers));
  overlay(effective, image, std::to_string(config.node_id.value()));
  return effective;
}

TopicConfig effective_topic_config(const BrokerConfig& config, const MetadataImage& image, const TopicMetadata& topic) {
  if (image.broker_configs().empty()) return resolve_topic_config(config, topic.configs);
  return resolve_topic_config(effective_broker_config(config, image), topic.configs);
}

}  // namespace naru
