// A timer that needs no event loop: for what has to happen even if no loop ever comes back.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

#include "foundation/function.h"
#include "foundation/time.h"

namespace naru {

// Thread-safe. The function runs on a thread of the timer, at most once. After the destructor has returned, which waits
// for a call that is under way, it never will; not to be destroyed from inside the function.
class ThreadTimer {
 public:
  explicit ThreadTimer(UniqueFunction<void()> function);
  ~ThreadTimer();
  ThreadTimer(const ThreadTimer&) = delete;
  ThreadTimer& operator=(const ThreadTimer&) = delete;

  // From now on. Only the first one counts.
  void start(Duration after);

 private:
  void run();

  UniqueFunction<void()> function_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Duration> after_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace naru
