// Compacting a partition's log: the turns of its strand and of a worker, in the order of log_compaction.h.
#pragma once

#include <cstdint>
#include <memory>

#include "async/cancellation.h"
#include "async/task.h"
#include "foundation/status.h"
#include "log_storage/log_compaction.h"
#include "platform/clock.h"
#include "platform/random.h"
#include "platform/scheduler.h"
#include "replication/partition.h"

namespace naru {

struct CompactionServices {
  Clock& clock;
  Scheduler& scheduler;
  SipKey hash_key;
  uint64_t map_bytes = 0;  // log.cleaner.dedupe.buffer.size
  CancelToken stopped;
  CompactionThrottle* throttle = nullptr;  // none: as fast as it goes
};

// How a partition stands; any thread. Nothing is wanted of a topic that is not compacted.
Task<Result<CompactionPlan>> look_for_compaction(std::shared_ptr<Partition> partition, Clock& clock);

// Compacts once, if it is wanted and no other maintenance of the partition runs. cancelled when the partition is closed
// meanwhile; what was done until then counts.
Task<Result<CompactionStatistics>> compact_partition(std::shared_ptr<Partition> partition, CompactionServices services);

}  // namespace naru
