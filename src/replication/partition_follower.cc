#include "replication/partition_follower.h"

#include <algorithm>

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
}

FollowerDecision PartitionFollower::decide(const LeaderAnswer& answer, Offset log_start, const EpochsOfLog& log) const {
  if (answer.leader != leader_ || answer.leader_epoch != leader_epoch_) return {.action = Decision::drop};
  if (answer.fetch_offset != log.end || answer.last_fetched_epoch != log.epochs.latest()) {
    return {.action = Decision::drop};
  }
  if (answer.error == ErrorCode::offset_out_of_range) return out_of_range(answer, log_start, log.end);
  if (answer.error != ErrorCode::none) return {.action = Decision::wait};
  if (answer.diverging.end_offset >= Offset(0)) return diverges(answer, log_start, log);
  return {.action = Decision::append};
}

void PartitionFollower::adopt(const LeaderAnswer& answer, Offset log_end) {
  high_watermark_ = std::max(high_watermark_, std::min(answer.high_watermark, log_end));
}

bool PartitionFollower::truncated(Offset log_end) {
  const bool lost = log_end < high_watermark_;
  high_watermark_ = std::min(high_watermark_, log_end);
  return lost;
}

}  // namespace naru
