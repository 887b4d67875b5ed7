#include "async/strand.h"

#include "async/ready_queue.h"
#include "foundation/assert.h"

namespace naru {
namespace {

StrandEvent* busy_marker() {
  static StrandEvent marker;
  return &marker;
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

void Strand::leave() {
  // An event may destroy the object that owns this strand only after run() returned on every thread, so `this` is
  // valid.
  for (;;) {
    StrandEvent* expected = busy_marker();
    if (state_.compare_exchange_strong(expected, nullptr, std::memory_order_release, std::memory_order_relaxed)) break;
    run_batch(state_.exchange(busy_marker(), std::memory_order_acquire));
  }
  detail::leave_strand();
}

void Strand::run_batch(StrandEvent* newest_first) {
  StrandEvent* oldest_first = nullptr;
  while (newest_first != nullptr) {
    StrandEvent* next = newest_first->next;
    newest_first->next = oldest_first;
    oldest_first = newest_first;
    newest_first = next;
  }
  while (oldest_first != nullptr) {
    StrandEvent* next = oldest_first->next;  // the event may free itself
    oldest_first->run(oldest_first);
    oldest_first = next;
  }
}

}  // namespace naru
