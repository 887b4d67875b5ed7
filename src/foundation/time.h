// Two clocks that cannot be mixed up. Timeouts use the monotonic one; only timestamps and retention use the wall clock.
#pragma once

#include <chrono>
#include <cstdint>

namespace naru {

using namespace std::chrono_literals;
using Duration = std::chrono::nanoseconds;
using Milliseconds = std::chrono::milliseconds;

// Time since some fixed moment of this process; never steps.
using MonotonicTime = std::chrono::time_point<struct MonotonicTag, Duration>;

// Milliseconds since 1970, as in Kafka's timestamps; may step in both directions.
using WallTimeMs = int64_t;

}  // namespace naru
