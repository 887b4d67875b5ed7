#include "timing_wheel/timing_wheel_index.h"

#include <algorithm>
#include <bit>

#include "foundation/assert.h"

namespace naru {

TimingWheelIndex::TimingWheelIndex(MonotonicTime start, Duration tick) : start_(start), tick_(tick) {
  NARU_ASSERT(tick > Duration::zero(), "a tick of {} ns", tick.count());
}

TimingWheelIndex::Handle TimingWheelIndex::insert(MonotonicTime deadline) {
  uint32_t index = lists_[kFreeList].first;
  if (index == kNone) {
    NARU_ASSERT(timers_.size() < kNone, "too many timers");
    index = static_cast<uint32_t>(timers_.size());
    timers_.emplace_back();
  } else {
    unlink(index);
  }
  Timer& timer = timers_[index];
  timer.deadline = deadline;
  timer.sequence = next_sequence_++;
  timer.tick = std::max(tick_at_or_after(deadline), current_);
  place(index);
  ++size_;
  return {index, timer.generation};
}

bool TimingWheelIndex::cancel(Handle handle) {
  if (handle.index >= timers_.size()) return false;
  const Timer& timer = timers_[handle.index];
  if (timer.generation != handle.generation || timer.list == kFreeList) return false;
  unlink(handle.index);
  release(handle.index);
  return true;
}

std::optional<MonotonicTime> TimingWheelIndex::next_deadline() const {
  const auto slot = next_slot();
  if (!slot) return std::nullopt;
  return time_of(slot->begin);
}

void TimingWheelIndex::advance(MonotonicTime now) {
  const Tick target = std::max(tick_at_or_before(now), current_);
  for (auto slot = next_slot(); slot && slot->begin <= target; slot = next_slot()) {
    current_ = slot->begin;
    open_slot(*slot);
  }
  // No timer lies in a slot that begins before `target`, so all of them still lie where they belong.
  current_ = target;
}

std::optional<TimingWheelIndex::Due> TimingWheelIndex::take_due() {
  const uint32_t index = lists_[kDueList].first;
  if (index == kNone) return std::nullopt;
  unlink(index);
  release(index);
  return Due{index, timers_[index].deadline};
}

std::optional<TimingWheelIndex::Slot> TimingWheelIndex::next_slot() const {
  for (int level = 0; level < kLevels; ++level) {
    if (occupied_[level] == 0) continue;
    const int slot = std::countr_zero(occupied_[level]);
    const int shift = level * kDigitBits;
    const int above = shift + kDigitBits;
    const Tick higher_digits = above >= 64 ? 0 : current_ >> above << above;
    return Slot{level, slot, higher_digits | static_cast<Tick>(slot) << shift};
  }
  return std::nullopt;
}

void TimingWheelIndex::place(uint32_t index) {
  const Tick tick = timers_[index].tick;
  const Tick difference = tick ^ current_;
  const int level = difference == 0 ? 0 : (std::bit_width(difference) - 1) / kDigitBits;
  const auto slot = static_cast<int>(tick >> (level * kDigitBits) & (kSlots - 1));
  append(static_cast<uint16_t>(level * kSlots + slot), index);
  occupied_[level] |= uint64_t{1} << slot;
}

void TimingWheelIndex::open_slot(const Slot& slot) {
  const auto list = static_cast<uint16_t>(slot.level * kSlots + slot.slot);
  opened_.clear();
  for (uint32_t index = lists_[list].first; index != kNone; index = timers_[index].next) opened_.push_back(index);
  if (slot.level == 0) {
    std::ranges::sort(opened_, {},
                      [this](uint32_t index) { return std::pair(timers_[index].deadline, timers_[index].sequence); });
  }
  for (const uint32_t index : opened_) {
    unlink(index);
    if (slot.level == 0) {
      append(kDueList, index);
    } else {
      place(index);
    }
  }
}

void TimingWheelIndex::append(uint16_t list, uint32_t index) {
  List& ends = lists_[list];
  Timer& timer = timers_[index];
  timer.list = list;
  timer.previous = ends.last;
  timer.next = kNone;
  (ends.last == kNone ? ends.first : timers_[ends.last].next) = index;
  ends.last = index;
}

void TimingWheelIndex::unlink(uint32_t index) {
  const Timer& timer = timers_[index];
  List& ends = lists_[timer.list];
  (timer.previous == kNone ? ends.first : timers_[timer.previous].next) = timer.next;
  (timer.next == kNone ? ends.last : timers_[timer.next].previous) = timer.previous;
  if (ends.first == kNone && timer.list < kDueList) {
    occupied_[timer.list / kSlots] &= ~(uint64_t{1} << (timer.list % kSlots));
  }
}

void TimingWheelIndex::release(uint32_t index) {
  ++timers_[index].generation;
  append(kFreeList, index);
  --size_;
}

TimingWheelIndex::Tick TimingWheelIndex::tick_at_or_after(MonotonicTime time) const {
  const Tick floor = tick_at_or_before(time);
  return time_of(floor) < time ? floor + 1 : floor;
}

TimingWheelIndex::Tick TimingWheelIndex::tick_at_or_before(MonotonicTime time) const {
  if (time <= start_) return 0;
  const auto elapsed =
      static_cast<uint64_t>(time.time_since_epoch().count()) - static_cast<uint64_t>(start_.time_since_epoch().count());
  return elapsed / static_cast<uint64_t>(tick_.count());
}

MonotonicTime TimingWheelIndex::time_of(Tick tick) const {
  const auto nanoseconds = static_cast<__int128>(start_.time_since_epoch().count()) +
                           static_cast<__int128>(tick) * static_cast<__int128>(tick_.count());
  const auto latest = static_cast<__int128>(MonotonicTime::max().time_since_epoch().count());
  return MonotonicTime(Duration(static_cast<int64_t>(std::min(nanoseconds, latest))));
}

}  // namespace naru
