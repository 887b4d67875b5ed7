// The file "compaction-checkpoint" of a compacted log: how far it was compacted, and when its delete markers can go.
//
// Lines: format version 0; first dirty offset; next delete horizon, or -1; how often the log had been truncated. An
// older value only means that something is done again, so one that is missing, damaged, or from before a truncation is
// none.
#pragma once

#include <string>

#include "foundation/status.h"
#include "log_storage/compaction_plan.h"
#include "platform/file_system.h"

namespace naru {

// unsupported_format when a newer Naru wrote it.
Result<CompactionProgress> read_compaction_progress(FileSystem& file_system, const std::string& folder,
                                                    uint64_t truncations);
// Blocks on syncs.
Status write_compaction_progress(FileSystem& file_system, const std::string& folder, const CompactionProgress& progress,
                                 uint64_t truncations);

}  // namespace naru
