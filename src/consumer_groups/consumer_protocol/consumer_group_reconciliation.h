// One step of one member towards what it should have.
#pragma once

#include <cstdint>

#include "consumer_groups/consumer_protocol/consumer_group.h"
#include "consumer_groups/consumer_protocol/consumer_group_partitions.h"

namespace naru {

struct ReconciliationTarget {
  int32_t epoch = 0;
  const PartitionSet& partitions;
};

// `owned` is what the member says it has, nullptr if it said nothing: then it is taken to have what it was given.
//
// A partition changes hands in three steps, each of which is a record before anybody hears of it:
//   1. The owner is told an assignment without it and stays in its epoch, in which it can still commit ("unrevoked").
//   2. The owner says that it has given it back, and goes on to the target's epoch: the partition is free.
//   3. The next owner, which has waited in the target's epoch ("unreleased"), gets it with its next heartbeat.
ConsumerMemberAssignment reconcile(const ConsumerMemberAssignment& current, const ReconciliationTarget& target,
                                   const PartitionSet* owned, const ConsumerGroup& group);

// Some of what it waits for is free.
bool could_get_more(const ConsumerMemberAssignment& current, const PartitionSet& target, const ConsumerGroup& group);

}  // namespace naru
