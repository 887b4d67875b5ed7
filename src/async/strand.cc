#include "async/strand.h"

#include <utility>

#include "async/ready_queue.h"
#include "foundation/assert.h"

namespace naru {
namespace {

StrandEvent* busy_marker() {
  static StrandEvent marker;
  return &marker;
}

StrandEvent* oldest_first(StrandEvent* newest_first) {
  StrandEvent* result = nullptr;
  while (newest_first != nullptr) {
    StrandEvent* next = newest_first->next;
    newest_first->next = result;
    result = newest_first;
    newest_first = next;
  }
  return result;
}

}  // namespace

Strand::~Strand() {
  NARU_ASSERT(state_.load(std::memory_order_acquire) == nullptr, "a strand is destroyed while somebody is inside");
}

bool Strand::try_enter() {
  StrandEvent* free = nullptr;
  if (!state_.compare_exchange_strong(free, busy_marker(), std::memory_order_acquire, std::memory_order_relaxed)) {
    return false;
  }
  detail::enter_strand();
  return true;
}

void Strand::run(StrandEvent* event) {
  while (!try_enter()) {
    StrandEvent* seen = state_.load(std::memory_order_relaxed);
    while (seen != nullptr) {
      event->next = seen == busy_marker() ? nullptr : seen;
      if (state_.compare_exchange_weak(seen, event, std::memory_order_release, std::memory_order_relaxed)) return;
    }
  }
  event->run(event);
  leave();
}

void Strand::enter_again() {
  detail::enter_strand();
}

void Strand::leave() {
  // An event may destroy the object that owns this strand only after run() returned on every thread, so `this` is
  // valid: until it is handed over.
  while (carry_ == nullptr) {
    run_batch();
    if (carry_ != nullptr) break;
    StrandEvent* expected = busy_marker();
    if (state_.compare_exchange_strong(expected, nullptr, std::memory_order_release, std::memory_order_relaxed)) {
      return detail::leave_strand();
    }
    batch_ = oldest_first(state_.exchange(busy_marker(), std::memory_order_acquire));
  }
  StrandEvent* carry = std::exchange(carry_, nullptr);
  carry->run(carry);
  detail::leave_strand();
}

void Strand::run_batch() {
  while (batch_ != nullptr && carry_ == nullptr) {
    StrandEvent* event = batch_;
    batch_ = event->next;  // the event may free itself
    event->run(event);
  }
}

}  // namespace naru
