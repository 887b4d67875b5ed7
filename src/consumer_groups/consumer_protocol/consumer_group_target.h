// Who should have what, by the group's subscriptions, today's topics and what was wanted until now.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "consumer_groups/consumer_protocol/consumer_group.h"
#include "consumer_groups/consumer_protocol/consumer_group_partitions.h"
#include "consumer_groups/consumer_protocol/consumer_group_topics.h"

namespace naru {

bool is_known_assignor(std::string_view name);

// The one that most members ask for; equally many: the earlier of `assignors`; nobody asks: the first of them.
const std::string& preferred_assignor(const ConsumerGroup& group, const std::vector<std::string>& assignors);

// For each member, by id.
using GroupTarget = std::vector<std::pair<std::string, PartitionSet>>;
GroupTarget compute_target(const ConsumerGroup& group, const SubscribableTopics& topics, std::string_view assignor);

// Of everything about the subscribed topics that an assignment depends on. Stored: it must never change its meaning.
int64_t subscription_hash(const ConsumerGroup& group, const SubscribableTopics& topics);

}  // namespace naru
