// What a partition's leader may promise: an I/O-free core.
//
// It hears of appends, syncs, the fetches of followers and changes of the in-sync set, and knows from that the high
// watermark, which acknowledgements are due, and which in-sync set to ask the controller for. Nothing here reads a
// clock, a file or a socket; the partition's strand calls it and passes the time in.
//
//   flush.messages=1 (our default): an offset counts for a replica once that replica has *synced* it.
//       acks=1 is due when the leader has synced it; acks=all when every in-sync replica has, which is when the high
//       watermark passes. So nobody reads, and nobody was promised, what a power cut would take back.
//   flush.messages>1 (Kafka's rule): an offset counts once it is in the replica's log; no acknowledgement waits for a
//   sync.
//
// While a proposal is on its way, the controller may have either set, and elect a leader from either. So the high
// watermark waits for the *maximal* in-sync set: the committed and the proposed one together.
//
// The start of the log is told to clients by the same rule: as the least start over the maximal in-sync set. Whoever is
// elected next begins there or later, so that clients never see records again that they were told to be gone.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "foundation/ids.h"
#include "foundation/status.h"
#include "foundation/time.h"
#include "replication/partition_assignment.h"

namespace naru {

enum class Acks : int16_t { none = 0, leader = 1, all_in_sync = -1 };

// How far a replica has come; the two ends are exclusive.
struct ReplicaProgress {
  Offset log_end{0};
  Offset synced_end{0};
  Offset log_start{0};  // durable: a later life of the replica does not begin before it
};

// Which life of a broker fetches.
struct FollowerLife {
  int64_t broker_epoch = -1;
  bool registered = true;  // as far as is known here
  // A moment at which it followed, by the leader's clock: when the answer was sent that this fetch replies to. The
  // fetch itself may have been on its way for any time. Not later than now.
  MonotonicTime followed_at = MonotonicTime::max();
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
  Duration lag_time_max = 30s;              // replica.lag.time.max.ms
  std::optional<int64_t> lag_max_messages;  // replica.lag.max.messages, where the topic sets it
};

class PartitionLeader {
 public:
  // `high_watermark`: as far as it was known here before, as a follower or from an earlier epoch.
  PartitionLeader(BrokerId self, const LeaderRules& rules, const PartitionAssignment& assignment, ReplicaProgress own,
                  Offset high_watermark, MonotonicTime now);

  Offset high_watermark() const { return high_watermark_; }
  const ReplicaProgress& own_progress() const { return own_; }
  // Where this leader's epoch begins: the end of its log when it became leader.
  Offset epoch_start() const { return epoch_start_; }
  // Everything that an earlier leader may have shown or promised is below the high watermark again.
  bool high_watermark_known() const { return high_watermark_ >= epoch_start_; }

  // Every replica that may be elected begins there or later; never moves back. -1: not known yet after an election.
  Offset common_start() const { return common_start_; }

  const std::vector<BrokerId>& in_sync() const { return in_sync_; }
  bool enough_replicas() const;
  // The other members of the maximal in-sync set.
  std::vector<BrokerId> may_be_elected() const;
  // Those of them that are not known to have followed since then.
  std::vector<BrokerId> silent_since(MonotonicTime moment) const;
  // The least end of a follower that has fetched since then and is not at the end of the log; nothing: there is none.
  std::optional<Offset> slowest_since(MonotonicTime moment) const;
  bool under_replicated() const { return in_sync_.size() < replicas_.size(); }

  void set_rules(const LeaderRules& rules);
  // A newer assignment of the same leader epoch.
  void set_assignment(const PartitionAssignment& assignment, MonotonicTime now);

  // The log has grown by a batch.
  void appended(Offset base, Offset end, MonotonicTime now);
  // The own log is durable below `end`.
  void synced(Offset end);
  // The own log begins at `start` now, for good.
  void begins_at(Offset start, MonotonicTime now);
  // A follower has fetched: what it asks for continues the leader's log, so everything below it is the same there.
  // False: it is not a replica, or an earlier life of the broker, and nothing was noted. One that is not registered is
  // heard as long as it may be in sync: what it has counts, but it does not join.
  bool follower_fetched(BrokerId follower, FollowerLife life, ReplicaProgress progress, MonotonicTime now);

  // --- The in-sync set. At most one proposal is on its way; whoever is given one sends it. --------------------------
  // After follower_fetched().
  std::optional<IsrProposal> maybe_expand(MonotonicTime now);
  // From time to time: who lags leaves, who caught up comes, and what got no answer is asked again.
  std::optional<IsrProposal> check_followers(MonotonicTime now);
  void proposal_answered(const IsrProposal& asked, const IsrAnswer& answer, MonotonicTime now);
  bool proposal_on_its_way() const { return on_its_way_; }

