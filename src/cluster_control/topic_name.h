// Which topic names are allowed, and which of them are too much alike.
#pragma once

#include <compare>
#include <string_view>

#include "foundation/status.h"

namespace naru {

inline constexpr size_t kMaxTopicNameBytes = 249;

// invalid_topic_exception unless 1 to 249 characters of [a-zA-Z0-9._-], and neither "." nor "..".
Status validate_topic_name(std::string_view name);

// Compares names with every '.' read as '_': metric names make no difference between the two, so names that are
// equivalent in this sense cannot both exist.
std::weak_ordering compare_alike(std::string_view a, std::string_view b);

}  // namespace naru
