// Many tasks, a few at a time.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>

#include "async/task_group.h"

namespace naru {

namespace detail {
template <class Function>
Task<void> run_lane(size_t count, std::atomic<size_t>& next, Function& function) {
  for (size_t at = next.fetch_add(1); at < count; at = next.fetch_add(1)) co_await function(at);
}
}  // namespace detail

// Runs the tasks function(0) ... function(count - 1), at most `lanes` of them at the same time, and returns when all
// have ended. The lanes may be on different threads.
template <class Function>
Task<void> in_lanes(size_t count, size_t lanes, Function function) {
  std::atomic<size_t> next = 0;
  TaskGroup group;
  for (size_t lane = 0; lane < std::min(count, lanes); ++lane) group.spawn(detail::run_lane(count, next, function));
  co_await group.join();
}

}  // namespace naru
