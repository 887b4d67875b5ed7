// Names of any bytes as components of coordination-store keys: what is not a letter, a digit, '.', '_' or '-' becomes
// %XX.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace naru {

std::string escape_name(std::string_view name);
// Nothing unless escape_name() could have made it.
std::optional<std::string> unescape_name(std::string_view escaped);

}  // namespace naru
