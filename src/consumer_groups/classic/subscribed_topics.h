// Which topics the members of a classic group of consumers read, as far as their metadata can be understood.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "consumer_groups/classic/classic_group.h"

namespace naru {

// Metadata belongs to the clients. Nothing: somebody cannot be understood, and may read any topic.
std::optional<std::set<std::string>> subscribed_topics(const ClassicGroup& group);

}  // namespace naru
