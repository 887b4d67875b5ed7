// What is done to a partition's log besides appending and reading: moving its start, and letting old segments go.
//
// The functions may be called on any thread. What decides happens inside the partition's strand, what blocks on workers
// outside of it, so neither a loop nor an append waits for it.
#pragma once

#include <cstdint>
#include <memory>

#include "async/task.h"
#include "foundation/ids.h"
#include "foundation/status.h"
#include "platform/scheduler.h"
#include "replication/partition.h"

namespace naru {

struct RetentionOutcome {
  size_t removed_segments = 0;
  uint64_t removed_bytes = 0;
};

// Everything below `up_to` is gone here when it returns, for good; -1: everything below the high watermark. The new
// start of the log. offset_out_of_range below -1 or above the high watermark; policy_violation where the topic is only
// compacted.
Task<Result<Offset>> delete_records(std::shared_ptr<Partition> partition, Scheduler& scheduler, Offset up_to);

// Waits until no in-sync replica holds anything below `start`; what clients are told from then on. request_timed_out
// at the deadline or when it is cancelled, not_leader_or_follower if another one leads: then the records may or may not
// be gone.
Task<Result<Offset>> await_deletion(std::shared_ptr<Partition> partition, Scheduler& scheduler, Offset start,
                                    MonotonicTime deadline, CancelToken cancelled);

// Moves the start of the log to `start`, at most its end: durable, and seen by readers, when it returns.
Task<Result<Offset>> move_start(std::shared_ptr<Partition> partition, Scheduler& scheduler, Offset start);

// Closes the active segment if it is too old, and lets go of the segments that the topic's retention or the start of
// the log make superfluous. Only the leader decides by the topic's retention; the start of the others follows its own.
// Does nothing while another maintenance of the partition runs.
Task<Result<RetentionOutcome>> apply_retention(std::shared_ptr<Partition> partition, Clock& clock,
                                               Scheduler& scheduler);

}  // namespace naru
