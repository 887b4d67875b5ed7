#include "configuration/config_definition.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <utility>

#include <fmt/format.h>

namespace naru {
namespace {

constexpr size_t kShownValueBytes = 100;

std::string_view trim(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

bool equal_ignoring_case(std::string_view text, std::string_view lower) {
  return std::ranges::equal(text, lower,
                            [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a + ('a' - 'A') : a) == b; });
}

template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  text = trim(text);
  Number number{};
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

template <class Number>
std::pair<int64_t, int64_t> limits_of() {
  return {std::numeric_limits<Number>::min(), std::numeric_limits<Number>::max()};
}

std::pair<int64_t, int64_t> type_limits(ConfigType type) {
  if (type == ConfigType::int16) return limits_of<int16_t>();
  return type == ConfigType::int32 ? limits_of<int32_t>() : limits_of<int64_t>();
}

int64_t lowest(const ConfigDefinition& definition) {
  return std::max(definition.minimum, type_limits(definition.type).first);
}
int64_t highest(const ConfigDefinition& definition) {
  return std::min(definition.maximum, type_limits(definition.type).second);
}

// Of numbers that are no integers.
bool is_bounded(const ConfigDefinition& definition) {
  return definition.maximum != std::numeric_limits<int64_t>::max();
}

bool is_allowed(const ConfigDefinition& definition, std::string_view element) {
  return definition.allowed.empty() || std::ranges::find(definition.allowed, element) != definition.allowed.end();
}

bool has_type_and_range(const ConfigDefinition& definition, std::string_view value) {
  switch (definition.type) {
    case ConfigType::boolean: {
      const auto parsed = parse_config_boolean(value);
      return parsed && is_allowed(definition, *parsed ? "true" : "false");
    }
    case ConfigType::string:
    case ConfigType::class_name:
    case ConfigType::password:
      return is_allowed(definition, value);
    case ConfigType::int16:
    case ConfigType::int32:
    case ConfigType::int64: {
      const auto parsed = parse_config_integer(value);
      return parsed && *parsed >= lowest(definition) && *parsed <= highest(definition);
    }
    case ConfigType::floating: {
      const auto parsed = parse_config_floating(value);
      return parsed && (!is_bounded(definition) || (*parsed >= static_cast<double>(definition.minimum) &&
                                                    *parsed <= static_cast<double>(definition.maximum)));
    }
    case ConfigType::list: {
      const auto elements = parse_config_list(value);
      if (elements.empty()) return definition.allowed.empty();
      return std::ranges::all_of(elements, [&](std::string_view element) { return is_allowed(definition, element); });
    }
  }
  return false;
}

bool has_control_characters(std::string_view value) {
  return std::ranges::any_of(value, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

std::span<const ConfigDefinition> definitions_of(ConfigScope scope) {
  switch (scope) {
    case ConfigScope::broker:
      return broker_config_definitions();
    case ConfigScope::topic:
      return topic_config_definitions();
    case ConfigScope::group:
      return group_config_definitions();
    case ConfigScope::client_metrics:
      return client_metrics_config_definitions();
  }
  return {};
}

std::string_view word_for(ConfigScope scope) {
  switch (scope) {
    case ConfigScope::broker:
      return "broker";
    case ConfigScope::topic:
      return "topic";
    case ConfigScope::group:
      return "group";
    case ConfigScope::client_metrics:
      return "client metrics";
  }
  return {};
}

// Number of single-character edits between two words. Both are short: see nearest_config().
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

}  // namespace

std::optional<bool> parse_config_boolean(std::string_view text) {
  text = trim(text);
  if (equal_ignoring_case(text, "true")) return true;
  if (equal_ignoring_case(text, "false")) return false;
  return std::nullopt;
}

std::optional<int64_t> parse_config_integer(std::string_view text) {
  return parse_number<int64_t>(text);
}

std::optional<double> parse_config_floating(std::string_view text) {
  const auto parsed = parse_number<double>(text);
  return parsed && std::isfinite(*parsed) ? parsed : std::nullopt;
}

std::vector<std::string_view> parse_config_list(std::string_view text) {
  std::vector<std::string_view> elements;
  if (trim(text).empty()) return elements;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    elements.push_back(trim(text.substr(begin, end - begin)));
    begin = end + 1;
  }
  return elements;
}

std::string describe_values(const ConfigDefinition& definition) {
  const std::string allowed = fmt::format("{}", fmt::join(definition.allowed, ", "));
  switch (definition.type) {
    case ConfigType::boolean:
      return allowed.empty() ? "true or false" : allowed;
    case ConfigType::string:
    case ConfigType::class_name:
    case ConfigType::password:
      return allowed.empty() ? "text" : "one of " + allowed;
    case ConfigType::list:
      return allowed.empty() ? "a list separated by commas" : "a list of " + allowed;
    case ConfigType::int16:
    case ConfigType::int32:
    case ConfigType::int64:
      return fmt::format("an integer from {} to {}", lowest(definition), highest(definition));
    case ConfigType::floating:
      if (!is_bounded(definition)) return "a number";
      return fmt::format("a number from {} to {}", definition.minimum, definition.maximum);
  }
  return {};
}

Status validate_value(const ConfigDefinition& definition, std::string_view value) {
  if (value.size() > kMaxConfigValueBytes) {
    return error(ErrorCode::invalid_config, "the value of {} has {} bytes, more than {}", definition.name, value.size(),
                 kMaxConfigValueBytes);
  }
  if (has_control_characters(value)) {
    return error(ErrorCode::invalid_config, "the value of {} contains a control character", definition.name);
  }
  if (!has_type_and_range(definition, value)) {
    return error(ErrorCode::invalid_config, "{} must be {}, not '{}'", definition.name, describe_values(definition),
                 value.substr(0, kShownValueBytes));
  }
  if (definition.check != nullptr) {
    if (const Status status = definition.check(value); !status.ok()) {
      return error(ErrorCode::invalid_config, "{} cannot be '{}': {}", definition.name,
                   value.substr(0, kShownValueBytes), status.message());
    }
  }
  return {};
}

bool is_without_effect(const ConfigDefinition& definition) {
  return definition.effect == ConfigEffect::stored_only || definition.effect == ConfigEffect::refused ||
         (definition.effect == ConfigEffect::at_restart && definition.mode != ConfigMode::read_only);
}

std::string_view why_without_effect(const ConfigDefinition& definition) {
  if (definition.effect != ConfigEffect::at_restart) return definition.help;
  return "It is read from the configuration file when the broker starts.";
}

Status check_not_refused(const ConfigDefinition& definition, std::string_view value) {
  if (definition.effect != ConfigEffect::refused || definition.default_text == value) return {};
  const bool same_truth = definition.type == ConfigType::boolean && definition.default_text &&
                          parse_config_boolean(value) == parse_config_boolean(*definition.default_text);
  if (same_truth) return {};
  return error(ErrorCode::invalid_config, "{} cannot be set{}: {}", definition.name,
               definition.default_text ? fmt::format(" to anything but '{}'", *definition.default_text) : "",
               definition.help);
}

namespace {

Status validate_new(const ConfigDefinition* definition, ConfigScope scope, std::string_view name,
                    std::string_view value) {
  if (definition == nullptr) return unknown_config(scope, name);
  NARU_TRY(validate_value(*definition, value));
  return check_not_refused(*definition, value);
}

}  // namespace

Status validate_topic_config(std::string_view name, std::string_view value) {
  return validate_new(find_topic_config(name), ConfigScope::topic, name, value);
}

Status validate_group_config(std::string_view name, std::string_view value) {
  return validate_new(find_group_config(name), ConfigScope::group, name, value);
}

Status validate_client_metrics_config(std::string_view name, std::string_view value) {
  return validate_new(find_client_metrics_config(name), ConfigScope::client_metrics, name, value);
}

Status unknown_config(ConfigScope scope, std::string_view name) {
  const auto definitions = definitions_of(scope);
  const std::string_view nearest = nearest_config(definitions, name);
  return error(ErrorCode::invalid_config, "unknown {} configuration key '{}'{}", word_for(scope),
               name.substr(0, kShownValueBytes), nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest));
}

std::string_view nearest_config(std::span<const ConfigDefinition> definitions, std::string_view name) {
  constexpr size_t kLongestKey = 100;
  if (name.empty() || name.size() > kLongestKey) return {};
  std::string_view best;
  size_t best_distance = 1 + std::min<size_t>(name.size() / 3, 8);
  const auto consider = [&](std::string_view candidate, std::string_view answer) {
    if (const size_t distance = edit_distance(name, candidate); distance < best_distance) {
      best = answer;
      best_distance = distance;
    }
  };
  for (const ConfigDefinition& definition : definitions) {
    consider(definition.name, definition.name);
    if (!definition.alias.empty()) consider(definition.alias, definition.alias);
  }
  return best;
}

}  // namespace naru
