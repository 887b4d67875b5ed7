// All event loops of the process, and the choice among them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "platform/real/event_loop.h"

namespace naru {

class LoopGroup {
 public:
  LoopGroup(size_t count, const Clock& clock, LoopWatchdog& watchdog) {
    for (size_t i = 0; i < count; ++i) loops_.push_back(std::make_unique<EventLoop>(i, clock, watchdog));
  }

  // Ends all loops; see EventLoop.
  void stop() { loops_.clear(); }

  size_t size() const { return loops_.size(); }
  EventLoop& operator[](size_t index) { return *loops_[index]; }
  EventLoop& next() { return *loops_[next_.fetch_add(1, std::memory_order_relaxed) % loops_.size()]; }
  // Streams are numbered before they change threads: a busy loop does not make its own look newer.
  uint64_t next_stream_number() { return next_stream_.fetch_add(1, std::memory_order_relaxed); }
  // The calling thread's own, if it has one.
  EventLoop& here_or_next() { return EventLoop::current() != nullptr ? *EventLoop::current() : next(); }
  EventLoop& here_or_first() { return EventLoop::current() != nullptr ? *EventLoop::current() : *loops_.front(); }

 private:
  std::vector<std::unique_ptr<EventLoop>> loops_;
  std::atomic<size_t> next_{0};
  std::atomic<uint64_t> next_stream_{1};
};

}  // namespace naru