  // --- Whether it is followed still. --------------------------------------------------------------------------------
  // Whoever may be elected is asked from now on. One that has repeated the number did not lead at some moment after
  // this call. Numbers rise, also from one leader of this process to the next.
  int64_t ask_followers(MonotonicTime now);
  // What this follower has to be asked; 0: nothing.
  int64_t question_for(BrokerId follower) const;
  // After follower_fetched().
  void follower_answered(BrokerId follower, int64_t question);
  // So say all who may be elected, at a moment after the question was asked.
  bool is_followed_since(int64_t question) const;

  // --- Acknowledgements. ---------------------------------------------------------------------------------------------
  // What to tell somebody who wants everything below `end` acknowledged; nothing: he has to wait_for() it.
  std::optional<Status> verdict(Offset end, Acks acks) const;
  // Parks a waiter for everything below `end`, for which there is no verdict yet.
  void wait_for(Offset end, Acks acks, std::shared_ptr<AckWaiter> waiter);
  struct DueAck {
    std::shared_ptr<AckWaiter> waiter;
    Status status;
    Acks acks = Acks::all_in_sync;
  };
  // Removes and returns the waiters that are due now, with what to tell them.
  std::vector<DueAck> take_due();
  // Removes and returns all waiters, due or not: leadership is lost, the log is offline, the topic is deleted.
  std::vector<std::shared_ptr<AckWaiter>> take_all();
  size_t waiting() const { return for_own_sync_.size() + for_high_watermark_.size(); }

 private:
  // Ascending. Not a deque: that takes memory of its own even while it is empty, and most partitions are idle.
  using Waiters = std::vector<std::pair<Offset, std::shared_ptr<AckWaiter>>>;

  // Who runs after something that moves on: one that is always a little behind is told from one that falls back.
  struct Pursuit {
    MonotonicTime caught_up;  // it had reached what was there at this moment
    // When it has reached `mark`, it was caught up at `mark_time`.
    Offset mark{0};
    MonotonicTime mark_time;

    void reached(Offset here, Offset goal, MonotonicTime now);
    // The goal moves on from where the pursuer is.
    void outrun(Offset goal, MonotonicTime now);
  };

  struct Follower {
    ReplicaProgress progress;
    int64_t broker_epoch = -1;  // -1: not heard of
    // The controller has taken it out: it may be gone, so it does not come back before it has fetched again.
    bool was_expelled = false;
    MonotonicTime last_fetch;
    MonotonicTime followed_at;
    int64_t answered_question = 0;
    Pursuit of_end;    // of the log
    Pursuit of_start;  // likewise: until all have moved theirs, clients are not told that it has moved
  };

  static void park(Waiters& waiters, Offset end, std::shared_ptr<AckWaiter> waiter);

  Offset counted_end(const ReplicaProgress& progress) const;
  void take_members(const PartitionAssignment& assignment, MonotonicTime now);
  void note_expelled(const PartitionAssignment& assignment);
  bool lags(const Follower& follower, MonotonicTime now) const;
  bool too_many_behind(const Follower& follower) const;
  bool is_proposed(BrokerId id) const;
  bool may_join(BrokerId id, const Follower& follower) const;
  std::optional<IsrProposal> propose(std::vector<BrokerId> wanted);
  // What acks=all is told once the high watermark has passed: the set may have shrunk since the append.
  Status all_in_sync_verdict() const;
  void maybe_advance_high_watermark();
  void maybe_advance_common_start();
  // Those that may be in sync in the eyes of the controller.
  bool in_maximal_set(BrokerId id) const;

  BrokerId self_;
  LeaderRules rules_;
  LeaderEpoch leader_epoch_;
  int32_t partition_epoch_;
  std::vector<BrokerId> replicas_;
  std::vector<BrokerId> in_sync_;  // as committed by the controller
  std::optional<IsrProposal> proposed_;
  bool on_its_way_ = false;
  MonotonicTime next_proposal_;  // not before
  ReplicaProgress own_;
  Offset newest_batch_;                     // where the last batch begins
  std::map<BrokerId, Follower> followers_;  // the other replicas
  Offset epoch_start_;
  Offset high_watermark_;
  Offset common_start_ = kNoOffset;
  int64_t question_ = 0;  // the newest; 0: none was asked

  Waiters for_own_sync_;
  Waiters for_high_watermark_;
};

}  // namespace naru
