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
  std::optional<std::string> value;
  ConfigSource source = ConfigSource::default_value;
  bool read_only = false;
  std::vector<DescribedSynonym> synonyms;  // the one that holds first
};

std::vector<DescribedConfig> describe_topic(const BrokerConfigLayers& broker, const ConfigOverrides& topic,
                                            int32_t replication_factor);
std::vector<DescribedConfig> describe_broker(const BrokerConfigLayers& broker);
// What is set for all brokers, and nothing else.
std::vector<DescribedConfig> describe_broker_defaults(const ConfigOverrides& all_brokers);
std::vector<DescribedConfig> describe_group(const ConfigOverrides& group);

}  // namespace naru
