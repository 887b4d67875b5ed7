// The kernel's clocks. Thread-safe.
#pragma once

#include "platform/clock.h"

namespace naru {

class RealClock final : public Clock {
 public:
  MonotonicTime now() const override;  // CLOCK_MONOTONIC, the clock that libuv's timers use
  WallTimeMs wall_now_ms() const override;
};

}  // namespace naru
