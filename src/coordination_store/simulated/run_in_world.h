// For tests: runs a task in a simulated world and returns what it returned.
#pragma once

#include <optional>
#include <utility>

#include "async/task.h"
#include "platform/simulated/simulated_world.h"

namespace naru {

template <class T>
Task<void> keep_result(Task<T> task, std::optional<T>& result) {
  result.emplace(co_await std::move(task));
}

template <class T>
T run_in(SimulatedWorld& world, Task<T> task) {
  std::optional<T> result;
  world.run_task(keep_result(std::move(task), result));
  return std::move(*result);
}

}  // namespace naru
