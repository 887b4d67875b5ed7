// For tests: keeps all event loops of a platform busy, as handlers that compute or block for long would.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>

#include "platform/scheduler.h"

namespace naru {

// Made on a thread that is none of them, and returns when all of them are stuck, until it is destroyed.
class StuckLoops {
 public:
  StuckLoops(Scheduler& scheduler, size_t loops) {
    std::unique_lock lock(state_->mutex);
    while (state_->stuck < loops) {
      const size_t before = state_->stuck;
      // It may go to one that is stuck already, which runs it later: then there is nothing to do.
      scheduler.post([state = state_] { state->be_stuck(); });
      state_->changed.wait_for(lock, kLook, [&] { return state_->stuck > before; });
    }
  }
  // Blocks the calling thread, too.
  void stay(Duration time) {
    std::unique_lock lock(state_->mutex);
    state_->changed.wait_for(lock, time, [this] { return state_->released; });
  }
  ~StuckLoops() {
    const std::scoped_lock lock(state_->mutex);
    state_->released = true;
    state_->changed.notify_all();
  }
  StuckLoops(const StuckLoops&) = delete;
  StuckLoops& operator=(const StuckLoops&) = delete;

 private:
  static constexpr Duration kLook = 100ms;

  struct State {
    void be_stuck() {
      std::unique_lock lock(mutex);
      if (released) return;
      ++stuck;
      changed.notify_all();
      changed.wait(lock, [this] { return released; });
    }

    std::mutex mutex;
    std::condition_variable changed;
    size_t stuck = 0;
    bool released = false;
  };

  const std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace naru
