#include "platform/real/thread_timer.h"

#include <pthread.h>

#include <utility>

namespace naru {

ThreadTimer::ThreadTimer(UniqueFunction<void()> function) : function_(std::move(function)) {
  thread_ = std::thread([this] {
    pthread_setname_np(pthread_self(), "naru-timer");
    run();
  });
}

ThreadTimer::~ThreadTimer() {
  {
    const std::scoped_lock lock(mutex_);
    ending_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void ThreadTimer::start(Duration after) {
  {
    const std::scoped_lock lock(mutex_);
    if (after_) return;
    after_ = after;
  }
  changed_.notify_one();
}

void ThreadTimer::run() {
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return after_ || ending_; });
    if (ending_ || changed_.wait_for(lock, *after_, [this] { return ending_; })) return;
  }
  function_();
}

}  // namespace naru
