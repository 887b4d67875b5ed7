// Hierarchical timing wheel: many deadlines, O(1) to set and to cancel, and no ticking while nothing is due.
//
// Time is counted in ticks and written in base 64. A timer lies on the level of the highest digit in which its deadline
// differs from the current time c, in the slot with the number of its own digit there. So all timers of one level come
// before all of the next, the next thing to do is the lowest slot of the lowest level that is not empty (two bit
// scans), and a wheel of eleven levels holds every 64-bit deadline: there is no overflow list.
//
// A slot of level 0 expires. A slot of a higher level, when its time comes, is spread over the levels below. Three
// timers, due at 3, 70 = 1·64 + 6 and 5000 = 1·4096 + 14·64 + 8:
//
//                level 0 (1 tick a slot)    level 1 (64)           level 2 (4096)     next_deadline()
//     c =    0   slot 3: {3}                slot 1: {70}           slot 1: {5000}     3
//     c =    3   expires 3                  slot 1: {70}           slot 1: {5000}     64
//     c =   64   slot 6: {70}   <- spread                          slot 1: {5000}     70
//     c =   70   expires 70                                        slot 1: {5000}     4096
//     c = 4096                              slot 14: {5000} <- spread                 4992 = 4096 + 14·64
//     c = 4992   slot 8: {5000} <- spread                                             5000
//     c = 5000   expires 5000
//
// next_deadline() is thus a lower bound, and whoever sleeps until it wakes up a few times in vain at most.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "foundation/time.h"
#include "timing_wheel/timing_wheel_index.h"

namespace naru {

// Knows keys and deadlines; what a key means is the owner's business. Not thread-safe: belongs to one thread or strand.
template <class Key>
class TimingWheel {
 public:
  using Handle = TimingWheelIndex::Handle;

  explicit TimingWheel(MonotonicTime start, Duration tick = 1ms) : index_(start, tick) {}

  // A deadline in the past is due at once, that is in the next expire().
  Handle insert(MonotonicTime deadline, Key key) {
    const Handle handle = index_.insert(deadline);
    if (handle.index >= keys_.size()) keys_.resize(handle.index + 1);
    keys_[handle.index].emplace(std::move(key));
    return handle;
  }

  // The key, or nothing if the timer has expired or was cancelled.
  std::optional<Key> cancel(Handle handle) {
    if (!index_.cancel(handle)) return std::nullopt;
    return std::exchange(keys_[handle.index], std::nullopt);
  }

  // Nothing expires before it; nothing at all if there is no value.
  std::optional<MonotonicTime> next_deadline() const { return index_.next_deadline(); }

  // Calls expired(key, deadline) for all that are due, by deadline, then by order of insertion; never early, and late
  // by less than a tick. The function may insert and cancel: what it cancels does not expire any more, and what it
  // inserts waits for the next expire(), however early its deadline, so that a timer that sets itself again cannot keep
  // us here.
  template <class Expired>
  void expire(MonotonicTime now, Expired&& expired) {
    index_.advance(now);
    while (const auto due = index_.take_due()) {
      Key key = std::move(*keys_[due->index]);
      keys_[due->index].reset();
      expired(std::move(key), due->deadline);
    }
  }

  size_t size() const { return index_.size(); }

 private:
  TimingWheelIndex index_;
  std::vector<std::optional<Key>> keys_;  // by handle.index
};

}  // namespace naru
