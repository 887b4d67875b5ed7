// OneShot<T>: a value that is set once, from any thread, and awaited once by one coroutine.
//
// The bridge between events and coroutines: a strand's event, a timer or a worker sets it, a Task awaits it. The waiter
// is resumed through the ready queue, so never inside a strand. The OneShot must outlive both sides; set() does not
// touch it any more once the waiter can run.
#pragma once

#include <atomic>
#include <coroutine>
#include <optional>
#include <utility>

#include "async/ready_queue.h"
#include "foundation/assert.h"

namespace naru {

struct Unit {};

template <class T = Unit>
class OneShot {
 public:
  OneShot() = default;
  OneShot(const OneShot&) = delete;
  OneShot& operator=(const OneShot&) = delete;

  void set(T value = T{}) {
    value_.emplace(std::move(value));
    void* waiter = state_.exchange(set_marker(), std::memory_order_acq_rel);
    NARU_ASSERT(waiter != set_marker(), "a OneShot is set twice");
    if (waiter != nullptr) resume_when_ready(std::coroutine_handle<>::from_address(waiter));
  }

  bool is_set() const { return state_.load(std::memory_order_acquire) == set_marker(); }

  bool await_ready() const { return is_set(); }
  bool await_suspend(std::coroutine_handle<> waiter) {
    void* expected = nullptr;
    const bool parked = state_.compare_exchange_strong(expected, waiter.address(), std::memory_order_acq_rel,
                                                       std::memory_order_acquire);
    NARU_ASSERT(parked || expected == set_marker(), "a OneShot is awaited twice");
    return parked;
  }
  T await_resume() { return std::move(*value_); }

 private:
  static void* set_marker() {
    static char marker;
    return &marker;
  }

  std::atomic<void*> state_{nullptr};  // nullptr, the waiter's address, or set_marker()
  std::optional<T> value_;
};

}  // namespace naru
