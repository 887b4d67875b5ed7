// The clocks of one simulated machine. Monotonic time is the world's and never steps; the wall clock can be set.
#pragma once

#include "platform/clock.h"
#include "platform/simulated/simulated_event_queue.h"

namespace naru {

class SimulatedClock final : public Clock {
 public:
  static constexpr WallTimeMs kWallStart = 1'750'000'000'000;  // June 2025

  explicit SimulatedClock(const SimulatedEventQueue& queue) : queue_(queue), start_(queue.now()) {}

  MonotonicTime now() const override { return queue_.now(); }
  WallTimeMs wall_now_ms() const override {
    return kWallStart + offset_ms_ + std::chrono::duration_cast<Milliseconds>(queue_.now() - start_).count();
  }
  void step_wall(Milliseconds by) { offset_ms_ += by.count(); }

 private:
  const SimulatedEventQueue& queue_;
  const MonotonicTime start_;
  WallTimeMs offset_ms_ = 0;
};

}  // namespace naru
