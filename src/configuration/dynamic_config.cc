#include "configuration/dynamic_config.h"

#include <string>

#include "foundation/log.h"

namespace naru {
namespace {

void overlay(BrokerConfig& config, const ConfigOverrides& overrides, ConfigSource source, std::string_view origin) {
  for (const auto& [name, value] : overrides) {
    if (const Status status = validate_dynamic_config(name, value); !status.ok()) {
      log_warn("configuration", "a stored broker configuration is skipped: {}", status.message());
      continue;
    }
    config.values.set(find_broker_config(name)->name, value, source, std::string(origin));
  }
}

}  // namespace

bool is_dynamic(const ConfigDefinition& definition) {
  return definition.effect != ConfigEffect::at_restart;
}

Status validate_dynamic_config(std::string_view name, std::string_view value) {
  const ConfigDefinition* definition = find_broker_config(name);
  if (definition == nullptr) {
    return Status(ErrorCode::invalid_request, unknown_config(ConfigScope::broker, name).message());
  }
  if (!is_dynamic(*definition)) {
    return error(ErrorCode::invalid_request,
                 "{} cannot be changed while the broker runs: set it in its configuration file", definition->name);
  }
  const Status status = validate_value(*definition, value);
  return status.ok() ? status : Status(ErrorCode::invalid_request, status.message());
}

BrokerConfig effective_config(const BrokerConfigLayers& layers) {
  BrokerConfig config = layers.started_with;
  overlay(config, layers.all_brokers, ConfigSource::dynamic_default_broker, "set for all brokers");
  overlay(config, layers.this_broker, ConfigSource::dynamic_broker, "set for this broker");
  read_dynamic_values(config);
  return config;
}

}  // namespace naru
