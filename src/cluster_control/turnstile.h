// Lets tasks through one at a time, in the order in which they came.
#pragma once

#include <cstddef>
#include <deque>
#include <utility>

#include "async/one_shot.h"
#include "async/strand.h"
#include "async/task.h"
#include "foundation/status.h"

namespace naru {

// Thread-safe. Outlives its turns.
class Turnstile {
 public:
  explicit Turnstile(size_t max_waiting) : max_waiting_(max_waiting) {}

  // Destroying it lets the next task in.
  class Turn {
   public:
    explicit Turn(Turnstile& turnstile) : turnstile_(&turnstile) {}
    Turn(Turn&& other) noexcept : turnstile_(std::exchange(other.turnstile_, nullptr)) {}
    Turn& operator=(Turn&&) = delete;
    ~Turn() {
      if (turnstile_ != nullptr) turnstile_->leave();
    }

   private:
    Turnstile* turnstile_;
  };

  // request_timed_out, at once, when too many wait already.
  Task<Result<Turn>> enter();
  // However many wait: for the few that are part of the controller itself.
  Task<Turn> enter_always();

 private:
  Task<Status> wait_for_turn(size_t max_waiting);
  void leave();

  const size_t max_waiting_;
  Strand strand_;
  bool busy_ = false;
  std::deque<OneShot<Status>*> waiting_;
};

}  // namespace naru
