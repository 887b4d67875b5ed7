// Each topic's partitions are cut into as many ranges as it has subscribers.
#pragma once

#include "consumer_groups/consumer_protocol/assignors/assignor.h"

namespace naru {

// Topics with equally many partitions and the same subscribers are cut alike: partition n of one goes where partition n
// of the other goes. Static members come first, by instance id, so that a restart under another member id changes
// nothing; then the others by member id.
TargetAssignment assign_ranges(const AssignorInput& input);

}  // namespace naru
