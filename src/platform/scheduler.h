// The seam to threads and timers.
//
// Real: one libuv loop per core and a pool of workers. Simulated: one thread, one queue of events in virtual time.
// Every function given to a scheduler is called from outside any strand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "async/cancellation.h"
#include "async/one_shot.h"
#include "async/task.h"
#include "foundation/function.h"
#include "foundation/status.h"
#include "foundation/time.h"

namespace naru {

class Scheduler {
 public:
  using TimerId = uint64_t;

  virtual ~Scheduler() = default;

  // Runs `work` on an event-loop thread: the calling one if it is one, else any. Later, never inside this call.
  virtual void post(UniqueFunction<void()> work) = 0;

  // Runs `work` on a worker thread, where it may block: syncs, cold reads, recovery. What follows in `work` (entering a
  // strand, answering a client) happens on that same thread, so that no other one has to be woken up.
  virtual void run_blocking(UniqueFunction<void()> work) = 0;
  // From now on at most so many of them run at the same time, where there are real threads. Any thread.
  virtual void set_blocking_limit(size_t /*limit*/) {}

  // Calls `work` once, on a loop thread, not before `deadline`; late by about a millisecond.
  virtual TimerId start_timer(MonotonicTime deadline, UniqueFunction<void()> work) = 0;
  // True: the function will never run. False: it has run, is running, or was cancelled before. Thread-safe.
  virtual bool cancel_timer(TimerId timer) = 0;
};

// Runs a blocking function on a worker. The coroutine goes on there, or here if the worker was faster than we could
// suspend.
template <class Function>
Task<std::invoke_result_t<Function>> on_worker(Scheduler& scheduler, Function function) {
  using Value = std::invoke_result_t<Function>;
  if constexpr (std::is_void_v<Value>) {
    OneShot<> done;
    scheduler.run_blocking([&done, &function] {
      function();
      done.set();
    });
    co_await done;
  } else {
    OneShot<Value> done;
    scheduler.run_blocking([&done, &function] { done.set(function()); });
    co_return co_await done;
  }
}

// `co_await to_worker(scheduler)`, `co_await to_loop(scheduler)`: the coroutine goes on on such a thread, always.
inline auto to_worker(Scheduler& scheduler) {
  struct Awaiter {
    Scheduler& scheduler;
    bool await_ready() const { return false; }
    void await_suspend(std::coroutine_handle<> coroutine) const {
      scheduler.run_blocking([coroutine] { coroutine.resume(); });
    }
    void await_resume() const {}
  };
  return Awaiter{scheduler};
}
inline auto to_loop(Scheduler& scheduler) {
  struct Awaiter {
    Scheduler& scheduler;
    bool await_ready() const { return false; }
    void await_suspend(std::coroutine_handle<> coroutine) const {
      scheduler.post([coroutine] { coroutine.resume(); });
    }
    void await_resume() const {}
  };
  return Awaiter{scheduler};
}

// Sleeps; ErrorCode::cancelled when the token is cancelled first.
Task<Status> sleep_until(Scheduler& scheduler, MonotonicTime deadline, CancelToken token = {});

}  // namespace naru
