#include "platform/real/real_clock.h"

#include <time.h>

namespace naru {
namespace {

std::chrono::nanoseconds read_clock(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

}  // namespace

MonotonicTime RealClock::now() const {
  return MonotonicTime(read_clock(CLOCK_MONOTONIC));
}

WallTimeMs RealClock::wall_now_ms() const {
  return std::chrono::duration_cast<Milliseconds>(read_clock(CLOCK_REALTIME)).count();
}

}  // namespace naru
