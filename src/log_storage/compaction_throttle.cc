#include "log_storage/compaction_throttle.h"

#include <algorithm>
#include <chrono>

namespace naru {
namespace {

using Seconds = std::chrono::duration<double>;

constexpr Duration kLongestDebt = 1h;
// Shorter waits are put together: timers are not exact, and a worker has to be found after each.
constexpr Duration kShortestWait = 50ms;
// So long until a wait notices that the rate is another one.
constexpr Duration kLongestSleep = 1s;

}  // namespace

Duration ByteDebt::add(uint64_t bytes, MonotonicTime now, double bytes_per_second) {
  const Seconds passed = std::max<Duration>(now - paid_until_, Duration(0));
  paid_until_ = std::max(paid_until_, now);
  owed_ = std::max(0.0, owed_ - passed.count() * bytes_per_second) + static_cast<double>(bytes);
  return std::chrono::ceil<Duration>(std::min(Seconds(owed_ / bytes_per_second), Seconds(kLongestDebt)));
}

Duration CompactionThrottle::add(uint64_t bytes) {
  const double rate = bytes_per_second_();
  const std::scoped_lock lock(mutex_);
  return debt_.add(bytes, clock_.now(), rate);
}

bool CompactionThrottle::spend(uint64_t bytes) {
  return add(bytes) >= kShortestWait;
}

Task<Status> CompactionThrottle::wait(CancelToken cancelled) {
  Status slept;
  while (slept.ok()) {
    const Duration left = add(0);
    if (left <= Duration(0)) break;
    slept = co_await sleep_until(scheduler_, clock_.now() + std::min(left, kLongestSleep), cancelled);
  }
  co_await to_worker(scheduler_);
  co_return slept;
}

}  // namespace naru
