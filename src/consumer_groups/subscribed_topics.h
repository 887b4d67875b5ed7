// Which topics the members of a classic group of consumers read, as far as their metadata can be understood.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "consumer_groups/classic_group.h"

namespace naru {

inline constexpr std::string_view kConsumerProtocolType = "consumer";

// Metadata belongs to the clients. Newer versions are read as far as they are known, and so are those that break off
// behind the topics (kafka-go's do). Nothing: somebody cannot be understood, and may read any topic.
std::optional<std::set<std::string>> subscribed_topics(const ClassicGroup& group);

}  // namespace naru
