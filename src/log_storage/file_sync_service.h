// Durability by syncing each log's own files: one sync in flight per log, on a worker.
#pragma once

#include <atomic>
#include <memory>

#include "async/one_shot.h"
#include "async/task.h"
#include "log_storage/durability_service.h"
#include "platform/scheduler.h"

namespace naru {

// Thread-safe: all state is that of the log, inside its strand. Must outlive the syncs it started; a log whose
// group commit is running is kept alive by it.
class FileSyncService final : public DurabilityService {
 public:
  explicit FileSyncService(Scheduler& scheduler) : scheduler_(scheduler) {}

  void make_durable(std::shared_ptr<DurableLog> log, Offset up_to) override;

  // Returns when no sync is running. Once, when nobody calls make_durable() any more.
  Task<void> drain();

 private:
  void start_sync(std::shared_ptr<DurableLog> log);
  void finish(const std::shared_ptr<DurableLog>& log, class SyncWork work, const Status& performed);

  void sync_ended();

  Scheduler& scheduler_;
  std::atomic<size_t> running_{1};  // the service itself counts until drain()
  OneShot<> drained_;
};

}  // namespace naru
