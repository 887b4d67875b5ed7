#include "log_storage/file_sync_service.h"

#include <utility>

#include "log_storage/partition_log.h"

namespace naru {

void FileSyncService::make_durable(std::shared_ptr<DurableLog> log, Offset up_to) {
  PartitionLog& partition_log = log->log();
  if (up_to <= partition_log.durable_end()) {
    log->on_durable(partition_log.durable_end());
  } else if (partition_log.offline()) {
    log->on_sync_failed(error(ErrorCode::log_offline, "{} is offline: {}", partition_log.folder(),
                              partition_log.offline_reason().to_string()));
  } else if (!log->syncs_ended_ && log->group_commit_.want(up_to)) {
    start_sync(std::move(log));
  }
}

bool FileSyncService::sync_lazily(std::shared_ptr<DurableLog> log) {
  const PartitionLog& partition_log = log->log();
  const bool nothing_to_do =
      partition_log.synced_end() >= partition_log.end_offset() && partition_log.unsynced_files() == 0;
  if (nothing_to_do || partition_log.offline() || log->closing_) return false;
  if (log->group_commit_.want_lazily(partition_log.end_offset())) start_sync(std::move(log));
  return true;
}

Task<void> FileSyncService::drain() {
  sync_ended();
  co_await drained_;
}

void FileSyncService::sync_ended() {
  if (running_.fetch_sub(1, std::memory_order_acq_rel) == 1) drained_.set();
}

void FileSyncService::start_sync(std::shared_ptr<DurableLog> log) {
  running_.fetch_add(1, std::memory_order_relaxed);
  const uint64_t mark = observer_ != nullptr ? observer_->file_sync_begins() : 0;
  SyncWork begun = log->log().begin_sync();
  scheduler_.run_blocking([this, log = std::move(log), work = std::move(begun), mark]() mutable {
    Status performed = work.perform();
    // Copied: this job holds the log until run_in_strand() has returned, so the event never drops the last reference.
    log->run_in_strand([this, log, work = std::move(work), performed = std::move(performed), mark]() mutable {
      finish(log, std::move(work), performed, mark);
      sync_ended();
    });
  });
}

void FileSyncService::finish(const std::shared_ptr<DurableLog>& log, SyncWork work, const Status& performed,
                             uint64_t mark) {
  PartitionLog& partition_log = log->log();
  const Status finished = partition_log.finish_sync(std::move(work), performed);
  if (observer_ != nullptr) observer_->file_sync_ended(log, mark, finished.ok());
  log->on_file_sync_ended(finished.ok());
  if (!finished.ok()) {
    const bool somebody_waits = log->group_commit_.sync_failed();
    if (somebody_waits || partition_log.offline() || log->closing_) log->on_sync_failed(finished);
    return;
  }
  // Before telling: whoever is told may ask for more, and that is then covered by the sync that starts here.
  const bool again = log->group_commit_.sync_ended(partition_log.synced_end(), partition_log.end_offset());
  if (again) start_sync(log);
  log->on_durable(partition_log.durable_end());
}

}  // namespace naru
