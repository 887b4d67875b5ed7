// Every configuration key has one definition: name, type, default, allowed values, help. Parsing, validation, the
// DescribeConfigs answer and docs/configuration.md are all made from these tables.
//
// Immutable data, usable from every thread.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/status.h"

namespace naru {

// The numbers are those of Kafka's DescribeConfigs response.
enum class ConfigType : int8_t {
  boolean = 1,
  string = 2,
  int32 = 3,
  int16 = 4,
  int64 = 5,
  floating = 6,
  list = 7,
  class_name = 8,
  password = 9,  // never shown
};

enum class ConfigScope : uint8_t { broker, topic, group, client_metrics };

enum class ConfigEffect : uint8_t {
  at_once,      // a change is obeyed while the broker runs
  at_restart,   // read when the broker starts
  stored_only,  // validated, stored and shown, because clients and tools set it; changes nothing, and `help` says why
  refused,      // only its default is accepted, which is what holds here; `help` says why
};

// Where a broker key may be changed while the broker runs. Kafka's keys have Kafka's modes.
enum class ConfigMode : uint8_t {
  read_only,
  per_broker,    // for one broker at a time
  cluster_wide,  // for one broker, or for all
};

// A broker key that gives a topic or group key its default: retention.ms follows log.retention.hours, times 3,600,000.
struct ConfigSynonym {
  std::string_view broker_key;
  int64_t multiplier = 1;
  std::optional<std::string_view> default_text;  // where there are several; a single one has the topic key's default
};

// At most four, the most specific first: the first one that was set wins.
struct ConfigSynonyms {
  ConfigSynonym rows[4];
  size_t count = 0;
  std::span<const ConfigSynonym> view() const { return {rows, count}; }
};

struct ConfigDefinition {
  std::string_view name;
  ConfigScope scope = ConfigScope::broker;
  ConfigType type = ConfigType::string;
  std::optional<std::string_view> default_text;  // none: not set, and `help` says what happens then
  ConfigEffect effect = ConfigEffect::at_restart;
  std::string_view help;
  int64_t minimum = std::numeric_limits<int64_t>::min();
  int64_t maximum = std::numeric_limits<int64_t>::max();
  std::span<const std::string_view> allowed;    // texts, or elements of a list; empty: any
  Status (*check)(std::string_view) = nullptr;  // what type and range cannot say
  std::string_view alias;   // another name for it in files, flags and the environment; described like a key of its own
  ConfigSynonyms synonyms;  // topic and group keys only
  ConfigMode mode = ConfigMode::read_only;  // broker keys only
  bool is_kafkas = true;                    // false: Kafka 4.3 has no such key
  bool shown_if_set = false;  // left out of descriptions as long as it is not set, like Kafka's internal keys
};

std::span<const ConfigDefinition> broker_config_definitions();
std::span<const ConfigDefinition> topic_config_definitions();
std::span<const ConfigDefinition> group_config_definitions();
std::span<const ConfigDefinition> client_metrics_config_definitions();

// By name or alias; nullptr when there is none.
const ConfigDefinition* find_broker_config(std::string_view name);
const ConfigDefinition* find_topic_config(std::string_view name);
const ConfigDefinition* find_group_config(std::string_view name);
const ConfigDefinition* find_client_metrics_config(std::string_view name);

// ErrorCode::invalid_config with a sentence that names the key, what it takes, and the value.
Status validate_value(const ConfigDefinition& definition, std::string_view value);
// Keys that change nothing when they are set: because nothing here has to be set, or because a change at run time is
// not obeyed. The second says why, in a sentence.
bool is_without_effect(const ConfigDefinition& definition);
std::string_view why_without_effect(const ConfigDefinition& definition);

// invalid_config with the reason when the key is refused and this is not its default.
Status check_not_refused(const ConfigDefinition& definition, std::string_view value);
// Both by name, for what a client sets; an unknown name is invalid_config too and says which key may have been meant.
Status validate_topic_config(std::string_view name, std::string_view value);
Status validate_group_config(std::string_view name, std::string_view value);
Status validate_client_metrics_config(std::string_view name, std::string_view value);
// "unknown topic configuration key 'x'; did you mean y?"
Status unknown_config(ConfigScope scope, std::string_view name);

// "an integer from 1 to 9", "one of delete, compact": for messages and for the reference.
std::string describe_values(const ConfigDefinition& definition);

// The defined name that `name` was probably meant to be, or empty when nothing is near.
std::string_view nearest_config(std::span<const ConfigDefinition> definitions, std::string_view name);

// Values longer than this are refused.
inline constexpr size_t kMaxConfigValueBytes = 32'768;

std::optional<bool> parse_config_boolean(std::string_view text);
std::optional<int64_t> parse_config_integer(std::string_view text);
std::optional<double> parse_config_floating(std::string_view text);
// Elements between commas, without the spaces around them; an empty text is an empty list.
std::vector<std::string_view> parse_config_list(std::string_view text);

}  // namespace naru
