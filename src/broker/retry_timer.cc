#include "broker/retry_timer.h"

#include <algorithm>
#include <utility>

namespace naru {

void RetryTimer::set_wanted(bool wanted) {
  const std::scoped_lock lock(mutex_);
  if (!wanted) {
    pause_ = kFirstPause;
  } else if (!stopped_ && !std::exchange(waiting_, true)) {
    tasks_.spawn(run_later(std::exchange(pause_, std::min(2 * pause_, kLongestPause))));
  }
}

Task<void> RetryTimer::run_later(Duration pause) {
  co_await to_loop(seams_.scheduler);  // out of the lock
  const Status slept = co_await sleep_until(seams_.scheduler, seams_.clock.now() + pause, tasks_.token());
  {
    const std::scoped_lock lock(mutex_);
    waiting_ = false;
    if (!slept.ok() || stopped_) co_return;
  }
  co_await again_();
}

Task<void> RetryTimer::stop() {
  {
    const std::scoped_lock lock(mutex_);
    stopped_ = true;
  }
  tasks_.cancel();
  return tasks_.join();
}

}  // namespace naru
