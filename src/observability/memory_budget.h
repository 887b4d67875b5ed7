// One budget for the memory that clients can make the broker use, with an account per purpose.
//
// Work that starts something (reading a request body) waits in line: reserve_now() if nobody does, else
// reserve_when_free(). Work inside an admitted request (decompression) does not wait, because it would wait for memory
// that its own neighbours hold: try_reserve() either succeeds or the request fails with a retriable error. Waiters are
// served strictly first come, first served; a try never looks at them, which starves nobody: only admitted requests
// try, and they end. What can be held for long without being wanted (sessions, answers that nobody reads, parked
// fetches) has only a part of the budget, so that it cannot keep requests from being read.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <list>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "foundation/function.h"
#include "foundation/status.h"
#include "observability/metrics_registry.h"

namespace naru {

enum class MemoryAccount : uint8_t {
  request_bodies,
  parked_fetches,
  decompression,
  producer_state,
  sessions,
  responses,
  decoded_requests,
  coordinator_state,
};
inline constexpr size_t kMemoryAccounts = 8;
std::string_view account_name(MemoryAccount account);

class MemoryBudget;

// Reserved bytes; gives them back when destroyed. Must not outlive the budget.
class MemoryLease {
 public:
  MemoryLease() = default;
  MemoryLease(MemoryLease&& other) noexcept;
  MemoryLease& operator=(MemoryLease&& other) noexcept;
  ~MemoryLease() { release(); }

  uint64_t bytes() const { return bytes_; }
  void release();
  // Gives back a part: the work turned out smaller than feared.
  void shrink_to(uint64_t bytes);
  // Puts the bytes of `other`, a lease of the same account, into this one.
  void merge(MemoryLease other);

 private:
  friend class MemoryBudget;
  MemoryLease(MemoryBudget* budget, MemoryAccount account, uint64_t bytes)
      : budget_(budget), account_(account), bytes_(bytes) {}

  MemoryBudget* budget_ = nullptr;
  MemoryAccount account_{};
  uint64_t bytes_ = 0;
};

// Thread-safe. Reserving and releasing are a few atomic operations while nobody waits.
class MemoryBudget {
 public:
  using WaiterId = uint64_t;
  using Granted = UniqueFunction<void(MemoryLease)>;

  explicit MemoryBudget(uint64_t total_bytes) : total_(total_bytes) {}
  // Nothing may be reserved any more, and nobody may wait.
  ~MemoryBudget();
  MemoryBudget(const MemoryBudget&) = delete;
  MemoryBudget& operator=(const MemoryBudget&) = delete;

  // None when the budget, or the account's part of it, is used up.
  std::optional<MemoryLease> try_reserve(MemoryAccount account, uint64_t bytes);

  // For what exists already, such as an answer: None when the account's part is used up, but the whole budget may be
  // exceeded by it. Then nothing else is reserved until there is room again.
  std::optional<MemoryLease> charge(MemoryAccount account, uint64_t bytes);

  // For what is there and stays, whatever the limits say, such as the state that a log holds. Beyond twice the
  // account's part it does not count for the whole budget: then no request would be read any more, also none that makes
  // the state smaller.
  MemoryLease charge_anyway(MemoryAccount account, uint64_t bytes);
  // Whether the account's part leaves so much. It may be gone a moment later.
  bool has_room(MemoryAccount account, uint64_t bytes) const;

  // None when it is not there, or somebody waits for memory: then reserve_when_free() is the way.
  std::optional<MemoryLease> reserve_now(MemoryAccount account, uint64_t bytes);

  // Calls `granted` with the memory once it is there, after everybody who asked before; on the thread that freed it (or
  // on this one), outside of any strand. ErrorCode::out_of_memory_budget at once if it is more than the whole budget.
  Result<WaiterId> reserve_when_free(MemoryAccount account, uint64_t bytes, Granted granted);
  // True: `granted` will never be called. False: it was called, or is about to be.
  bool cancel(WaiterId waiter);

  uint64_t total() const { return total_; }
  // How much of the budget an account may have.
  uint64_t limit(MemoryAccount account) const;
  uint64_t used() const { return used_.load(std::memory_order_relaxed); }
  uint64_t used(MemoryAccount account) const;
  size_t waiting() const { return waiting_.load(std::memory_order_relaxed); }

  // Gauges for use and waiters, and a counter of refusals. Once, before the budget is used; for as long as the budget
  // lives or until the result is destroyed.
  [[nodiscard]] std::vector<GaugeCallback> register_metrics(MetricsRegistry& registry);

 private:
  friend class MemoryLease;
  struct Waiter {
    WaiterId id = 0;
    MemoryAccount account{};
    uint64_t bytes = 0;
    Granted granted;
  };

  bool take_of_account(MemoryAccount account, uint64_t bytes);
  bool take(MemoryAccount account, uint64_t bytes);
  // How much of what an account holds counts for the whole budget.
  uint64_t counted(MemoryAccount account, uint64_t used) const;
  void give_back(MemoryAccount account, uint64_t bytes);
  void serve_waiters();

  const uint64_t total_;
  std::atomic<uint64_t> used_{0};
  std::array<std::atomic<uint64_t>, kMemoryAccounts> used_by_account_{};
  std::atomic<size_t> waiting_{0};
  Counter* refused_counter_ = nullptr;

  std::mutex mutex_;
  std::list<Waiter> waiters_;
  WaiterId next_waiter_ = 1;
};

}  // namespace naru
