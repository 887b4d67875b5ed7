// What a follower does with its leader's answers: an I/O-free core.
//
// The shell asks where to fetch, passes each answer to decide(), does what is said to the log, and reports it. Answers
// of another leader or epoch than the present ones are dropped, and so is one that the log has moved away from: a log
// with the same end and the same last epoch is the same log.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "foundation/error_code.h"
#include "foundation/ids.h"
#include "log_storage/epoch_history.h"
#include "log_storage/tombstone_horizon.h"
#include "replication/log_divergence.h"

namespace naru {

// What the leader said about one partition.
struct LeaderAnswer {
  BrokerId leader = kNoBroker;
  LeaderEpoch leader_epoch = kNoLeaderEpoch;  // with which was asked
  Offset fetch_offset = kNoOffset;            // for which was asked
  LeaderEpoch last_fetched_epoch = kNoLeaderEpoch;
  ErrorCode error = ErrorCode::none;
  Offset high_watermark = kNoOffset;
  Offset log_start = kNoOffset;
  EpochEnd diverging;  // end_offset -1: the logs agree
  // Of the leader's log, if it lies behind `fetch_offset`: markers between the two may be missing in what follows.
  TombstoneHorizon tombstones;

  bool lacks_tombstones() const { return tombstones.offset > fetch_offset; }
};

struct FollowerDecision {
  enum class Action : uint8_t {
    append,    // what came, if anything did; then adopt()
    truncate,  // to `offset`; then truncated()
    restart,   // the log is empty from now on and begins at `offset`; then restarted()
    wait,      // the leader cannot help now: ask again after a while
    drop,      // the answer is not for us any more
  };
  Action action = Action::drop;
  Offset offset = kNoOffset;
  std::string_view why = {};  // of wait, where the error does not say it, and of restart
};

// Thread: the partition's strand.
class PartitionFollower {
 public:
  explicit PartitionFollower(Offset high_watermark) : high_watermark_(high_watermark) {}

  // From now on this one leads; `high_watermark`: as it is known here.
  void follow(BrokerId leader, LeaderEpoch epoch, Offset high_watermark);

  // The least of what the leader has told and what is here.
  Offset high_watermark() const { return high_watermark_; }

  FollowerDecision decide(const LeaderAnswer& answer, Offset log_start, const EpochsOfLog& log) const;

  // The log ends at `log_end` with what the answer brought.
  void adopt(const LeaderAnswer& answer, Offset log_end);
  // True: what was known to be committed is gone, so an out-of-sync replica was elected.
  bool truncated(Offset log_end);
  void restarted(Offset log_start);

 private:
  bool misses_markers(const LeaderAnswer& answer, Offset log_start, Offset log_end) const;

  BrokerId leader_ = kNoBroker;
  LeaderEpoch leader_epoch_ = kNoLeaderEpoch;
  Offset high_watermark_;
  // While a log that lacks markers is being copied from this leader: TombstoneHorizon::drops when that began.
  std::optional<int64_t> copied_with_;
};

}  // namespace naru
