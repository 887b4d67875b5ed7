// The part of TimingWheel that does not depend on the type of the keys: which timer lies in which slot.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "foundation/time.h"

namespace naru {

class TimingWheelIndex {
 public:
  // Stays unique when its place is used again (until 2^32 timers later).
  struct Handle {
    uint32_t index = 0;
    uint32_t generation = 0;
    bool operator==(const Handle&) const = default;
  };
  struct Due {
    uint32_t index;
    MonotonicTime deadline;
  };

  TimingWheelIndex(MonotonicTime start, Duration tick);

  Handle insert(MonotonicTime deadline);
  bool cancel(Handle handle);
  std::optional<MonotonicTime> next_deadline() const;
  // Moves the clock forward; what is due by then is handed out by take_due(), in order.
  void advance(MonotonicTime now);
  std::optional<Due> take_due();
  size_t size() const { return size_; }

 private:
  using Tick = uint64_t;
  static constexpr int kDigitBits = 6;
  static constexpr int kSlots = 1 << kDigitBits;
  static constexpr int kLevels = (64 + kDigitBits - 1) / kDigitBits;
  static constexpr uint32_t kNone = ~uint32_t{0};
  // Lists are numbered level * kSlots + slot; two more hold those handed out next and the unused places.
  static constexpr uint16_t kDueList = kLevels * kSlots;
  static constexpr uint16_t kFreeList = kDueList + 1;

  struct Timer {
    MonotonicTime deadline;
    uint64_t sequence = 0;
    Tick tick = 0;
    uint32_t generation = 0;
    uint32_t previous = kNone;
    uint32_t next = kNone;
    uint16_t list = kFreeList;
  };
  struct List {
    uint32_t first = kNone;
    uint32_t last = kNone;
  };
  struct Slot {
    int level;
    int slot;
    Tick begin;
  };

  Tick tick_at_or_after(MonotonicTime time) const;
  Tick tick_at_or_before(MonotonicTime time) const;
  MonotonicTime time_of(Tick tick) const;
  std::optional<Slot> next_slot() const;
  void place(uint32_t index);
  void open_slot(const Slot& slot);
  void append(uint16_t list, uint32_t index);
  void unlink(uint32_t index);
  void release(uint32_t index);

  const MonotonicTime start_;
  const Duration tick_;
  Tick current_ = 0;
  uint64_t next_sequence_ = 0;
  size_t size_ = 0;
  std::vector<Timer> timers_;
  std::array<List, kFreeList + 1> lists_;
  std::array<uint64_t, kLevels> occupied_{};  // one bit for each slot that is not empty
  std::vector<uint32_t> opened_;              // scratch
};

}  // namespace naru
