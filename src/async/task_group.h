// Owns running tasks: the only way to start one without awaiting it. Whoever owns the group joins it before going away.
#pragma once

#include <atomic>
#include <coroutine>
#include <cstddef>

#include "async/cancellation.h"
#include "async/one_shot.h"
#include "async/task.h"

namespace naru {

class TaskGroup {
 public:
  TaskGroup() = default;
  ~TaskGroup();
  TaskGroup(const TaskGroup&) = delete;
  TaskGroup& operator=(const TaskGroup&) = delete;

  // Starts the task on this thread and keeps it until it ends. Not after join() was called, except from a member task.
  void spawn(Task<void> task);

  // Given to the tasks that should stop when the group is closed.
  CancelToken token() const { return source_.token(); }
  void cancel() { source_.cancel(); }

  // Waits until every task has ended. Once, and no spawn from outside afterwards.
  Task<void> join();

  size_t running() const {
    const size_t count = running_.load(std::memory_order_relaxed);
    return joined_.load(std::memory_order_relaxed) ? count : count - 1;
  }

 private:
  void finished();

  CancelSource source_;
  std::atomic<size_t> running_{1};  // the group itself counts until join()
  OneShot<> all_ended_;
  std::atomic<bool> joined_{false};
};

}  // namespace naru
