// Which codec stored batches have: clients that are older than zstd must not get any.
#pragma once

#include "async/task.h"
#include "foundation/status.h"
#include "log_storage/partition_log.h"
#include "platform/scheduler.h"

namespace naru {

// Whether a batch of the slice is compressed with zstd, which only its header tells. Reads on a worker what is not in
// memory, or has more headers than a loop should look at; what is left is done at once.
Task<Result<bool>> contains_zstd(Scheduler& scheduler, const LogSlice& slice);

}  // namespace naru
