// Threads for work that may block. They are started when first needed, at most `limit` of them, and parked between
// jobs.
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
  size_t queued() const;
  size_t threads() const;

 private:
  void run();

  const size_t limit_;
  mutable std::mutex mutex_;
  std::condition_variable work_or_end_;
  std::deque<UniqueFunction<void()>> jobs_;
  size_t parked_ = 0;
  bool ending_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace naru
