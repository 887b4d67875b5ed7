// What a ReplicaFetcher knows of one partition.
#pragma once

#include <atomic>
#include <memory>
#include <utility>

#include "broker/replica_fetcher.h"

namespace naru {

// One partition. Told by it, inside its strand, when there is something else to tell its leader.
class ReplicaFetcher::Entry final : public FollowerObserver, public std::enable_shared_from_this<Entry> {
 public:
  Entry(std::weak_ptr<ReplicaFetcher> fetcher, std::shared_ptr<Partition> followed)
      : partition(std::move(followed)), fetcher_(std::move(fetcher)) {}

  void position_changed() override {
    if (const auto fetcher = fetcher_.lock()) fetcher->add_news(shared_from_this());
  }
  Key key() const { return key_of(*partition); }
  bool waits_for_sync() const { return sent.flush_counts && sent.flushed_end < sent.offset; }

  const std::shared_ptr<Partition> partition;
  LeaderEpoch leader_epoch{-1};  // guarded by the fetcher's mutex
  bool in_news = false;          // likewise
  std::atomic<int64_t> lag{0};

  // Of the coroutine.
  bool is_dirty = false;
  bool in_session = false;
  bool in_syncing = false;
  bool says_it_again = false;
  int64_t question = 0;  // of the leader, in this session, and not answered yet; 0: none
  FollowerPosition sent;
  Offset leaders_high_watermark{0};
  MonotonicTime not_before;
  Duration pause = kFirstPause;
  ErrorCode reported = ErrorCode::none;

 private:
  const std::weak_ptr<ReplicaFetcher> fetcher_;
};

}  // namespace naru
