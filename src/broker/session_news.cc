#include "broker/session_news.h"

#include <utility>

namespace naru {

void SessionNews::tell(uint32_t slot, bool state_changed, uint64_t bytes, bool urgent) {
  std::shared_ptr<Wakeup> woken;
  {
    const std::scoped_lock lock(mutex_);
    if (slot >= marks_.size()) marks_.resize(slot + 1, Mark::none);
    if (marks_[slot] == Mark::none) slots_.push_back(slot);
    if (marks_[slot] != Mark::state_changed) marks_[slot] = state_changed ? Mark::state_changed : Mark::told;
    bytes_ += bytes;
    urgent_ |= state_changed || urgent;
    if (parked_ && enough()) woken = parked_;
  }
  if (woken) woken->wake();
}

std::vector<SessionNews::Item> SessionNews::take() {
  const std::scoped_lock lock(mutex_);
  std::vector<Item> items;
  items.reserve(slots_.size());
  for (const uint32_t slot : slots_) {
    items.push_back({slot, std::exchange(marks_[slot], Mark::none) == Mark::state_changed});
  }
  slots_.clear();
  bytes_ = 0;
  urgent_ = false;
  return items;
}

void SessionNews::park(std::shared_ptr<Wakeup> parked, uint64_t bytes_wanted) {
  bool at_once = false;
  {
    const std::scoped_lock lock(mutex_);
    parked_ = parked;
    bytes_wanted_ = bytes_wanted;
    at_once = enough();
  }
  if (at_once) parked->wake();
}

void SessionNews::unpark() {
  const std::scoped_lock lock(mutex_);
  parked_.reset();
}

}  // namespace naru
