// A group that goes from one protocol to the other while it has members.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "consumer_groups/classic/classic_group.h"
#include "consumer_groups/consumer_protocol/consumer_group.h"
#include "consumer_groups/consumer_protocol/consumer_group_settings.h"
#include "consumer_groups/consumer_protocol/consumer_group_topics.h"
#include "foundation/status.h"
#include "foundation/time.h"

namespace naru {

// What a group of the consumer protocol takes over from a classic one.
struct AdoptedGroup {
  struct Member {
    std::string member_id;
    ConsumerSubscription subscription;
    PartitionSet assigned;
  };
  int32_t generation = 0;  // which becomes everybody's epoch
  std::vector<Member> members;
};

bool allows_upgrade(GroupMigration policy);
bool allows_downgrade(GroupMigration policy);

// GROUP_ID_NOT_FOUND, as Kafka says it, for a group whose members are no consumers that we understand. Members that
// have not been told of any generation are left out: they have nothing, and will join again.
Result<AdoptedGroup> adopted_classic_group(const ClassicGroup& group, const SubscribableTopics& topics);

// All members speak the classic protocol. It is stable, and has to be rebalanced. Its generation is the epoch of the
// target, and not the group's, which the member that has just gone has raised: whoever had reached the target can still
// commit what it has read.
ClassicGroup classic_group_of(const std::string& group_id, const ConsumerGroup& group, const SubscribableTopics& topics,
                              WallTimeMs now);

}  // namespace naru
