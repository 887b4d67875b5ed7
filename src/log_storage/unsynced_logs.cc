#include "log_storage/unsynced_logs.h"

#include <utility>

namespace naru {
namespace {

// The workers have more urgent things to do.
constexpr size_t kSyncsAtOnce = 4;

}  // namespace

UnsyncedLogs::UnsyncedLogs(Limits limits, MetricsRegistry& metrics)
    : limits_(limits),
      syncs_(metrics.counter("naru_log_descriptor_syncs_total",
                             "Logs that were synced because too many files were kept open")),
      files_gauge_(metrics.computed_gauge("naru_log_unsynced_files",
                                          "Files of logs that are kept open until they are synced", {},
                                          [this] { return static_cast<double>(files()); })) {}

void UnsyncedLogs::holds(const std::shared_ptr<DurableLog>& log, size_t files) {
  std::shared_ptr<DurableLog> dropped;  // after the lock
  Waiters woken;
  {
    const std::scoped_lock lock(mutex_);
    UnsyncedPlace& place = log->unsynced_place_;
    if (place.files == 0 && files > 0) place.position = logs_.insert(logs_.end(), log);
    if (place.files > 0 && files == 0) {
      no_longer_asked(*log);
      dropped = std::move(*place.position);
      logs_.erase(place.position);
    }
    files_.store(files_.load(std::memory_order_relaxed) - place.files + files, std::memory_order_relaxed);
    if (place.asked) asked_files_ += files - place.files;
    place.files = files;
    if (!full()) woken.swap(waiters_);
  }
  wake(woken);
  if (files > 0) ask();
}

void UnsyncedLogs::sync_ended(DurableLog& log, bool well) {
  Waiters woken;
  {
    const std::scoped_lock lock(mutex_);
    no_longer_asked(log);
    woken.swap(waiters_);
  }
  wake(woken);
  // A log that cannot be synced is not asked again and again: the next append does.
  if (well) ask();
}

Task<void> UnsyncedLogs::some_room() {
  const auto wakeup = std::make_shared<Wakeup>();
  {
    const std::scoped_lock lock(mutex_);
    if (!full()) co_return;
    waiters_.push_back(wakeup);
  }
  ask();
  {
    const std::scoped_lock lock(mutex_);
    if (asked_.empty()) wakeup->wake();  // nobody would
  }
  co_await wakeup->event();
}

void UnsyncedLogs::no_longer_asked(DurableLog& log) {
  UnsyncedPlace& place = log.unsynced_place_;
  if (!std::exchange(place.asked, false)) return;
  logs_.splice(logs_.end(), asked_, place.position);
  asked_files_ -= place.files;
}

void UnsyncedLogs::wake(const Waiters& waiters) {
  for (const auto& waiter : waiters) waiter->wake();
}

// One thread at a time: entering a log's strand may run its other events, which end up here again.
void UnsyncedLogs::ask() {
  std::unique_lock lock(mutex_);
  if (std::exchange(asking_, true)) return;
  // A log that refuses may come up again at once, so this is bounded.
  for (size_t tries = 0; tries < kSyncsAtOnce; ++tries) {
    const auto log = next_to_ask();
    if (!log) break;
    lock.unlock();
    log->run_in_strand([this, log] {
      if (!log->sync_lazily()) sync_ended(*log, false);
    });
    lock.lock();
  }
  asking_ = false;
}

std::shared_ptr<DurableLog> UnsyncedLogs::next_to_ask() {
  if (files() - asked_files_ <= limits_.sync_beyond || asked_.size() >= kSyncsAtOnce) return nullptr;
  std::shared_ptr<DurableLog> log = logs_.front();
  UnsyncedPlace& place = log->unsynced_place_;
  place.asked = true;
  asked_.splice(asked_.end(), logs_, place.position);
  asked_files_ += place.files;
  syncs_.add();
  return log;
}

}  // namespace naru
