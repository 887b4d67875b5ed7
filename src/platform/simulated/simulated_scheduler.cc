#include "platform/simulated/simulated_scheduler.h"

#include <algorithm>
#include <utility>

namespace naru {
namespace {

// Each turn of the loop takes a moment, so that work which posts itself for ever cannot stop time.
constexpr uint64_t kPostDelayMaxNs = 20'000;
constexpr uint64_t kTimerLatenessMaxNs = 1'000'000;

Duration random_duration(Random& random, Duration from, Duration to) {
  const auto range = std::max<int64_t>((to - from).count(), 0);
  return from + Duration(static_cast<int64_t>(random.below(static_cast<uint64_t>(range) + 1)));
}

}  // namespace

SimulatedScheduler::SimulatedScheduler(SimulatedEventQueue& queue, Random& random, SimulatedEventQueue::Owner owner)
    : queue_(queue), random_(random), owner_(owner) {}

SimulatedScheduler::~SimulatedScheduler() {
  queue_.forget(owner_);
}

void SimulatedScheduler::post(UniqueFunction<void()> work) {
  last_post_ = std::max(last_post_, queue_.now() + random_duration(random_, 1ns, Duration(kPostDelayMaxNs)));
  queue_.add(last_post_, owner_, std::move(work));
}

void SimulatedScheduler::run_blocking(UniqueFunction<void()> work) {
  queue_.add(queue_.now() + disk_delay(), owner_, [this, job = std::move(work)]() mutable {
    on_worker_ = true;
    job();
    on_worker_ = false;
    queue_.count_blocking_job();
  });
}

Scheduler::TimerId SimulatedScheduler::start_timer(MonotonicTime deadline, UniqueFunction<void()> work) {
  const Duration lateness = random_duration(random_, 0ns, Duration(kTimerLatenessMaxNs));
  return queue_.add(std::min(deadline, MonotonicTime::max() - lateness) + lateness, owner_, std::move(work));
}

bool SimulatedScheduler::cancel_timer(TimerId timer) {
  return queue_.cancel(timer);
}

Duration SimulatedScheduler::disk_delay() {
  if (disk_timing_.stall_one_in > 0 && random_.one_in(disk_timing_.stall_one_in)) {
    return random_duration(random_, disk_timing_.usual_max, disk_timing_.stall_max);
  }
  return random_duration(random_, disk_timing_.usual_min, disk_timing_.usual_max);
}

}  // namespace naru
