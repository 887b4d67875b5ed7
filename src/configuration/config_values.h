// One value for every key of a definition table, each with the place it came from.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "configuration/config_definition.h"

namespace naru {

// The numbers are those of Kafka's DescribeConfigs response.
enum class ConfigSource : int8_t {
  topic = 1,                   // set for this topic
  dynamic_broker = 2,          // set for this broker while it runs
  dynamic_default_broker = 3,  // set for all brokers while they run
  static_broker = 4,           // file, environment or flag of this broker
  default_value = 5,
  broker_logger = 6,   // the level of a component of the log
  client_metrics = 7,  // set for this subscription
  group = 8,           // set for this group
};

struct ConfigValue {
  std::optional<std::string> text;  // none: not set, and there is no default
  ConfigSource source = ConfigSource::default_value;
  std::string origin;  // for people: "naru.properties:12", "environment variable NARU_NODE_ID", "flag --set"
};

// What is stored for a topic, and what a client sends: key -> text.
using ConfigOverrides = std::map<std::string, std::string, std::less<>>;

// Not thread-safe while it is being filled; the typed getters are for keys of the table, whose values were validated.
class ConfigValues {
 public:
  // Every key at its default. The definitions are static data.
  explicit ConfigValues(std::span<const ConfigDefinition> definitions);

  // `text` must be valid for the key (validate_value).
  void set(std::string_view name, std::string text, ConfigSource source, std::string origin);

  const ConfigValue& at(std::string_view name) const;
  bool is_set(std::string_view name) const { return at(name).source != ConfigSource::default_value; }
  // In the order of the table.
  std::span<const ConfigDefinition> definitions() const { return definitions_; }

  bool boolean(std::string_view name) const;
  int64_t integer(std::string_view name) const;
  int32_t int32(std::string_view name) const { return static_cast<int32_t>(integer(name)); }
  double floating(std::string_view name) const;
  const std::string& string(std::string_view name) const;
  std::optional<int32_t> optional_int32(std::string_view name) const;
  std::optional<std::string> optional_string(std::string_view name) const { return at(name).text; }

 private:
  std::span<const ConfigDefinition> definitions_;
  std::vector<ConfigValue> values_;  // beside definitions_
};

}  // namespace naru
