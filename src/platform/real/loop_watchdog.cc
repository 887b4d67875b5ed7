#include "platform/real/loop_watchdog.h"

#include <pthread.h>

#include <utility>

#include "platform/real/event_loop.h"

namespace naru {
namespace {

// Looks without any sign of life after which the watchdog sleeps until a loop wakes it.
constexpr int kIdleLooksMax = 10;

}  // namespace

LoopWatchdog::LoopWatchdog(const Clock& clock, WatchdogOptions options) : clock_(clock), options_(std::move(options)) {}

LoopWatchdog::~LoopWatchdog() {
  stop();
}

void LoopWatchdog::watch(std::vector<const EventLoop*> loops) {
  for (const EventLoop* loop : loops) watched_.push_back({.loop = loop});
  thread_ = std::thread([this] {
    pthread_setname_np(pthread_self(), "naru-watchdog");
    run();
  });
}

void LoopWatchdog::stop() {
  {
    const std::scoped_lock lock(mutex_);
    ending_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void LoopWatchdog::turn_ended(Duration took) {
  if (took < options_.threshold) return;
  stalls_.fetch_add(1, std::memory_order_relaxed);
  int64_t longest = longest_ns_.load(std::memory_order_relaxed);
  while (longest < took.count() &&
         !longest_ns_.compare_exchange_weak(longest, took.count(), std::memory_order_relaxed)) {
  }
}

void LoopWatchdog::wake() {
  {
    const std::scoped_lock lock(mutex_);
    asleep_.store(false, std::memory_order_relaxed);
  }
  changed_.notify_one();
}

void LoopWatchdog::run() {
  int idle_looks = 0;
  std::unique_lock lock(mutex_);
  while (!ending_) {
    if (idle_looks < kIdleLooksMax) {
      changed_.wait_for(lock, options_.interval, [this] { return ending_; });
    } else {
      asleep_.store(true, std::memory_order_relaxed);
      changed_.wait(lock, [this] { return ending_ || !asleep_.load(std::memory_order_relaxed); });
      idle_looks = 0;
      continue;
    }
    lock.unlock();
    bool alive = false;
    for (Watched& watched : watched_) alive |= look_at(watched);
    idle_looks = alive ? 0 : idle_looks + 1;
    lock.lock();
  }
}

bool LoopWatchdog::look_at(Watched& watched) {
  const uint64_t turns = watched.loop->turns();
  const auto since = watched.loop->busy_since();
  const bool alive = since.has_value() || turns != std::exchange(watched.turns, turns);
  if (!since || since == watched.reported) return alive;
  const Duration so_far = clock_.now() - *since;
  if (so_far < options_.threshold) return alive;
  watched.reported = since;
  if (options_.on_stall) options_.on_stall({watched.loop->index(), so_far});
  return alive;
}

}  // namespace naru
