// A lock that suspends instead of blocking: for work that spans several awaits and must not overlap with itself.
#pragma once

#include <coroutine>
#include <deque>
#include <mutex>
#include <utility>

#include "async/ready_queue.h"

namespace naru {

// Thread-safe, first come, first served. `const auto guard = co_await mutex.lock();`
class AsyncMutex {
 public:
  class [[nodiscard]] Guard {
   public:
    explicit Guard(AsyncMutex* mutex) : mutex_(mutex) {}
    Guard(Guard&& other) noexcept : mutex_(std::exchange(other.mutex_, nullptr)) {}
    Guard& operator=(Guard&&) = delete;
    ~Guard() {
      if (mutex_ != nullptr) mutex_->unlock();
    }

   private:
    AsyncMutex* mutex_;
  };

  auto lock() {
    struct Awaiter {
      AsyncMutex& mutex;
      bool await_ready() const { return false; }
      bool await_suspend(std::coroutine_handle<> waiter) { return !mutex.take_or_queue(waiter); }
      Guard await_resume() { return Guard(&mutex); }
    };
    return Awaiter{*this};
  }

 private:
  bool take_or_queue(std::coroutine_handle<> waiter) {
    const std::scoped_lock lock(state_);
    if (!std::exchange(held_, true)) return true;
    waiting_.push_back(waiter);
    return false;
  }

  void unlock() {
    std::coroutine_handle<> next;
    {
      const std::scoped_lock lock(state_);
      if (waiting_.empty()) {
        held_ = false;
        return;
      }
      next = waiting_.front();  // the lock passes on without being free in between
      waiting_.pop_front();
    }
    resume_when_ready(next);
  }

  std::mutex state_;
  bool held_ = false;
  std::deque<std::coroutine_handle<>> waiting_;
};

}  // namespace naru
