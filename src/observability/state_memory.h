// What a part of a coordinator's state takes of the memory budget, for as long as it exists.
#pragma once

#include <cstdint>

#include "foundation/request_canary.h"
#include "observability/memory_budget.h"

namespace naru {

// Without a budget nothing is counted and there is always room. The budget outlives it. Not thread-safe.
class StateMemory {
 public:
  StateMemory() = default;
  explicit StateMemory(MemoryBudget* budget) : budget_(budget) {}

  // What is there is counted, whatever the limit says: it may have been read from a log.
  void set(uint64_t bytes) {
    if (budget_ == nullptr) return;
    if (bytes > lease_.bytes()) {
      lease_.merge(budget_->charge_anyway(MemoryAccount::coordinator_state, bytes - lease_.bytes()));
    } else {
      lease_.shrink_to(bytes);
    }
  }
  // To be asked before a client makes it larger. Small changes, which are those of nearly all clients, may use as much
  // again: a few large ones must not keep everybody else from joining groups and beginning transactions.
  bool has_room(uint64_t more) const {
    if (budget_ == nullptr || more == 0 || is_planted(RequestCanary::unlimited_state)) return true;
    const uint64_t limit = budget_->limit(MemoryAccount::coordinator_state);
    const uint64_t bound = more <= limit / kSmallPart ? 2 * limit : limit;
    const uint64_t used = budget_->used(MemoryAccount::coordinator_state);
    return used <= bound && more <= bound - used;
  }

 private:
  static constexpr uint64_t kSmallPart = 1024;

  MemoryBudget* budget_ = nullptr;
  MemoryLease lease_;
};

}  // namespace naru
