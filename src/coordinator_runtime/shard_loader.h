// Fills a shard with what its partition's log says.
#pragma once

#include <memory>

#include "async/cancellation.h"
#include "async/task.h"
#include "coordinator_runtime/state_shard.h"
#include "foundation/status.h"
#include "platform/scheduler.h"
#include "replication/partition.h"

namespace naru {

// Applies every record that is in the log when it begins, on workers. Before, it waits until all of it is committed:
// after an election that takes a moment. not_leader_or_follower, fenced_leader_epoch: this broker does not
// lead in this epoch any more. cancelled: somebody cancelled the token. corrupt_data, unsupported_format: the log
// cannot be understood. Everything else may be better next time.
Task<Status> load_shard(std::shared_ptr<Partition> partition, LeaderEpoch leader_epoch, StateShard& shard,
                        Scheduler& scheduler, CancelToken stopped);

// One batch of the log, as it was written: of records, of records inside of a transaction, or a marker.
Status apply_batch(BytesView batch, StateShard& shard);

}  // namespace naru
