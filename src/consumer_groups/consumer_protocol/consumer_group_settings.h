// What can be set about groups of the consumer protocol. Kafka's keys and defaults.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/time.h"

namespace naru {

struct ConsumerGroupTimeouts {
  Milliseconds session_timeout{45'000};    // group.consumer.session.timeout.ms, consumer.session.timeout.ms
  Milliseconds heartbeat_interval{5'000};  // group.consumer.heartbeat.interval.ms, consumer.heartbeat.interval.ms
};

// group.consumer.migration.policy: which groups change their protocol while they have members.
enum class GroupMigration : uint8_t { disabled, upgrade, downgrade, bidirectional };

struct ConsumerGroupSettings {
  ConsumerGroupTimeouts timeouts;
  std::map<std::string, ConsumerGroupTimeouts, std::less<>> timeouts_of_groups;  // those that have their own
  size_t size_max = std::numeric_limits<int32_t>::max();                         // group.consumer.max.size
  std::vector<std::string> assignors{"uniform", "range"};  // group.consumer.assignors; the first is the default
  GroupMigration migration = GroupMigration::bidirectional;
  // One member's subscription is one record: it may not say more than this.
  size_t subscription_bytes_max = size_t{1} << 20;
  // What all members of a group say together is in memory, looked through whenever somebody comes or goes, and one
  // batch when the group changes its protocol.
  size_t group_subscription_bytes_max = size_t{16} << 20;
  // Each has a list of all topics that it means.
  size_t group_expressions_max = 100;

  const ConsumerGroupTimeouts& timeouts_of(std::string_view group_id) const {
    const auto own = timeouts_of_groups.find(group_id);
    return own != timeouts_of_groups.end() ? own->second : timeouts;
  }
};

}  // namespace naru
