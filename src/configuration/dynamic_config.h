// Broker keys that are changed while the broker runs: which ones may be, and what holds then.
//
// A value set for this broker wins over one set for all brokers, that over what the broker was started with, and that
// over the default.
#pragma once

#include <string_view>

#include "configuration/broker_config.h"

namespace naru {

// What a broker's configuration is made of. The parts outlive it.
struct BrokerConfigLayers {
  const BrokerConfig& started_with;
  const ConfigOverrides& all_brokers;
  const ConfigOverrides& this_broker;
};

// Whether a key may be changed while the broker runs.
bool is_dynamic(const ConfigDefinition& definition);

// invalid_request, as Kafka has it for brokers, for a key that is unknown or refused, that is only read when the broker
// starts, or that is set for each broker by itself, and for a value that is not allowed.
Status validate_dynamic_config(std::string_view name, std::string_view value, bool for_all_brokers = false);

// The configuration in effect. Stored values that are not allowed (written by another version) are skipped.
BrokerConfig effective_config(const BrokerConfigLayers& layers);

}  // namespace naru
