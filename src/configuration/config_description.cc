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

std::vector<std::string_view> broker_keys_of(const ConfigDefinition& follower) {
  std::vector<std::string_view> keys;
  for (const ConfigSynonym& synonym : follower.synonyms.view()) keys.push_back(synonym.broker_key);
  return keys;
}

// As replicas are placed: three, if there are as many brokers.
std::string default_replicas(const BrokerConfig&, const BrokerFacts& facts) {
  return std::to_string(std::clamp(facts.brokers, 1, 3));
}

std::string min_insync_replicas_of(std::optional<int32_t> replication_factor, const BrokerFacts& facts) {
  return std::to_string(
      TopicConfig().effective_min_insync_replicas(replication_factor.value_or(std::clamp(facts.brokers, 1, 3))));
}

// What holds where a broker key is not set. Clients count on numbers and addresses that Kafka's brokers always show.
struct ValueInForce {
  std::string_view key;
  std::string (*read)(const BrokerConfig&, const BrokerFacts&);
};

constexpr ValueInForce kInForce[] = {
    {"default.replication.factor", default_replicas},
    {"offsets.topic.replication.factor", default_replicas},
    {"transaction.state.log.replication.factor", default_replicas},
    {"min.insync.replicas",
     [](const BrokerConfig& config, const BrokerFacts& facts) {
       return min_insync_replicas_of(config.default_replication_factor, facts);
     }},
    {"transaction.state.log.min.isr",
     [](const BrokerConfig& config, const BrokerFacts& facts) {
       return min_insync_replicas_of(config.transactions.topic_replication_factor, facts);
     }},
    {"advertised.listeners", [](const BrokerConfig&, const BrokerFacts& facts) { return facts.advertised_listeners; }},
    {"num.network.threads", [](const BrokerConfig& config,
                               const BrokerFacts&) { return std::to_string(config.num_network_threads.value_or(1)); }},
};

std::optional<std::string> value_in_force(std::string_view key, const BrokerConfig& config, const BrokerFacts& facts) {
  const auto* const found = std::ranges::find(kInForce, key, &ValueInForce::key);
  return found == std::end(kInForce) ? std::nullopt : std::optional(found->read(config, facts));
}

void show_in_force(DescribedConfig& config, std::string value) {
  config.value = value;
  config.synonyms.push_back({std::string(config.name), std::move(value), ConfigSource::default_value});
}

// A key that may be set at run time and is read when the broker starts: until the file has it, what is set is only
// stored. The source and the synonyms say so, because tools find by them what they can remove again.
bool is_only_stored(const ConfigDefinition& definition, ConfigSource source) {
  return definition.effect == ConfigEffect::at_restart &&
         (source == ConfigSource::dynamic_broker || source == ConfigSource::dynamic_default_broker);
}

// As it is open: with protocol names and ports, whatever was written.
void show_listeners(DescribedConfig& config, const BrokerFacts& facts) {
  config.value = facts.listeners;
  if (!config.synonyms.empty()) config.synonyms.front().value = facts.listeners;
}

bool is_left_out(const ConfigDefinition& definition, ConfigSource source) {
  return definition.shown_if_set && source == ConfigSource::default_value;
}

// Another name of the same key, which Kafka has as a key of its own.
DescribedConfig under_alias(DescribedConfig config) {
  config.name = config.definition->alias;
  for (DescribedSynonym& synonym : config.synonyms) {
    if (synonym.name == config.definition->name) synonym.name = config.definition->alias;
  }
  return config;
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
    if (is_left_out(definition, value.source)) continue;
    DescribedConfig& config = described.emplace_back();
    config = {.definition = &definition, .name = definition.name, .value = value.text, .source = value.source};
    add_override(topic, definition.name, ConfigSource::topic, config.synonyms);
    std::ranges::move(broker_synonyms(broker, broker_keys_of(definition)), std::back_inserter(config.synonyms));
    if (!value.text && definition.name == "min.insync.replicas") {
      show_in_force(config, std::to_string(typed.effective_min_insync_replicas(replication_factor)));
    }
  }
  return described;
}

std::vector<DescribedConfig> describe_broker(const BrokerConfigLayers& broker, const BrokerFacts& facts) {
  const BrokerConfig effective = effective_config(broker);
  std::vector<DescribedConfig> described;
  for (const ConfigDefinition& definition : broker_config_definitions()) {
    const ConfigValue& value = effective.values.at(definition.name);
    if (is_left_out(definition, value.source)) continue;
    DescribedConfig config{.definition = &definition,
                           .name = definition.name,
                           .value = value.text,
                           .source = value.source,
                           .read_only = !is_dynamic(definition),
                           .synonyms = broker_synonyms(broker, {&definition.name, 1})};
    if (is_only_stored(definition, value.source)) config.value = broker.started_with.values.at(definition.name).text;
    if (!config.value) {
      if (auto holds = value_in_force(definition.name, effective, facts)) show_in_force(config, std::move(*holds));
    }
    if (definition.name == "listeners") show_listeners(config, facts);
    if (!definition.alias.empty()) described.push_back(under_alias(config));
    described.push_back(std::move(config));
  }
  return described;
}

std::vector<DescribedConfig> describe_broker_defaults(const ConfigOverrides& all_brokers) {
  std::vector<DescribedConfig> described;
  for (const auto& [name, value] : all_brokers) {
    const ConfigDefinition* definition = find_broker_config(name);
    if (definition == nullptr) continue;
    described.push_back({.definition = definition,
                         .name = definition->name,
                         .value = value,
                         .source = ConfigSource::dynamic_default_broker,
                         .synonyms = {{name, value, ConfigSource::dynamic_default_broker}}});
  }
  return described;
}

std::vector<DescribedConfig> describe_group(const BrokerConfigLayers& broker, const ConfigOverrides& group) {
  std::vector<DescribedConfig> described;
  for (const ConfigDefinition& definition : group_config_definitions()) {
    DescribedConfig& config = described.emplace_back();
    config.definition = &definition;
    config.name = definition.name;
    add_override(group, definition.name, ConfigSource::group, config.synonyms);
    std::ranges::move(broker_synonyms(broker, broker_keys_of(definition)), std::back_inserter(config.synonyms));
    if (definition.synonyms.count == 0) {
      config.synonyms.push_back(
          {std::string(definition.name), std::string(*definition.default_text), ConfigSource::default_value});
    }
    config.value = config.synonyms.front().value;
    config.source = config.synonyms.front().source;
  }
  return described;
}

std::vector<DescribedConfig> describe_client_metrics(const ConfigOverrides& subscription) {
  std::vector<DescribedConfig> described;
  for (const ConfigDefinition& definition : client_metrics_config_definitions()) {
    DescribedConfig& config = described.emplace_back();
    config = {.definition = &definition, .name = definition.name, .value = std::string(*definition.default_text)};
    add_override(subscription, definition.name, ConfigSource::client_metrics, config.synonyms);
    if (config.synonyms.empty()) continue;
    config.value = config.synonyms.front().value;
    config.source = config.synonyms.front().source;
  }
  return described;
}

}  // namespace naru
