#include "cluster_control/topic_name.h"

#include <algorithm>

namespace naru {
namespace {

bool is_allowed(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
}

char folded(char c) {
  return c == '.' ? '_' : c;
}

}  // namespace

Status validate_topic_name(std::string_view name) {
  if (name.empty()) return Status(ErrorCode::invalid_topic_exception, "a topic name cannot be empty");
  if (name.size() > kMaxTopicNameBytes) {
    return error(ErrorCode::invalid_topic_exception, "a topic name of {} characters: at most {} are allowed",
                 name.size(), kMaxTopicNameBytes);
  }
  if (name == "." || name == "..")
    return error(ErrorCode::invalid_topic_exception, "'{}' cannot be a topic name", name);
  if (!std::ranges::all_of(name, is_allowed)) {
    return Status(ErrorCode::invalid_topic_exception,
                  "a topic name consists of letters, digits, '.', '_' and '-', and nothing else");
  }
  return {};
}

std::weak_ordering compare_alike(std::string_view a, std::string_view b) {
  return std::lexicographical_compare_three_way(
      a.begin(), a.end(), b.begin(), b.end(),
      [](char x, char y) -> std::weak_ordering { return folded(x) <=> folded(y); });
}

}  // namespace naru
