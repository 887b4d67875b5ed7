// Opens a partition's folder: finds out what is there, decides by recovery_table.h, and makes it so.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "foundation/status.h"
#include "log_storage/checkpoint_file.h"
#include "log_storage/epoch_history.h"
#include "log_storage/log_producers.h"
#include "log_storage/open_files.h"
#include "log_storage/partition_log.h"
#include "log_storage/recovery_report.h"
#include "log_storage/segment.h"

namespace naru {

// A log that can be appended to. Everything in it is durable, and the checkpoint says so.
struct RecoveredLog {
  std::vector<std::unique_ptr<Segment>> segments;  // at least one; the last one is active
  EpochHistory epochs;
  bool epochs_unsynced = false;  // the file does not say so yet: the next sync writes it
  std::unique_ptr<CheckpointFile> checkpoint;
  bool checkpoint_synced = false;
  std::optional<LogProducers> producers;  // always there
  RecoveryReport report;
};

// Blocks. A crash at any moment is no worse than one before the call: the next recovery decides the same.
Result<RecoveredLog> recover_log(FileSystem& file_system, OpenFiles& open_files, const std::string& folder,
                                 const LogConfig& config, const OpenOptions& options);

}  // namespace naru
