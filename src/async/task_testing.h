// For tests: tasks that are over when they have begun.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <utility>

#include "async/task.h"
#include "async/task_group.h"

namespace naru {

// Runs a task that never waits for anything outside.
template <class T>
T run_now(Task<T> task) {
  std::optional<T> result;
  TaskGroup group;
  group.spawn([](Task<T> inner, std::optional<T>& to) -> Task<void> { to.emplace(co_await std::move(inner)); }(
                                                          std::move(task), result));
  EXPECT_TRUE(result.has_value()) << "the task is still waiting";
  return std::move(*result);
}

}  // namespace naru
