#include "configuration/config_values.h"

#include <algorithm>

#include "foundation/assert.h"

namespace naru {
namespace {

size_t index_of(std::span<const ConfigDefinition> definitions, std::string_view name) {
  const auto found = std::ranges::find(definitions, name, &ConfigDefinition::name);
  NARU_ASSERT(found != definitions.end(), "no configuration key {}", name);
  return static_cast<size_t>(found - definitions.begin());
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
