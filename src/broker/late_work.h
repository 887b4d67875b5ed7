// Work that goes on after its request was answered with REQUEST_TIMED_OUT: what the controller has begun is not taken
// back because a client does not want to wait any longer.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <utility>

#include "async/task.h"
#include "async/task_group.h"
#include "async/wakeup.h"
#include "broker/decoded_memory.h"
#include "foundation/time.h"
#include "platform/scheduler.h"

namespace naru {

// Thread-safe. Joined before what its tasks use is gone.
class LateWork {
 public:
  // At the same time; with more, requests wait for their results, however long that takes.
  static constexpr size_t kTasksMax = 64;

  explicit LateWork(Scheduler& scheduler) : scheduler_(scheduler) {}

  // The result of the task, or nothing if there is none at the deadline: then the task goes on with what it owns, which
  // the memory of the request pays for until the task has ended.
  template <class T>
  Task<std::optional<T>> result_until(MonotonicTime deadline, DecodedMemory& memory, Task<T> task) {
    if (tasks_.running() >= kTasksMax) co_return co_await std::move(task);
    const auto outcome = std::make_shared<Outcome<T>>();
    tasks_.spawn(run(std::move(task), outcome));
    if (!outcome->is_there.load(std::memory_order_acquire)) {
      const auto timer = scheduler_.start_timer(deadline, [outcome] { outcome->wakeup.wake(); });
      co_await outcome->wakeup.event();
      scheduler_.cancel_timer(timer);
    }
    if (outcome->is_there.load(std::memory_order_acquire)) co_return std::move(outcome->value);
    outcome->paid = memory.hand_over();
    co_return std::nullopt;
  }

  Task<void> join() { return tasks_.join(); }

 private:
  template <class T>
  struct Outcome {
    std::optional<T> value;  // written before is_there
    MemoryLease paid;        // of the request that has not waited; released with the outcome, by the task
    std::atomic<bool> is_there{false};
    Wakeup wakeup;
  };

  template <class T>
  static Task<void> run(Task<T> task, std::shared_ptr<Outcome<T>> outcome) {
    outcome->value.emplace(co_await std::move(task));
    outcome->is_there.store(true, std::memory_order_release);
    outcome->wakeup.wake();
  }

  Scheduler& scheduler_;
  TaskGroup tasks_;
};

}  // namespace naru
