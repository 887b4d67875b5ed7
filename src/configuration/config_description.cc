#include "configuration/config_description.h"

#include <algorithm>

#include "configuration/topic_config.h"

namespace naru {
namespace {

void add_override(const ConfigOverrides& overrides, std::string_view name, ConfigSource source,
                  std::vector<DescribedSynonym>& synonyms) {
  const auto found = overrides.find(name);
  if (found != overrides.end()) synonyms.push_back({found->first, found->second, source});
}

// Where these broker keys have values: by source, and within a source in the order of the keys.
std::vector<DescribedSynonym> broker_synonyms(const BrokerConfigLayers& broker,
                                              std::span<const std::string_view> keys) {
  std::vector<DescribedSynonym> synonyms;
  for (const auto key : keys) add_override(broker.this_broker, key, ConfigSource::dynamic_broker, synonyms);
  for (const auto key : keys) add_override(broker.all_brokers, key, ConfigSource::dynamic_default_broker, synonyms);
  for (const auto key : keys) {
    const ConfigValue& value = broker.started_with.values.at(key);
    if (value.source == ConfigSource::static_broker) {
      synonyms.push_back({std::string(key), value.text, ConfigSource::static_broker});
    }
  }
  for (const auto key : keys) {
    if (const auto text = find_broker_config(key)->default_text) {
      synonyms.push_back({std::string(key), std::string(*text), ConfigSource::default_value});
    }
  }
  return synonyms;
}

std::vector<std::string_view> broker_keys_of(const ConfigDefinition& topic_key) {
  std::vector<std::string_view> keys;
  for (const ConfigSynonym& synonym : topic_key.synonyms.view()) keys.push_back(synonym.broker_key);
  return keys;
}

}  // namespace

std::vector<DescribedConfig> describe_topic(const BrokerConfigLayers& broker, const ConfigOverrides& topic,
                                            int32_t replication_factor) {
  const BrokerConfig effective = effective_config(broker);
  const ConfigValues values = resolve_topic_values(effective, topic);
  const TopicConfig typed = resolve_topic_config(effective, topic);
  std::vector<DescribedConfig> described;
  for (const ConfigDefinition& definition : topic_config_definitions()) {
    const ConfigValue& value = values.at(definition.name);
    DescribedConfig& config = described.emplace_back();
    config = {.definition = &definition, .value = value.text, .source = value.source};
    if (!value.text && definition.name == "min.insync.replicas") {
      config.value = std::to_string(typed.effective_min_insync_replicas(replication_factor));
    }
    add_override(topic, definition.name, ConfigSource::topic, config.synonyms);
    std::ranges::move(broker_synonyms(broker, broker_keys_of(definition)), std::back_inserter(config.synonyms));
  }
  return described;
}

std::vector<DescribedConfig> describe_broker(const BrokerConfigLayers& broker) {
  const BrokerConfig effective = effective_config(broker);
  std::vector<DescribedConfig> described;
  for (const ConfigDefinition& definition : broker_config_definitions()) {
    const ConfigValue& value = effective.values.at(definition.name);
    const std::string_view key = definition.name;
    described.push_back({.definition = &definition,
                         .value = value.text,
                         .source = value.source,
                         .read_only = !is_dynamic(definition),
                         .synonyms = broker_synonyms(broker, {&key, 1})});
  }
  return described;
}

std::vector<DescribedConfig> describe_broker_defaults(const ConfigOverrides& all_brokers) {
  std::vector<DescribedConfig> described;
  for (const auto& [name, value] : all_brokers) {
    const ConfigDefinition* definition = find_broker_config(name);
    if (definition == nullptr) continue;
    described.push_back({.definition = definition,
                         .value = value,
                         .source = ConfigSource::dynamic_default_broker,
                         .synonyms = {{name, value, ConfigSource::dynamic_default_broker}}});
  }
  return described;
}

std::vector<DescribedConfig> describe_group(const ConfigOverrides& group) {
  std::vector<DescribedConfig> described;
  for (const ConfigDefinition& definition : group_config_definitions()) {
    DescribedConfig& config = described.emplace_back();
    config.definition = &definition;
    add_override(group, definition.name, ConfigSource::group, config.synonyms);
    config.synonyms.push_back(
        {std::string(definition.name), std::string(*definition.default_text), ConfigSource::default_value});
    config.value = config.synonyms.front().value;
    config.source = config.synonyms.front().source;
  }
  return described;
}

}  // namespace naru
