#include "configuration/dynamic_config.h"

#include <string>

#include "foundation/log.h"

namespace naru {
namespace {

// What another version stored may not be accepted any more, and holds all the same if it still means something: the
// retention of topics must not change with the version of the broker.
Status check_stored(std::string_view name, std::string_view value) {
  const ConfigDefinition* definition = find_broker_config(name);
  if (definition == nullptr) return unknown_config(ConfigScope::broker, name);
  if (!is_dynamic(*definition) && definition->effect != ConfigEffect::at_once) {
    return error(ErrorCode::invalid_config, "{} is read when the broker starts", definition->name);
  }
  return validate_value(*definition, value);
}

void overlay(BrokerConfig& config, const ConfigOverrides& overrides, ConfigSource source, std::string_view origin) {
  for (const auto& [name, value] : overrides) {
    if (const Status status = check_stored(name, value); !status.ok()) {
      log_warn("configuration", "a stored broker configuration is skipped: {}", status.message());
      continue;
    }
    config.values.set(find_broker_config(name)->name, value, source, std::string(origin));
  }
}

Status check_mode(const ConfigDefinition& definition, bool for_all_brokers) {
  if (definition.mode == ConfigMode::read_only) {
    return error(ErrorCode::invalid_request,
                 "{} cannot be changed while the broker runs: set it in its configuration file", definition.name);
  }
  if (definition.mode == ConfigMode::per_broker && for_all_brokers) {
    return error(ErrorCode::invalid_request, "{} cannot be set for all brokers: set it for each of them",
                 definition.name);
  }
  return {};
}

}  // namespace

bool is_dynamic(const ConfigDefinition& definition) {
  return definition.mode != ConfigMode::read_only;
}

Status validate_dynamic_config(std::string_view name, std::string_view value, bool for_all_brokers) {
  const ConfigDefinition* definition = find_broker_config(name);
  Status status =
      definition != nullptr ? check_mode(*definition, for_all_brokers) : unknown_config(ConfigScope::broker, name);
  if (status.ok()) status = validate_value(*definition, value);
  if (status.ok()) status = check_not_refused(*definition, value);
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
