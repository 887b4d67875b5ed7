// Threads for work that may block. They are started when first needed, and parked between jobs. At most `limit` jobs
// run at the same time; threads beyond a limit that was lowered stay parked.
//
// First come, first served. The queue has no bound of its own, because a job that was promised cannot be refused: those
// who submit bound what they have outstanding (a sync per disk, a read per connection). queued() tells how it goes.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "foundation/function.h"

namespace naru {

class WorkerPool {
 public:
  explicit WorkerPool(size_t limit);
  // Runs what is queued, then ends the threads.
  ~WorkerPool();

  void submit(UniqueFunction<void()> job);  // any thread
  void set_limit(size_t limit);             // any thread
  size_t queued() const;
  size_t threads() const;

 private:
  void run();
  void start_thread();
  bool may_take_job() const { return !jobs_.empty() && (busy_ < limit_ || ending_); }

  mutable std::mutex mutex_;
  size_t limit_;
  std::condition_variable work_or_end_;
  std::deque<UniqueFunction<void()>> jobs_;
  size_t parked_ = 0;
  size_t busy_ = 0;
  bool ending_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace naru
