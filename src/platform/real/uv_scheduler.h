// The real scheduler: event loops for what must not block, workers for what may.
#pragma once

#include "platform/real/loop_group.h"
#include "platform/real/worker_pool.h"
#include "platform/scheduler.h"

namespace naru {

// Timers live on the loop of the thread that starts them, those of other threads on the first loop.
class UvScheduler final : public Scheduler {
 public:
  UvScheduler(LoopGroup& loops, WorkerPool& workers) : loops_(loops), workers_(workers) {}

  void post(UniqueFunction<void()> work) override;
  void run_blocking(UniqueFunction<void()> work) override;
  void set_blocking_limit(size_t limit) override;
  TimerId start_timer(MonotonicTime deadline, UniqueFunction<void()> work) override;
  bool cancel_timer(TimerId timer) override;

 private:
  LoopGroup& loops_;
  WorkerPool& workers_;
};

}  // namespace naru
