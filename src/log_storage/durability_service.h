// "Make this log durable up to here, and tell it": the interface between partitions and whatever syncs their files.
#pragma once

#include <memory>

#include "foundation/function.h"
#include "foundation/ids.h"
#include "foundation/status.h"
#include "log_storage/group_commit.h"

namespace naru {

class PartitionLog;

// A log as a durability service sees it; implemented by the partition that owns it. The functions are called inside the
// partition's strand, run_in_strand() from anywhere.
class DurableLog {
 public:
  virtual ~DurableLog() = default;

  virtual void run_in_strand(UniqueFunction<void()> event) = 0;
  virtual PartitionLog& log() = 0;
  // Everything below `end` is durable. Called for progress, not once per make_durable().
  virtual void on_durable(Offset end) = 0;
  // Nobody who waits now will be told on_durable(). log_offline: for good; disk_full, too_many_open_files: ask again.
  virtual void on_sync_failed(const Status& reason) = 0;

 private:
  friend class FileSyncService;
  GroupCommit group_commit_;
};

class DurabilityService {
 public:
  virtual ~DurabilityService() = default;

  // Called inside the log's strand, with up_to <= end_offset(). Answers through on_durable() or on_sync_failed(), at
  // once when there is nothing to wait for.
  virtual void make_durable(std::shared_ptr<DurableLog> log, Offset up_to) = 0;
};

}  // namespace naru
