#include "platform/real/uv_scheduler.h"

#include <utility>

#include "foundation/assert.h"

namespace naru {
namespace {

// A TimerId: 8 bits of loop, 24 of place in its wheel, 32 of generation.
constexpr int kLoopShift = 56;
constexpr int kPlaceShift = 32;
constexpr uint64_t kPlacesMax = uint64_t{1} << 24;

}  // namespace

void UvScheduler::post(UniqueFunction<void()> work) {
  loops_.here_or_next().post(std::move(work));
}

void UvScheduler::run_blocking(UniqueFunction<void()> work) {
  workers_.submit(std::move(work));
}

void UvScheduler::set_blocking_limit(size_t limit) {
  workers_.set_limit(limit);
}

Scheduler::TimerId UvScheduler::start_timer(MonotonicTime deadline, UniqueFunction<void()> work) {
  EventLoop& loop = loops_.here_or_first();
  const EventLoop::TimerHandle handle = loop.start_timer(deadline, std::move(work));
  NARU_ASSERT(handle.index < kPlacesMax, "more than {} timers on one loop", kPlacesMax);
  return uint64_t{loop.index()} << kLoopShift | uint64_t{handle.index} << kPlaceShift | handle.generation;
}

bool UvScheduler::cancel_timer(TimerId timer) {
  const uint64_t loop = timer >> kLoopShift;
  const auto place = static_cast<uint32_t>(timer >> kPlaceShift & (kPlacesMax - 1));
  const auto generation = static_cast<uint32_t>(timer);
  return loop < loops_.size() && loops_[loop].cancel_timer({place, generation});
}

}  // namespace naru
