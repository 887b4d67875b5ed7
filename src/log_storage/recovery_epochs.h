// Recovery's work on leader-epoch-checkpoint: the batches are the truth, the file is a summary of them.
#pragma once

#include <string>
#include <vector>

#include "foundation/status.h"
#include "log_storage/epoch_history.h"
#include "log_storage/segment_examination.h"
#include "platform/file_system.h"

namespace naru {

struct SettledEpochs {
  EpochHistory history;
  bool rebuilt = false;         // from all batches, because the file was of no use, and should have been
  bool file_is_behind = false;  // and should be replaced
};

// Compares the file with the segments from `log_start` on.
Result<SettledEpochs> settle_epoch_history(FileSystem& file_system, const std::string& folder, Offset log_start,
                                           const std::vector<ExaminedSegment>& segments);

}  // namespace naru
