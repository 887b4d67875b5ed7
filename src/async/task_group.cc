#include "async/task_group.h"

#include <exception>
#include <utility>

namespace naru {
namespace {

// A coroutine that frees itself: TaskGroup counts it, so it is never lost.
struct SelfOwned {
  struct promise_type {
    SelfOwned get_return_object() const { return {}; }
    std::suspend_never initial_suspend() const noexcept { return {}; }
    std::suspend_never final_suspend() const noexcept { return {}; }
    void return_void() const {}
    [[noreturn]] void unhandled_exception() const noexcept { std::terminate(); }
  };
};

template <class Finished>
SelfOwned run(Task<void> task, Finished finished) {
  {
    Task<void> owned = std::move(task);
    co_await std::move(owned);
  }  // the task's frame is gone before the group hears of it
  finished();
}

}  // namespace

TaskGroup::~TaskGroup() {
  NARU_ASSERT(running() == 0, "a task group is destroyed with running tasks");
}

void TaskGroup::spawn(Task<void> task) {
  running_.fetch_add(1, std::memory_order_relaxed);
  run(std::move(task), [this] { finished(); });
}

Task<void> TaskGroup::join() {
  joined_.store(true, std::memory_order_relaxed);
  finished();
  co_await all_ended_;
}

void TaskGroup::finished() {
  if (running_.fetch_sub(1, std::memory_order_acq_rel) == 1) all_ended_.set();
}

}  // namespace naru
