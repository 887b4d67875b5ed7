// Doing with a partition that follows what its leader's answer demands.
#pragma once

#include <memory>

#include "async/task.h"
#include "foundation/shared_bytes.h"
#include "platform/scheduler.h"
#include "replication/partition.h"

namespace naru {

// `records`: the bytes that came with the answer; they are checked first, and stored only if all of them are right.
// What blocks (cutting the log back, moving its start) is done on a worker, and the caller goes on there. Calls for one
// partition come one after the other. With FollowerDecision::Action::wait, `problem` says why.
Task<FollowerStep> follow_leader(std::shared_ptr<Partition> partition, Scheduler& scheduler, LeaderAnswer answer,
                                 SharedBytes records);

}  // namespace naru
