// The logs that keep files open until they are synced, of all data folders together. Descriptors are few, and appends
// that nobody asks to be synced are many: beyond a bound the logs that have held theirs for longest are synced.
//
//     files    0 ............. sync_beyond ............. full .......
//              nothing to do   syncs run, a few at once  appends wait
#pragma once

#include <atomic>
#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <vector>

#include "async/task.h"
#include "async/wakeup.h"
#include "log_storage/durability_service.h"
#include "observability/metrics_registry.h"

namespace naru {

// Thread-safe; a lock is held for a moment. Outlives the logs' last events.
class UnsyncedLogs {
 public:
  struct Limits {
    size_t sync_beyond = 0;
    size_t full = 0;  // at least sync_beyond
  };
  UnsyncedLogs(Limits limits, MetricsRegistry& metrics);
  UnsyncedLogs(const UnsyncedLogs&) = delete;
  UnsyncedLogs& operator=(const UnsyncedLogs&) = delete;

  // Inside the log's strand: how many files it keeps open now; none before it goes. May enter the strands of others.
  void holds(const std::shared_ptr<DurableLog>& log, size_t files);
  // Inside the log's strand, after holds(): a sync of its files has ended, for whomever it was.
  void sync_ended(DurableLog& log, bool well);

  // Whoever is about to append should wait for some_room(), if he can.
  bool full() const { return files_.load(std::memory_order_relaxed) >= limits_.full; }
  // Returns when there is room, and also when a sync has ended without making any: an append then goes as far as there
  // are descriptors.
  Task<void> some_room();

  size_t files() const { return files_.load(std::memory_order_relaxed); }

 private:
  using Waiters = std::vector<std::shared_ptr<Wakeup>>;

  void ask();
  std::shared_ptr<DurableLog> next_to_ask();
  void no_longer_asked(DurableLog& log);
  static void wake(const Waiters& waiters);

  const Limits limits_;
  std::atomic<size_t> files_{0};
  Counter& syncs_;
  GaugeCallback files_gauge_;

  std::mutex mutex_;                              // guards what follows, and the logs' UnsyncedPlace
  std::list<std::shared_ptr<DurableLog>> logs_;   // first the one to be asked next
  std::list<std::shared_ptr<DurableLog>> asked_;  // their syncs are under way
  size_t asked_files_ = 0;                        // of these
  bool asking_ = false;                           // somebody is inside ask()
  Waiters waiters_;
};

}  // namespace naru
