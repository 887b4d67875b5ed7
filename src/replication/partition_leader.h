// What a partition's leader may promise: an I/O-free core.
//
// It hears of appends, syncs and changes of the in-sync set, and knows from that the high watermark and which
// acknowledgements are due. Nothing here reads a clock, a file or a socket; the partition's strand calls it.
//
//   flush.messages=1 (our default): an offset counts for a replica once that replica has *synced* it.
//       acks=1 is due when the leader has synced it; acks=all when every in-sync replica has, which is when the high
//       watermark passes. So nobody reads, and nobody was promised, what a power cut would take back.
//   flush.messages>1 (Kafka's rule): an offset counts once it is in the replica's log; no acknowledgement waits for a
//   sync.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "foundation/ids.h"
#include "foundation/status.h"

namespace naru {

enum class Acks : int16_t { none = 0, leader = 1, all_in_sync = -1 };

// How far a replica has come; both offsets are exclusive.
struct ReplicaProgress {
  Offset log_end{0};
  Offset synced_end{0};
};

// Somebody who waits for an acknowledgement. Told exactly once.
class AckWaiter {
 public:
  virtual ~AckWaiter() = default;
  // ok: everything below the offset it waited for is promised. Else: the reason why it never will be.
  virtual void acknowledged(const Status& status) = 0;
};

struct LeaderRules {
  bool sync_before_ack = true;
  int32_t min_insync_replicas = 1;
};

class PartitionLeader {
 public:
  // A leader starts from a recovered log whose content is synced; its high watermark is the end of that log only if it
  // is the whole in-sync set, else it has to be learned from the others.
  PartitionLeader(BrokerId self, LeaderRules rules, std::vector<BrokerId> in_sync, ReplicaProgress own);

  Offset high_watermark() const { return high_watermark_; }
  const ReplicaProgress& own_progress() const { return own_; }
  // Bytes of batches below the high watermark, counted since this leader started: grows when readers have more to read.
  uint64_t committed_bytes() const { return committed_bytes_; }
  bool enough_replicas() const;

  void set_rules(LeaderRules rules);
  void set_in_sync(std::vector<BrokerId> in_sync);

  // The log has grown to `end` by a batch of `bytes`.
  void appended(Offset end, uint64_t bytes);
  // The own log is durable below `end`.
  void synced(Offset end);
  // A follower reported its progress.
  void follower_progress(BrokerId follower, ReplicaProgress progress);
  // The log was cut back, which never happens below the high watermark.
  void truncated(Offset end);

  // What to tell somebody who wants everything below `end` acknowledged; nothing: he has to wait_for() it.
  std::optional<Status> verdict(Offset end, Acks acks) const;
  // Parks a waiter for everything below `end`, for which there is no verdict yet.
  void wait_for(Offset end, Acks acks, std::shared_ptr<AckWaiter> waiter);
  struct DueAck {
    std::shared_ptr<AckWaiter> waiter;
    Status status;
  };
  // Removes and returns the waiters that are due now, with what to tell them.
  std::vector<DueAck> take_due();
  // Removes and returns all waiters, due or not: leadership is lost, the log is offline, the topic is deleted.
  std::vector<std::shared_ptr<AckWaiter>> take_all();
  size_t waiting() const { return for_own_sync_.size() + for_high_watermark_.size(); }

 private:
  // Ascending. Not a deque: that takes memory of its own even while it is empty, and most partitions are idle.
  using Waiters = std::vector<std::pair<Offset, std::shared_ptr<AckWaiter>>>;

  static void park(Waiters& waiters, Offset end, std::shared_ptr<AckWaiter> waiter);

  Offset counted_end(const ReplicaProgress& progress) const;
  // What acks=all is told once the high watermark has passed: the set may have shrunk since the append.
  Status all_in_sync_verdict() const;
  void maybe_advance_high_watermark();

  BrokerId self_;
  LeaderRules rules_;
  std::vector<BrokerId> in_sync_;
  ReplicaProgress own_;
  std::map<BrokerId, ReplicaProgress> followers_;  // those that have reported
  Offset high_watermark_{0};

  struct UncommittedBatch {
    Offset end;
    uint64_t bytes;
  };
  std::vector<UncommittedBatch> uncommitted_;  // ascending
  uint64_t committed_bytes_ = 0;

  Waiters for_own_sync_;
  Waiters for_high_watermark_;
};

}  // namespace naru
