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

// Applies every record that is committed when it begins, on workers. cancelled: somebody cancelled the token;
// corrupt_data, unsupported_format: the log cannot be understood. Everything else may be better next time.
Task<Status> load_shard(std::shared_ptr<Partition> partition, StateShard& shard, Scheduler& scheduler,
                        CancelToken stopped);

}  // namespace naru
