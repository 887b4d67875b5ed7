#include "configuration/value_checks.h"

#include <algorithm>
#include <set>
#include <string>

#include "configuration/config_definition.h"
#include "platform/transport.h"

namespace naru::detail {

// A check says what is wrong; validate_value() puts the key and the value around it.
Status check_not_zero(std::string_view value) {
  if (parse_config_integer(value) == 0) return error(ErrorCode::invalid_config, "0 is not a level");
  return {};
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

}  // namespace naru::detail
