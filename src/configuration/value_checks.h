// Checks of single values that a type and a range cannot express. Internal to this folder.
#pragma once

#include <string_view>

#include "foundation/status.h"

namespace naru::detail {

Status check_not_zero(std::string_view value);
Status check_rate(std::string_view value);
Status check_throttled_replicas(std::string_view value);
Status check_offset_reset(std::string_view value);
Status check_folders(std::string_view value);
Status check_admin_listener(std::string_view value);
Status check_connection_overrides(std::string_view value);
Status check_roles(std::string_view value);
Status check_client_patterns(std::string_view value);
Status check_coordination(std::string_view value);

}  // namespace naru::detail
