// Work for which a client chooses the amount is done in turns, so that it does not keep a thread from everybody else:
// `co_await turns.step()` once for each element of a request's list. Most of the time nothing happens. When the turn is
// over, after a millisecond or a number of elements, the request goes to the end of the queue of a loop.
#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "broker/broker_services.h"
#include "broker/request_context.h"
#include "foundation/request_canary.h"

namespace naru {

// Lives in the handler's coroutine.
class Turns {
 public:
  // Whether requests behind this one on its connection have to wait while it is between two turns: until settled(), or
  // the end. `kept` only for turns that begin before the handler first waits for anything, on the connection's loop.
  enum class Order : uint8_t { free, kept };

  static constexpr size_t kStepsPerTurn = 2048;
  static constexpr Duration kTurn = 1ms;

  Turns(const BrokerServices& services, const RequestContext& context, Order order = Order::free)
      : services_(services), context_(context), order_(order) {}
  ~Turns() { settled(); }
  Turns(const Turns&) = delete;
  Turns& operator=(const Turns&) = delete;

  struct ToWorker {
    Scheduler& scheduler;
    bool is_large;
    bool await_ready() const { return !is_large; }
    void await_suspend(std::coroutine_handle<> coroutine) const {
      scheduler.run_blocking([coroutine] { coroutine.resume(); });
    }
    void await_resume() const {}
  };

  auto step() {
    struct Awaiter {
      Turns& turns;
      bool await_ready() const { return !turns.is_over(); }
      void await_suspend(std::coroutine_handle<> coroutine) const { turns.begin_next(coroutine); }
      void await_resume() const {}
    };
    return Awaiter{*this};
  }

  // As much work as so many steps, which is about to be done, or was done, in one piece.
  void add(size_t steps) {
    steps_ += steps;
    in_turn_ += steps / kStepsPerLook * kStepsPerLook;
  }

  // After many steps, before work that cannot be done in turns: encoding the answer, a step of a coordinator.
  ToWorker to_worker_if_large() { return {services_.scheduler, steps_ >= kStepsForWorker}; }
  // The same for so many elements that are about to be worked through in one piece.
  ToWorker to_worker_for(size_t elements) {
    add(elements);
    return {services_.scheduler, elements >= kStepsPerTurn};
  }

  // Before a wait that is not a turn's: requests behind this one wait, if their order matters, until settled().
  void hold() {
    if (order_ == Order::kept && !std::exchange(holds_, true)) context_.connection->hold_requests();
  }
  // The requests behind this one may go on.
  void settled() {
    order_ = Order::free;
    if (std::exchange(holds_, false)) context_.connection->release_requests();
  }

  // The client is gone or the broker stops: what is left of a list may be answered with REQUEST_TIMED_OUT.
  bool nobody_waits() const { return context_.connection->gone().cancelled(); }

 private:
  static constexpr size_t kStepsPerLook = 16;  // at the clock
  static constexpr size_t kStepsForWorker = 10'000;

  bool is_over() {
    ++steps_;
    if (is_planted(RequestCanary::work_in_one_turn)) return false;
    if (++in_turn_ % kStepsPerLook != 0) return false;
    const MonotonicTime now = services_.clock.now();
    if (in_turn_ == kStepsPerLook) begun_ = now;
    return in_turn_ >= kStepsPerTurn || now - begun_ >= kTurn;
  }
  void begin_next(std::coroutine_handle<> coroutine) {
    in_turn_ = 0;
    hold();
    services_.scheduler.post([coroutine] { coroutine.resume(); });
  }

  const BrokerServices& services_;
  const RequestContext& context_;
  Order order_;
  bool holds_ = false;
  size_t steps_ = 0;
  size_t in_turn_ = 0;
  MonotonicTime begun_;
};

}  // namespace naru
