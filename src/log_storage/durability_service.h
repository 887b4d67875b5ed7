// "Make this log durable up to here, and tell it": the interface between partitions and whatever syncs their files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>

#include "foundation/function.h"
#include "foundation/ids.h"
#include "foundation/shared_bytes.h"
#include "foundation/status.h"
#include "log_storage/group_commit.h"
#include "log_storage/log_id.h"
#include "record_format/record_batch.h"

namespace naru {

class PartitionLog;

// What a commit journal notes about a log for itself; guarded by the journal's lock.
struct JournalTrack {
  uint64_t number = 0;          // tells logs apart; 0: never seen
  bool tracked = false;         // the journal may hold batches that the log's own files do not
  uint64_t first_position = 0;  // no such batch lies before it
  Offset last_end;              // where the newest one ends
  uint64_t truncations = 0;     // of the log, when the newest one was added
  bool being_freed = false;     // the journal has asked for a sync
  uint64_t last_round = 0;      // which round holds the newest batch, and where its completion is noted there
  size_t completion = 0;
};

class DurableLog;

// What UnsyncedLogs notes about a log for itself; guarded by its lock.
struct UnsyncedPlace {
  size_t files = 0;
  bool asked = false;                                         // for a sync, which has not ended
  std::list<std::shared_ptr<DurableLog>>::iterator position;  // in its list, while there are files
};

// A log as a durability service sees it; implemented by the partition that owns it. The functions are called inside the
// partition's strand, run_in_strand() and id() from anywhere.
class DurableLog {
 public:
  virtual ~DurableLog() = default;

  virtual LogId id() const = 0;
  virtual void run_in_strand(UniqueFunction<void()> event) = 0;
  virtual PartitionLog& log() = 0;
  // Everything below `end` is durable. Called for progress, not once per make_durable().
  virtual void on_durable(Offset end) = 0;
  // Nobody who waits now will be told on_durable(). log_offline: for good; disk_full, too_many_open_files: ask again.
  virtual void on_sync_failed(const Status& reason) = 0;
  // A sync of the log's files has ended, for whomever it was; comes before what is told of it to those who wait.
  virtual void on_file_sync_ended(bool /*well*/) {}
  // Nobody waits, but the files should be synced soon. False: there is nothing to sync, or it cannot be done.
  virtual bool sync_lazily() { return false; }

 protected:
  // From here on nobody syncs the log for whom nobody waits.
  void begin_closing() { closing_ = true; }
  // None is running, and none will be started any more: the owner is about to close the log. Those who still wait are
  // told by the owner.
  void end_syncs() { syncs_ended_ = true; }

 private:
  friend class FileSyncService;
  friend class CommitJournal;
  friend class UnsyncedLogs;
  GroupCommit group_commit_;
  bool closing_ = false;
  bool syncs_ended_ = false;
  JournalTrack journal_track_;
  UnsyncedPlace unsynced_place_;
};

// A batch that was just appended, as the log stores it.
struct StoredBatch {
  StoredHeader header;
  SharedBytes records;  // what follows the header
  Offset base_offset;
  Offset end_offset;
  LeaderEpoch leader_epoch;

  size_t size() const { return header.size() + records.size(); }
};

class DurabilityService {
 public:
  virtual ~DurabilityService() = default;

  // Called inside the log's strand, with up_to <= end_offset(). Answers through on_durable() or on_sync_failed(), at
  // once when there is nothing to wait for.
  virtual void make_durable(std::shared_ptr<DurableLog> log, Offset up_to) = 0;
  // The same for the log's last batch, directly after its append. What came before it is asked for separately.
  virtual void make_durable(std::shared_ptr<DurableLog> log, const StoredBatch& batch) = 0;
  // Syncs the log's own files as far as they are written now, although nobody waits. False: there is nothing to sync,
  // or the log is offline or being closed. Else DurableLog::on_file_sync_ended() follows.
  virtual bool sync_lazily(std::shared_ptr<DurableLog> log) = 0;
  // The log was closed in order, or its folder is deleted: its own files hold all that matters. Any thread.
  virtual void closed(DurableLog& log) = 0;
};

}  // namespace naru
