// Notices event loops that do not come back: code that blocks or computes for long on a loop delays every connection of
// that loop. One thread looks at all loops now and then, and sleeps for good while all of them are idle.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "foundation/function.h"
#include "foundation/time.h"
#include "platform/clock.h"

namespace naru {

class EventLoop;

struct LoopStall {
  size_t loop = 0;
  Duration so_far{};
};

struct WatchdogOptions {
  static constexpr Duration kNever = 24h * 365;
  Duration interval = 1s;
  Duration threshold = 500ms;
  // On the watchdog's thread, once per stall, while the loop is still stuck.
  UniqueFunction<void(const LoopStall&)> on_stall;
};

class LoopWatchdog {
 public:
  LoopWatchdog(const Clock& clock, WatchdogOptions options);
  ~LoopWatchdog();

  void watch(std::vector<const EventLoop*> loops);
  void stop();

  // From a loop: a turn has ended that took this long.
  void turn_ended(Duration took);
  // From a loop that wakes up.
  void loop_woke() {
    if (asleep_.load(std::memory_order_relaxed)) wake();
  }

  uint64_t stalls() const { return stalls_.load(std::memory_order_relaxed); }
  Duration longest_stall() const { return Duration(longest_ns_.load(std::memory_order_relaxed)); }

 private:
  struct Watched {
    const EventLoop* loop;
    uint64_t turns = 0;
    std::optional<MonotonicTime> reported;
  };

  void run();
  void wake();
  bool look_at(Watched& watched);  // whether the loop did anything since the last look

  const Clock& clock_;
  WatchdogOptions options_;
  std::vector<Watched> watched_;
  std::atomic<bool> asleep_{false};
  std::atomic<uint64_t> stalls_{0};
  std::atomic<int64_t> longest_ns_{0};
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace naru
