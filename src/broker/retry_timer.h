// Does something again after a while, as long as it is wanted: soon at first, then less often.
#pragma once

#include <memory>
#include <mutex>

#include "async/task.h"
#include "async/task_group.h"
#include "foundation/function.h"
#include "foundation/time.h"
#include "platform/seams.h"

namespace naru {

// Thread-safe. Stopped before it is destroyed, and before what `again` uses.
class RetryTimer {
 public:
  static constexpr Duration kFirstPause = 500ms;
  static constexpr Duration kLongestPause = 5s;

  RetryTimer(Seams seams, UniqueFunction<Task<void>()> again) : seams_(seams), again_(std::move(again)) {}

  // `wanted`: there is something to be done again, once, unless that is about to happen anyway. Not: all is well.
  void set_wanted(bool wanted);

  // Nothing begins afterwards; returns when what has begun has ended.
  Task<void> stop();

 private:
  Task<void> run_later(Duration pause);

  const Seams seams_;
  UniqueFunction<Task<void>()> again_;  // not called twice at once
  std::mutex mutex_;
  Duration pause_ = kFirstPause;
  bool waiting_ = false;
  bool stopped_ = false;
  TaskGroup tasks_;
};

}  // namespace naru
