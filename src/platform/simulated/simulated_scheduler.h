// The threads of one simulated process: posts run in order, timers a little late, blocking work after a random while,
// as if several workers raced. Destroying the scheduler destroys what is still waiting, without running it.
#pragma once

#include <cstddef>

#include "platform/random.h"
#include "platform/scheduler.h"
#include "platform/simulated/simulated_event_queue.h"

namespace naru {

// How long blocking work takes: between the two usual figures, and now and then much longer.
struct DiskTiming {
  Duration usual_min = 20us;
  Duration usual_max = 2ms;
  uint64_t stall_one_in = 0;  // never
  Duration stall_max = 5s;
};

class SimulatedScheduler final : public Scheduler {
 public:
  SimulatedScheduler(SimulatedEventQueue& queue, Random& random, SimulatedEventQueue::Owner owner);
  ~SimulatedScheduler() override;

  void post(UniqueFunction<void()> work) override;
  void run_blocking(UniqueFunction<void()> work) override;
  TimerId start_timer(MonotonicTime deadline, UniqueFunction<void()> work) override;
  bool cancel_timer(TimerId timer) override;
  // There are no threads that it would bound; tests see that it was set.
  void set_blocking_limit(size_t limit) override { blocking_limit_ = limit; }
  size_t blocking_limit() const { return blocking_limit_; }

  void set_disk_timing(const DiskTiming& timing) { disk_timing_ = timing; }
  SimulatedEventQueue::Owner owner() const { return owner_; }
  // Whether the code that runs now is a piece of blocking work of this process, as opposed to its event loop.
  bool on_worker() const { return on_worker_; }

 private:
  Duration disk_delay();

  SimulatedEventQueue& queue_;
  Random& random_;
  const SimulatedEventQueue::Owner owner_;
  DiskTiming disk_timing_;
  MonotonicTime last_post_{};
  bool on_worker_ = false;
  size_t blocking_limit_ = 0;
};

}  // namespace naru
