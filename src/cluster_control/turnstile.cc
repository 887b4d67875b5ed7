#include "cluster_control/turnstile.h"

namespace naru {

Task<Result<Turnstile::Turn>> Turnstile::enter() {
  OneShot<Status> my_turn;
  strand_.run([this, &my_turn] {
    if (!busy_) {
      busy_ = true;
      my_turn.set({});
    } else if (waiting_.size() < max_waiting_) {
      waiting_.push_back(&my_turn);
    } else {
      my_turn.set(error(ErrorCode::request_timed_out, "{} requests wait for the controller already", max_waiting_));
    }
  });
  NARU_CO_TRY(co_await my_turn);
  co_return Turn(*this);
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
