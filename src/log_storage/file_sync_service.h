// Durability by syncing each log's own files: one sync in flight per log, on a worker.
#pragma once

#include <atomic>
#include <memory>

#include "async/one_shot.h"
#include "async/task.h"
#include "log_storage/durability_service.h"
#include "platform/scheduler.h"

namespace naru {

// Hears of every sync of a log's files; called inside the log's strand.
class FileSyncObserver {
 public:
  virtual ~FileSyncObserver() = default;
  // The result is handed back when the sync has ended.
  virtual uint64_t file_sync_begins() = 0;
  // Well or not: PartitionLog::synced_end() tells.
  virtual void file_sync_ended(const std::shared_ptr<DurableLog>& log, uint64_t mark, bool well) = 0;
};

// Thread-safe: all state is that of the log, inside its strand. Must outlive the syncs it started; a log whose
// group commit is running is kept alive by it.
class FileSyncService final : public DurabilityService {
 public:
  explicit FileSyncService(Scheduler& scheduler, FileSyncObserver* observer = nullptr)
      : scheduler_(scheduler), observer_(observer) {}

  void make_durable(std::shared_ptr<DurableLog> log, Offset up_to) override;
  void make_durable(std::shared_ptr<DurableLog> log, const StoredBatch& batch) override {
    make_durable(std::move(log), batch.end_offset);
  }
  bool sync_lazily(std::shared_ptr<DurableLog> log) override;
  void closed(DurableLog&) override {}

  // Returns when no sync is running. Once, when nobody calls the functions above any more.
  Task<void> drain();

 private:
  void start_sync(std::shared_ptr<DurableLog> log);
  void finish(const std::shared_ptr<DurableLog>& log, class SyncWork work, const Status& performed, uint64_t mark);

  void sync_ended();

  Scheduler& scheduler_;
  FileSyncObserver* observer_;
  std::atomic<size_t> running_{1};  // the service itself counts until drain()
  OneShot<> drained_;
};

}  // namespace naru
