#include "replication/log_divergence.h"

#include <algorithm>

#include "foundation/canary.h"

namespace naru {

EpochEnd end_of_epoch_in(const EpochsOfLog& leader, LeaderEpoch epoch) {
  if (epoch > leader.epochs.latest()) return {leader.epochs.latest(), leader.end};
  return leader.epochs.end_offset_for(epoch, leader.end);
}

std::optional<EpochEnd> divergence(const EpochsOfLog& leader, Offset offset, LeaderEpoch last_epoch) {
  if (last_epoch < LeaderEpoch(0)) return std::nullopt;
  const auto& starts = leader.epochs.starts();
  if (!starts.empty() && last_epoch < starts.front().epoch) return EpochEnd{kNoLeaderEpoch, Offset(0)};
  const EpochEnd end = end_of_epoch_in(leader, last_epoch);
  const bool same_epoch = end.epoch == last_epoch || is_planted(Canary::divergence_by_offset);
  if (same_epoch && end.end_offset >= offset) return std::nullopt;
  return end;
}

Offset truncation_point(const EpochsOfLog& follower, const EpochEnd& leader) {
  const auto& starts = follower.epochs.starts();
  if (starts.empty()) return follower.end;
  const Offset own = leader.epoch < starts.front().epoch ? starts.front().start_offset
                     : leader.epoch > follower.epochs.latest()
                         ? follower.end
                         : follower.epochs.end_offset_for(leader.epoch, follower.end).end_offset;
  return std::min({own, leader.end_offset, follower.end});
}

}  // namespace naru
