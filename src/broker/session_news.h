// What happened to the partitions of a fetch session since it last looked.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "async/wakeup.h"
#include "replication/partition.h"

namespace naru {

// Thread-safe: told inside the partitions' strands, asked by the session. The lock is held for a few instructions.
// Bounded by the number of partitions: news of one that was not looked at yet is no more news.
class SessionNews final : public FetchWatcher {
 public:
  using FetchWatcher::FetchWatcher;

  void more_to_read(uint32_t slot, uint64_t bytes) override { tell(slot, false, bytes); }
  // Whoever deletes records waits for the followers.
  void log_start_moved(uint32_t slot, Audience audience) override {
    tell(slot, false, 0, audience == Audience::followers);
  }
  void high_watermark_moved(uint32_t slot) override { tell(slot, false, 0); }
  void asked(uint32_t slot) override { tell(slot, false, 0, true); }
  void state_changed(uint32_t slot) override { tell(slot, true, 0); }
  MonotonicTime followed_at(BrokerId follower) const override {
    return follower_.load(std::memory_order_relaxed) == follower.value()
               ? MonotonicTime(followed_at_.load(std::memory_order_relaxed))
               : MonotonicTime::min();
  }

  // A session belongs to a connection, so it is one follower at most.
  void is_followed_by(BrokerId follower, MonotonicTime at) {
    followed_at_.store(at.time_since_epoch(), std::memory_order_relaxed);
    follower_.store(follower.value(), std::memory_order_relaxed);
  }

  struct Item {
    uint32_t slot = 0;
    bool state_changed = false;  // the partition may have to be looked up again
  };
  // Everything since the last call.
  std::vector<Item> take();

  // Wakes `parked` when so many bytes have become readable since the last take(), or something has happened that is
  // told at once; straight away if that is so already. Until unpark().
  void park(std::shared_ptr<Wakeup> parked, uint64_t bytes_wanted);
  void unpark();

 private:
  void tell(uint32_t slot, bool state_changed, uint64_t bytes, bool urgent = false);
  bool enough() const { return urgent_ || bytes_ >= bytes_wanted_; }

  enum class Mark : uint8_t { none, told, state_changed };

  std::atomic<int32_t> follower_{kNoBroker.value()};
  std::atomic<Duration> followed_at_{MonotonicTime::min().time_since_epoch()};
  std::mutex mutex_;
  std::vector<uint32_t> slots_;  // in the order of the news
  std::vector<Mark> marks_;      // by slot
  uint64_t bytes_ = 0;
  bool urgent_ = false;
  std::shared_ptr<Wakeup> parked_;
  uint64_t bytes_wanted_ = 0;
};

}  // namespace naru
