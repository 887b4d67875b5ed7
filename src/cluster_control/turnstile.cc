#include "cluster_control/turnstile.h"

#include <cstdint>

namespace naru {

Task<Result<Turnstile::Turn>> Turnstile::enter() {
  NARU_CO_TRY(co_await wait_for_turn(max_waiting_));
  co_return Turn(*this);
}

Task<Turnstile::Turn> Turnstile::enter_always() {
  ignore(co_await wait_for_turn(SIZE_MAX));
  co_return Turn(*this);
}

Task<Status> Turnstile::wait_for_turn(size_t max_waiting) {
  OneShot<Status> my_turn;
  strand_.run([this, max_waiting, &my_turn] {
    if (!busy_) {
      busy_ = true;
      my_turn.set({});
    } else if (waiting_.size() < max_waiting) {
      waiting_.push_back(&my_turn);
    } else {
      my_turn.set(error(ErrorCode::request_timed_out, "{} requests wait for the controller already", max_waiting));
    }
  });
  co_return co_await my_turn;
}

void Turnstile::leave() {
  strand_.run([this] {
    if (waiting_.empty()) {
      busy_ = false;
      return;
    }
    OneShot<Status>* next = waiting_.front();
    waiting_.pop_front();
    next->set({});
  });
}

}  // namespace naru
