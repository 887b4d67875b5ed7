#include "observability/memory_budget.h"

#include <algorithm>

#include "async/ready_queue.h"
#include "foundation/assert.h"

namespace naru {
namespace {

constexpr std::array<std::string_view, kMemoryAccounts> kAccountNames{
    "request_bodies", "parked_fetches", "decompression",    "producer_state",
    "sessions",       "responses",      "decoded_requests", "coordinator_state"};

// The part of the budget that an account may have: one in so many.
constexpr std::array<uint64_t, kMemoryAccounts> kParts{1, 4, 2, 1, 4, 4, 2, 4};

}  // namespace

std::string_view account_name(MemoryAccount account) {
  return kAccountNames.at(static_cast<size_t>(account));
}

MemoryLease::MemoryLease(MemoryLease&& other) noexcept
    : budget_(std::exchange(other.budget_, nullptr)),
      account_(other.account_),
      bytes_(std::exchange(other.bytes_, 0)) {}

MemoryLease& MemoryLease::operator=(MemoryLease&& other) noexcept {
  if (this != &other) {
    release();
    budget_ = std::exchange(other.budget_, nullptr);
    account_ = other.account_;
    bytes_ = std::exchange(other.bytes_, 0);
  }
  return *this;
}

void MemoryLease::release() {
  shrink_to(0);
}

void MemoryLease::shrink_to(uint64_t bytes) {
  if (bytes >= bytes_) return;
  const uint64_t returned = bytes_ - bytes;
  bytes_ = bytes;
  budget_->give_back(account_, returned);
}

void MemoryLease::merge(MemoryLease other) {
  if (other.bytes_ == 0) return;
  if (bytes_ == 0) {
    *this = std::move(other);
    return;
  }
  NARU_ASSERT(other.account_ == account_ && other.budget_ == budget_, "leases of different accounts are merged");
  bytes_ += std::exchange(other.bytes_, 0);
}

MemoryBudget::~MemoryBudget() {
  NARU_ASSERT(used_.load() == 0, "{} bytes are still reserved", used_.load());
  NARU_ASSERT(waiters_.empty(), "{} waiters are left", waiters_.size());
}

uint64_t MemoryBudget::used(MemoryAccount account) const {
  return used_by_account_[static_cast<size_t>(account)].load(std::memory_order_relaxed);
}

uint64_t MemoryBudget::limit(MemoryAccount account) const {
  return total_ / kParts[static_cast<size_t>(account)];
}

uint64_t MemoryBudget::counted(MemoryAccount account, uint64_t used) const {
  // Nothing but state is charged anyway.
  return account == MemoryAccount::coordinator_state ? std::min(used, 2 * limit(account)) : used;
}

bool MemoryBudget::take_of_account(MemoryAccount account, uint64_t bytes) {
  auto& used = used_by_account_[static_cast<size_t>(account)];
  const uint64_t before = used.fetch_add(bytes, std::memory_order_relaxed);
  if (before <= limit(account) && bytes <= limit(account) - before) return true;
  used.fetch_sub(bytes, std::memory_order_relaxed);
  return false;
}

bool MemoryBudget::take(MemoryAccount account, uint64_t bytes) {
  if (!take_of_account(account, bytes)) return false;
  uint64_t used = used_.load();
  do {
    if (used > total_ || bytes > total_ - used) {
      used_by_account_[static_cast<size_t>(account)].fetch_sub(bytes, std::memory_order_relaxed);
      return false;
    }
  } while (!used_.compare_exchange_weak(used, used + bytes));
  return true;
}

// Sequentially consistent on used_ and waiting_: either this thread sees the waiter, or the waiter, who looks at used_
// after it was counted, sees the freed bytes.
void MemoryBudget::give_back(MemoryAccount account, uint64_t bytes) {
  const uint64_t before = used_by_account_[static_cast<size_t>(account)].fetch_sub(bytes, std::memory_order_relaxed);
  used_.fetch_sub(counted(account, before) - counted(account, before - bytes));
  if (waiting_.load() > 0) serve_waiters();
}

std::optional<MemoryLease> MemoryBudget::try_reserve(MemoryAccount account, uint64_t bytes) {
  if (take(account, bytes)) return MemoryLease(this, account, bytes);
  if (refused_counter_ != nullptr) refused_counter_->add();
  return std::nullopt;
}

std::optional<MemoryLease> MemoryBudget::charge(MemoryAccount account, uint64_t bytes) {
  if (!take_of_account(account, bytes)) return std::nullopt;
  used_.fetch_add(bytes);
  return MemoryLease(this, account, bytes);
}

MemoryLease MemoryBudget::charge_anyway(MemoryAccount account, uint64_t bytes) {
  const uint64_t before = used_by_account_[static_cast<size_t>(account)].fetch_add(bytes, std::memory_order_relaxed);
  used_.fetch_add(counted(account, before + bytes) - counted(account, before));
  return {this, account, bytes};
}

bool MemoryBudget::has_room(MemoryAccount account, uint64_t bytes) const {
  const uint64_t now = used(account);
  return now <= limit(account) && bytes <= limit(account) - now;
}

std::optional<MemoryLease> MemoryBudget::reserve_now(MemoryAccount account, uint64_t bytes) {
  if (waiting_.load() > 0 || !take(account, bytes)) return std::nullopt;
  return MemoryLease(this, account, bytes);
}

Result<MemoryBudget::WaiterId> MemoryBudget::reserve_when_free(MemoryAccount account, uint64_t bytes, Granted granted) {
  if (bytes > limit(account)) {
    return failure(ErrorCode::out_of_memory_budget, "{} bytes are more than the whole memory budget of {}", bytes,
                   limit(account));
  }
  WaiterId id = 0;
  {
    const std::lock_guard lock(mutex_);
    id = next_waiter_++;
    waiters_.push_back({id, account, bytes, std::move(granted)});
    waiting_.fetch_add(1);
  }
  serve_waiters();
  return id;
}

void MemoryBudget::serve_waiters() {
  std::list<Waiter> served;
  {
    const std::lock_guard lock(mutex_);
    while (!waiters_.empty() && take(waiters_.front().account, waiters_.front().bytes)) {
      served.splice(served.end(), waiters_, waiters_.begin());
      waiting_.fetch_sub(1);
    }
  }
  for (Waiter& waiter : served) {
    run_when_ready([granted = std::move(waiter.granted),
                    lease = MemoryLease(this, waiter.account, waiter.bytes)]() mutable { granted(std::move(lease)); });
  }
}

bool MemoryBudget::cancel(WaiterId waiter) {
  bool cancelled = false;
  {
    const std::lock_guard lock(mutex_);
    cancelled = std::erase_if(waiters_, [waiter](const Waiter& each) { return each.id == waiter; }) > 0;
    if (cancelled) waiting_.fetch_sub(1);
  }
  if (cancelled) serve_waiters();  // it may have stood in front of smaller ones
  return cancelled;
}

std::vector<GaugeCallback> MemoryBudget::register_metrics(MetricsRegistry& registry) {
  std::vector<GaugeCallback> gauges;
  for (size_t i = 0; i < kMemoryAccounts; ++i) {
    const auto account = static_cast<MemoryAccount>(i);
    gauges.push_back(registry.computed_gauge("naru_memory_used_bytes", "Bytes of the memory budget in use, by account.",
                                             {{"account", std::string(account_name(account))}},
                                             [this, account] { return static_cast<double>(used(account)); }));
  }
  gauges.push_back(registry.computed_gauge("naru_memory_budget_bytes", "The memory budget.", {},
                                           [this] { return static_cast<double>(total_); }));
  gauges.push_back(registry.computed_gauge("naru_memory_waiters", "Requests that wait for memory before they are read.",
                                           {}, [this] { return static_cast<double>(waiting()); }));
  refused_counter_ =
      &registry.counter("naru_memory_refused_total", "Reservations that failed because the budget was used up.");
  return gauges;
}

}  // namespace naru
