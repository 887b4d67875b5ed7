// What DescribeConfigs says about a resource: every key with its value, where that comes from, and what would hold
// without it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "configuration/config_values.h"
#include "configuration/dynamic_config.h"

namespace naru {

// A place where a key, or the broker key it follows, has a value.
struct DescribedSynonym {
  std::string name;
  std::optional<std::string> value;
  ConfigSource source = ConfigSource::default_value;

  bool operator==(const DescribedSynonym&) const = default;
};

struct DescribedConfig {
  const ConfigDefinition* definition = nullptr;
  std::string_view name;  // of the key, or its alias
  std::optional<std::string> value;
  ConfigSource source = ConfigSource::default_value;
  bool read_only = false;
  std::vector<DescribedSynonym> synonyms;  // the one that holds first

  bool is_sensitive() const { return definition->type == ConfigType::password; }
};

// What a broker knows beyond its keys: what holds where a key is not set.
struct BrokerFacts {
  int32_t brokers = 1;               // of the cluster, that are up
  std::string listeners;             // NAME://HOST:PORT,... as they are open
  std::string advertised_listeners;  // as clients are told
};

std::vector<DescribedConfig> describe_topic(const BrokerConfigLayers& broker, const ConfigOverrides& topic,
                                            int32_t replication_factor);
std::vector<DescribedConfig> describe_broker(const BrokerConfigLayers& broker, const BrokerFacts& facts);
// What is set for all brokers, and nothing else.
std::vector<DescribedConfig> describe_broker_defaults(const ConfigOverrides& all_brokers);
std::vector<DescribedConfig> describe_group(const BrokerConfigLayers& broker, const ConfigOverrides& group);
std::vector<DescribedConfig> describe_client_metrics(const ConfigOverrides& subscription);

}  // namespace naru
