#include "cluster_control/escaped_name.h"

#include <charconv>

#include <fmt/format.h>

namespace naru {
namespace {

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
}

}  // namespace

std::string escape_name(std::string_view name) {
  std::string escaped;
  for (const char c : name) {
    if (is_plain(c)) {
      escaped += c;
    } else {
      escaped += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return escaped;
}

std::optional<std::string> unescape_name(std::string_view escaped) {
  std::string name;
  for (size_t at = 0; at < escaped.size(); ++at) {
    if (escaped[at] != '%') {
      name += escaped[at];
      continue;
    }
    unsigned value = 0;
    const std::string_view digits = escaped.substr(at + 1, 2);
    const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
    if (problem != std::errc() || end != digits.data() + 2) return std::nullopt;
    name += static_cast<char>(value);
    at += 2;
  }
  return escape_name(name) == escaped ? std::optional(name) : std::nullopt;
}

}  // namespace naru
