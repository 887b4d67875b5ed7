// One libuv loop and its thread: posted work, timers, and the readiness of sockets.
//
// post, start_timer and cancel_timer may be called from any thread; everything that touches libuv happens on the loop's
// own. An idle loop sleeps: its only libuv timer is armed for the next deadline of its timing wheel.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "foundation/function.h"
#include "foundation/status.h"
#include "foundation/time.h"
#include "platform/clock.h"
#include "timing_wheel/timing_wheel.h"

struct uv_loop_s;

namespace naru {

class LoopWatchdog;

class EventLoop {
 public:
  using TimerHandle = TimingWheelIndex::Handle;

  EventLoop(size_t index, const Clock& clock, LoopWatchdog& watchdog);
  // Streams and listeners on this loop must be closed. Work that is still queued and timers are destroyed unrun.
  ~EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  // The loop whose thread this is; nullptr on other threads.
  static EventLoop* current();
  bool is_current() const { return current() == this; }
  size_t index() const { return index_; }
  uv_loop_s* uv() { return uv_.get(); }  // loop thread only

  // Later, never inside this call. From the loop's own thread without a system call.
  void post(UniqueFunction<void()> work);
  // At once if this is the loop's thread.
  void run(UniqueFunction<void()> work);

  TimerHandle start_timer(MonotonicTime deadline, UniqueFunction<void()> work);
  bool cancel_timer(TimerHandle timer);

  // Every libuv callback that runs our code says so first.
  void note_busy();
  // When the loop last woke up, if it has not gone back to sleep; otherwise nothing.
  std::optional<MonotonicTime> busy_since() const;
  uint64_t turns() const { return turns_.load(std::memory_order_relaxed); }

 private:
  struct Handles;

  void run_thread();
  void close_handles();
  void run_posted_here();
  void run_posted_elsewhere();
  void expire_timers();
  void arm_timer();
  void note_idle();

  const size_t index_;
  const Clock& clock_;
  LoopWatchdog& watchdog_;
  std::unique_ptr<uv_loop_s> uv_;
  std::unique_ptr<Handles> handles_;

  std::vector<UniqueFunction<void()>> posted_here_;  // loop thread only, as the next
  std::vector<UniqueFunction<void()>> running_;      // of posted_here_
  bool closing_ = false;
  std::mutex posted_elsewhere_mutex_;
  std::vector<UniqueFunction<void()>> posted_elsewhere_;

  std::mutex wheel_mutex_;
  TimingWheel<UniqueFunction<void()>> wheel_;
  MonotonicTime armed_for_ = MonotonicTime::max();

  std::atomic<int64_t> busy_since_ns_{0};  // 0: asleep
  std::atomic<uint64_t> turns_{0};
  std::thread thread_;
};

}  // namespace naru
