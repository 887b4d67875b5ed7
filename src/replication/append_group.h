// The appends of one produce request: one slot per partition, one wait for all of them.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "async/wakeup.h"
#include "foundation/ids.h"
#include "foundation/status.h"
#include "foundation/time.h"

namespace naru {

struct AppendResult {
  Status status;
  Offset base_offset{-1};
  WallTimeMs log_append_time_ms = -1;
  Offset log_start_offset{-1};
};

// Thread: finish() from any strand, the rest from the request's coroutine. Shared, because a slot may be finished after
// the request has given up waiting.
class AppendGroup {
 public:
  explicit AppendGroup(size_t slots) : slots_(slots), remaining_(slots) {
    if (slots == 0) wakeup_.wake();
  }

  // Once per slot.
  void finish(size_t slot, AppendResult result) {
    slots_[slot].result = std::move(result);
    slots_[slot].finished.store(true, std::memory_order_release);
    if (remaining_.fetch_sub(1, std::memory_order_acq_rel) == 1) wakeup_.wake();
  }

  // Await this, once; it comes when every slot is finished or give_up() was called.
  OneShot<>& settled() { return wakeup_.event(); }
  bool finished() const { return remaining_.load(std::memory_order_acquire) == 0; }
  void give_up() { wakeup_.wake(); }

  // REQUEST_TIMED_OUT for a slot that was not finished in time; what it appended may still become durable.
  AppendResult result(size_t slot) const {
    if (!slots_[slot].finished.load(std::memory_order_acquire)) {
      return {.status = Status(ErrorCode::request_timed_out, "not acknowledged within the request's timeout")};
    }
    return slots_[slot].result;
  }

 private:
  struct Slot {
    AppendResult result;
    std::atomic<bool> finished{false};
  };
  std::vector<Slot> slots_;
  std::atomic<size_t> remaining_;
  Wakeup wakeup_;
};

}  // namespace naru
