// `co_await in_strand(strand, function)`: runs the function inside the strand and goes on with its value outside of it.
//
// A free strand: the function runs at once and the coroutine does not suspend. A busy one: the thread inside runs the
// function, and the coroutine goes on there, after that thread has left its strands. Nothing is allocated.
#pragma once

#include <atomic>
#include <coroutine>
#include <optional>
#include <type_traits>
#include <utility>

#include "async/ready_queue.h"
#include "async/strand.h"

namespace naru {

template <class Function>
class [[nodiscard]] InStrand final : private StrandEvent {
 public:
  using Value = std::invoke_result_t<Function>;
  static_assert(!std::is_void_v<Value>, "let the function return something, Unit{} for instance");

  InStrand(Strand& strand, Function function) : strand_(strand), function_(std::move(function)) {
    StrandEvent::run = [](StrandEvent* event) { static_cast<InStrand*>(event)->run_inside(); };
  }
  InStrand(const InStrand&) = delete;
  InStrand& operator=(const InStrand&) = delete;

  bool await_ready() const { return false; }
  bool await_suspend(std::coroutine_handle<> waiter) {
    waiter_ = waiter;
    strand_.run(this);
    return progress_.exchange(Progress::suspended, std::memory_order_acq_rel) != Progress::done;
  }
  Value await_resume() { return std::move(*value_); }

 private:
  enum class Progress : uint8_t { queued, suspended, done };

  void run_inside() {
    value_.emplace(function_());
    // If the waiter has not suspended yet it will find `done`, and may then be gone: touch nothing afterwards.
    const auto waiter = waiter_;
    if (progress_.exchange(Progress::done, std::memory_order_acq_rel) == Progress::suspended) resume_when_ready(waiter);
  }

  Strand& strand_;
  Function function_;
  std::coroutine_handle<> waiter_;
  std::optional<Value> value_;
  std::atomic<Progress> progress_{Progress::queued};
};

template <class Function>
InStrand<Function> in_strand(Strand& strand, Function function) {
  return InStrand<Function>(strand, std::move(function));
}

}  // namespace naru
