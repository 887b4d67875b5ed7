#include "cluster_control/change_signal.h"

#include <utility>

namespace naru {

uint64_t ChangeSignal::count() const {
  const std::scoped_lock lock(mutex_);
  return count_;
}

void ChangeSignal::notify() {
  std::vector<std::shared_ptr<Wakeup>> woken;
  {
    const std::scoped_lock lock(mutex_);
    ++count_;
    woken.swap(waiting_);
  }
  for (const auto& wakeup : woken) wakeup->wake();
}

Task<void> ChangeSignal::wait_beyond(uint64_t seen, MonotonicTime deadline, CancelToken token) {
  const std::shared_ptr<Wakeup> wakeup = enlist(seen);
  if (!wakeup) co_return;
  const bool for_ever = deadline == MonotonicTime::max();
  Scheduler::TimerId timer = 0;
  if (!for_ever) timer = scheduler_.start_timer(deadline, [wakeup] { wakeup->wake(); });
  {
    const CancelCallback on_cancel(token, [wakeup] { wakeup->wake(); });
    co_await wakeup->event();
  }
  if (!for_ever) scheduler_.cancel_timer(timer);
  leave(wakeup);
}

std::shared_ptr<Wakeup> ChangeSignal::enlist(uint64_t seen) {
  const std::scoped_lock lock(mutex_);
  if (count_ != seen || waiting_.size() >= kMaxWaiting) return nullptr;
  return waiting_.emplace_back(std::make_shared<Wakeup>());
}

void ChangeSignal::leave(const std::shared_ptr<Wakeup>& wakeup) {
  const std::scoped_lock lock(mutex_);
  std::erase(waiting_, wakeup);
}

}  // namespace naru
