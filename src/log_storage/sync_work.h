// What has to be synced to make a log durable up to an offset: captured on the log's strand, performed on a worker.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "foundation/ids.h"
#include "foundation/status.h"
#include "log_storage/producer_snapshot_files.h"
#include "platform/file_system.h"

namespace naru {

// After a failed sync nobody knows what is on the disk, whatever the reason was: it is no shortage that passes.
Status final_if_sync_failed(Status synced);

// Besides the active segment. Whatever a failed attempt did not sync goes back to the log.
struct UnsyncedParts {
  std::vector<std::shared_ptr<File>> files;  // sealed segments with their indexes
  bool checkpoint = false;                   // after a roll
  bool names = false;                        // the folder has new names
  bool epochs = false;                       // leader-epoch-checkpoint is behind

  void take_back(UnsyncedParts older);
};

// Made by PartitionLog::begin_sync(), handed back to finish_sync().
class SyncWork {
 public:
  // Everything below is durable once perform() has returned ok.
  Offset end_offset() const { return end_offset_; }

  // Blocks; on any thread. disk_full and too_many_open_files mean that nothing was lost and it may be tried again; a
  // sync that failed, for whatever reason, is io_error and final.
  Status perform();

 private:
  friend class PartitionLog;

  FileSystem* file_system_ = nullptr;
  std::string folder_;
  std::shared_ptr<File> active_;  // nullptr when it holds nothing new
  Offset active_base_offset_;
  uint64_t active_bytes_ = 0;
  UnsyncedParts parts_;
  std::shared_ptr<File> checkpoint_;  // if it is one of the parts
  uint64_t checkpoint_sequence_ = 0;
  Status failed_before_;  // while the work was put together
  std::string epochs_text_;
  std::optional<ProducerSnapshotWork> snapshot_;
  Offset end_offset_;
  uint64_t truncations_ = 0;
};

}  // namespace naru
