#include "replication/partition_follower.h"

#include <algorithm>

#include "foundation/canary.h"

namespace naru {
namespace {

using Decision = FollowerDecision::Action;

// Too early for the leader's log, or the follower's is empty and begins where the leader has nothing.
FollowerDecision out_of_range(const LeaderAnswer& answer, Offset log_start, Offset log_end) {
  if (answer.log_start < Offset(0)) return {.action = Decision::wait};
  if (log_end < answer.log_start) return {.action = Decision::restart, .offset = answer.log_start};
  if (log_start == log_end && log_end != answer.log_start) {
    return {.action = Decision::restart, .offset = answer.log_start};
  }
  return {.action = Decision::wait, .why = "the leader's log does not hold the end of this one, and its epochs agree"};
}

// Nothing of this log is in the leader's.
FollowerDecision begin_anew(const LeaderAnswer& answer) {
  if (answer.log_start < Offset(0)) return {.action = Decision::wait};
  return {.action = Decision::restart, .offset = answer.log_start};
}

FollowerDecision diverges(const LeaderAnswer& answer, Offset log_start, const EpochsOfLog& log) {
  if (answer.diverging.epoch == kNoLeaderEpoch) return begin_anew(answer);
  const Offset point = truncation_point(log, answer.diverging);
  // An empty log still names the epoch of what was deleted from it last.
  if (point >= log.end && log_start < log.end) {
    return {.action = Decision::wait, .why = "the leader says that the logs differ, but not where"};
  }
  if (point >= log_start && log_start < log.end) return {.action = Decision::truncate, .offset = point};
  return begin_anew(answer);
}

}  // namespace

void PartitionFollower::follow(BrokerId leader, LeaderEpoch epoch, Offset high_watermark) {
  leader_ = leader;
  leader_epoch_ = epoch;
  high_watermark_ = high_watermark;
  copied_with_.reset();
}

FollowerDecision PartitionFollower::decide(const LeaderAnswer& answer, Offset log_start, const EpochsOfLog& log) const {
  if (answer.leader != leader_ || answer.leader_epoch != leader_epoch_) return {.action = Decision::drop};
  if (answer.fetch_offset != log.end || answer.last_fetched_epoch != log.epochs.latest()) {
    return {.action = Decision::drop};
  }
  if (answer.error == ErrorCode::offset_out_of_range) return out_of_range(answer, log_start, log.end);
  if (answer.error != ErrorCode::none) return {.action = Decision::wait};
  if (answer.diverging.end_offset >= Offset(0)) return diverges(answer, log_start, log);
  if (misses_markers(answer, log_start, log.end)) {
    if (answer.log_start < Offset(0)) return {.action = Decision::wait};
    return {.action = Decision::restart,
            .offset = answer.log_start,
            .why = "delete markers that this log has yet to see are gone there"};
  }
  return {.action = Decision::append};
}

// What this log holds may have been deleted by markers that are gone at the leader, unless it holds nothing, or all of
// it was copied from there after they had gone.
bool PartitionFollower::misses_markers(const LeaderAnswer& answer, Offset log_start, Offset log_end) const {
  if (is_planted(Canary::late_follower_continues)) return false;
  return answer.lacks_tombstones() && log_start < log_end && copied_with_ != answer.tombstones.drops;
}

void PartitionFollower::adopt(const LeaderAnswer& answer, Offset log_end) {
  if (answer.lacks_tombstones()) copied_with_ = answer.tombstones.drops;
  high_watermark_ = std::max(high_watermark_, std::min(answer.high_watermark, log_end));
}

void PartitionFollower::restarted(Offset log_start) {
  high_watermark_ = log_start;
  copied_with_.reset();
}

bool PartitionFollower::truncated(Offset log_end) {
  const bool lost = log_end < high_watermark_;
  high_watermark_ = std::min(high_watermark_, log_end);
  return lost;
}

}  // namespace naru
