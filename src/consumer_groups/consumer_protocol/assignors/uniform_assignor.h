// Everybody gets equally much, and keeps what it has as far as that allows.
#pragma once

#include "consumer_groups/consumer_protocol/assignors/assignor.h"

namespace naru {

// If all members are subscribed to the same topics, no two differ by more than one partition, and no more partitions
// change hands than that takes. With different subscriptions there is no partition left that could go to a subscriber
// who has at least two partitions less than its owner, unless looking for such takes too long.
TargetAssignment assign_uniformly(const AssignorInput& input);

}  // namespace naru
