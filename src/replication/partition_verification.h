// Reading a partition's log again, to find what has been damaged on the disk.
#pragma once

#include <memory>
#include <optional>

#include "async/cancellation.h"
#include "async/task.h"
#include "foundation/status.h"
#include "log_storage/compaction_throttle.h"
#include "log_storage/log_verification.h"
#include "observability/metrics_registry.h"
#include "platform/scheduler.h"
#include "replication/partition.h"

namespace naru {

struct VerificationServices {
  Scheduler& scheduler;
  CancelToken stopped;
  CompactionThrottle& throttle;
  Counter& verified_bytes;
};

// Goes over all segments, up to the first damaged batch. That one was read twice, and readers get
// corrupt_message for it from then on. Nothing: all is well, as far as nothing was truncated or compacted meanwhile.
// cancelled when the partition is closed or verification is stopped; other errors mean that something could not be
// read.
Task<Result<std::optional<LogDamage>>> verify_partition(std::shared_ptr<Partition> partition,
                                                        VerificationServices services);

}  // namespace naru
