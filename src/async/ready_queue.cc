#include "async/ready_queue.h"

#include <deque>
#include <utility>
#include <variant>

#include "foundation/assert.h"

namespace naru {
namespace {

using Ready = std::variant<std::coroutine_handle<>, UniqueFunction<void()>>;

struct ThreadState {
  std::deque<Ready> queue;
  int strands_held = 0;
  bool draining = false;
};
thread_local ThreadState thread_state;

void drain() {
  ThreadState& state = thread_state;
  if (state.draining || state.strands_held > 0) return;
  state.draining = true;
  while (!state.queue.empty()) {
    Ready ready = std::move(state.queue.front());
    state.queue.pop_front();
    if (auto* coroutine = std::get_if<std::coroutine_handle<>>(&ready)) {
      coroutine->resume();
    } else {
      std::get<UniqueFunction<void()>>(ready)();
    }
  }
  state.draining = false;
}

}  // namespace

void run_when_ready(UniqueFunction<void()> work) {
  thread_state.queue.emplace_back(std::move(work));
  drain();
}

void resume_when_ready(std::coroutine_handle<> coroutine) {
  thread_state.queue.emplace_back(coroutine);
  drain();
}

namespace detail {

void enter_strand() {
  ++thread_state.strands_held;
}

void leave_strand() {
  NARU_ASSERT(thread_state.strands_held > 0, "left a strand that was not entered");
  --thread_state.strands_held;
  drain();
}

}  // namespace detail
}  // namespace naru
