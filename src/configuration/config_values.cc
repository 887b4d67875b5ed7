#include "configuration/config_values.h"

#include <unordered_map>

#include "foundation/assert.h"

namespace naru {
namespace {

using Places = std::unordered_map<std::string_view, size_t>;

Places places_in(std::span<const ConfigDefinition> definitions) {
  Places places;
  for (size_t i = 0; i < definitions.size(); ++i) places.emplace(definitions[i].name, i);
  return places;
}

// Values are looked up by name for every topic that is resolved, and brokers have hundreds of keys.
const Places& places_of(std::span<const ConfigDefinition> definitions) {
  static const Places of_brokers = places_in(broker_config_definitions());
  static const Places of_topics = places_in(topic_config_definitions());
  static const Places of_groups = places_in(group_config_definitions());
  static const Places of_client_metrics = places_in(client_metrics_config_definitions());
  if (definitions.data() == broker_config_definitions().data()) return of_brokers;
  if (definitions.data() == topic_config_definitions().data()) return of_topics;
  return definitions.data() == group_config_definitions().data() ? of_groups : of_client_metrics;
}

size_t index_of(std::span<const ConfigDefinition> definitions, std::string_view name) {
  const Places& places = places_of(definitions);
  const auto found = places.find(name);
  NARU_ASSERT(found != places.end(), "no configuration key {}", name);
  return found->second;
}

}  // namespace

ConfigValues::ConfigValues(std::span<const ConfigDefinition> definitions)
    : definitions_(definitions), values_(definitions.size()) {
  for (size_t i = 0; i < definitions.size(); ++i) {
    if (definitions[i].default_text) values_[i].text = std::string(*definitions[i].default_text);
    values_[i].origin = "default";
  }
}

void ConfigValues::set(std::string_view name, std::string text, ConfigSource source, std::string origin) {
  values_[index_of(definitions_, name)] = {std::move(text), source, std::move(origin)};
}

const ConfigValue& ConfigValues::at(std::string_view name) const {
  return values_[index_of(definitions_, name)];
}

const std::string& ConfigValues::string(std::string_view name) const {
  const ConfigValue& value = at(name);
  NARU_ASSERT(value.text, "{} has no value", name);
  return *value.text;
}

bool ConfigValues::boolean(std::string_view name) const {
  const auto parsed = parse_config_boolean(string(name));
  NARU_ASSERT(parsed, "{} was not validated", name);
  return *parsed;
}

int64_t ConfigValues::integer(std::string_view name) const {
  const auto parsed = parse_config_integer(string(name));
  NARU_ASSERT(parsed, "{} was not validated", name);
  return *parsed;
}

double ConfigValues::floating(std::string_view name) const {
  const auto parsed = parse_config_floating(string(name));
  NARU_ASSERT(parsed, "{} was not validated", name);
  return *parsed;
}

std::optional<int32_t> ConfigValues::optional_int32(std::string_view name) const {
  return at(name).text ? std::optional(int32(name)) : std::nullopt;
}

}  // namespace naru
