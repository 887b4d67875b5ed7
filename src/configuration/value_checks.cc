#include "configuration/value_checks.h"

#include <algorithm>
#include <array>
#include <set>
#include <string>

#include <fmt/format.h>

#include "configuration/config_definition.h"
#include "configuration/coordination_address.h"
#include "foundation/regular_expression.h"
#include "platform/transport.h"

namespace naru::detail {
namespace {

constexpr size_t kMostDurationDigits = 9;

// Of a subscription to client metrics. Each is compiled: this bounds the time that a request can take.
constexpr size_t kMostClientPatterns = 16;

// Takes "12H" off `text` if it starts with a number and one of `units`, in their order, each at most once.
bool skip_parts(std::string_view& text, std::string_view units) {
  bool any = false;
  while (!text.empty() && text.front() != 'T') {
    const size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
    if (digits == 0 || digits > kMostDurationDigits || digits == text.size()) return false;
    const size_t unit = units.find(text[digits]);
    if (unit == std::string_view::npos) return false;
    units.remove_prefix(unit + 1);
    text.remove_prefix(digits + 1);
    any = true;
  }
  return any;
}

// P[nD][T[nH][nM][nS]] with at least one part, and one behind a T.
bool is_iso_duration(std::string_view text) {
  if (!text.starts_with('P')) return false;
  text.remove_prefix(1);
  if (!text.starts_with('T') && !skip_parts(text, "D")) return false;
  if (text.empty()) return true;
  text.remove_prefix(1);
  return skip_parts(text, "HMS") && text.empty();
}

// Nothing is matched against the expression; it is compiled so that a mistake in it is reported when it is set.
Status check_client_pattern(std::string_view pattern) {
  constexpr std::array<std::string_view, 6> kWords{"client_instance_id",    "client_id",
                                                   "client_software_name",  "client_software_version",
                                                   "client_source_address", "client_source_port"};
  const size_t equals = std::min(pattern.find('='), pattern.size());
  const std::string_view expression = pattern.substr(std::min(equals + 1, pattern.size()));
  const bool is_pair = !expression.empty() && expression.find('=') == std::string_view::npos;
  if (!is_pair || std::ranges::find(kWords, pattern.substr(0, equals)) == kWords.end()) {
    return error(ErrorCode::invalid_config, "'{}' is not WORD=EXPRESSION with one of the words {}", pattern,
                 fmt::join(kWords, ", "));
  }
  const auto compiled = RegularExpression::compile(expression);
  return compiled ? Status() : compiled.error();
}

}  // namespace

// A check says what is wrong; validate_value() puts the key and the value around it.
Status check_not_zero(std::string_view value) {
  if (parse_config_integer(value) == 0) return error(ErrorCode::invalid_config, "0 is not a level");
  return {};
}

Status check_rate(std::string_view value) {
  if (parse_config_floating(value).value_or(0) > 0) return {};
  return error(ErrorCode::invalid_config, "a rate is more than 0");
}

Status check_throttled_replicas(std::string_view value) {
  if (value == "*") return {};
  for (const std::string_view pair : parse_config_list(value)) {
    const size_t colon = pair.find(':');
    const bool numbers = colon != std::string_view::npos &&
                         parse_config_integer(pair.substr(0, colon)).value_or(-1) >= 0 &&
                         parse_config_integer(pair.substr(colon + 1)).value_or(-1) >= 0;
    if (!numbers) return error(ErrorCode::invalid_config, "'{}' is not PARTITION:BROKER", pair);
  }
  return {};
}

Status check_offset_reset(std::string_view value) {
  constexpr std::string_view kByDuration = "by_duration:";
  if (value == "latest" || value == "earliest") return {};
  if (value.starts_with(kByDuration) && is_iso_duration(value.substr(kByDuration.size()))) return {};
  return error(ErrorCode::invalid_config, "it is latest, earliest, or by_duration: and a period such as P3D or PT12H");
}

Status check_folders(std::string_view value) {
  const auto folders = parse_config_list(value);
  const std::set<std::string_view> different(folders.begin(), folders.end());
  if (folders.empty() || different.contains(""))
    return error(ErrorCode::invalid_config, "at least one data folder is needed");
  if (different.size() != folders.size()) return error(ErrorCode::invalid_config, "a data folder is named twice");
  return {};
}

Status check_admin_listener(std::string_view value) {
  if (value.empty()) return {};
  const auto endpoint = parse_endpoint(value);
  return endpoint ? Status() : endpoint.error();
}

Status check_connection_overrides(std::string_view value) {
  std::set<std::string> addresses;
  for (const std::string_view pair : parse_config_list(value)) {
    const size_t colon = pair.rfind(':');
    const std::string_view address = pair.substr(0, std::min(colon, pair.size()));
    const bool bracketed = address.starts_with('[') && address.ends_with(']');
    const bool is_address = !address.empty() && (bracketed || address.find(':') == std::string_view::npos);
    if (!is_address || colon == std::string_view::npos || parse_config_integer(pair.substr(colon + 1)).value_or(-1) < 0)
      return error(ErrorCode::invalid_config, "'{}' is not ADDRESS:NUMBER", pair);
    if (!addresses.emplace(address).second) return error(ErrorCode::invalid_config, "'{}' is named twice", address);
  }
  return {};
}

Status check_roles(std::string_view value) {
  for (const std::string_view role : parse_config_list(value)) {
    if (role == "broker") return {};
  }
  return error(ErrorCode::invalid_config, "there are no controllers that are not brokers");
}

Status check_client_patterns(std::string_view value) {
  const auto patterns = parse_config_list(value);
  if (patterns.size() > kMostClientPatterns) {
    return error(ErrorCode::invalid_config, "there are {} patterns, more than {}", patterns.size(),
                 kMostClientPatterns);
  }
  for (const std::string_view pattern : patterns) NARU_TRY(check_client_pattern(pattern));
  return {};
}

Status check_coordination(std::string_view value) {
  const auto address = parse_coordination_address(value);
  return address ? Status() : address.error();
}

}  // namespace naru::detail
