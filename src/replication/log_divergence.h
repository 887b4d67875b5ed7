// Where two replicas' logs part, found by leader epochs alone (KIP-101, KIP-279): without I/O, for both sides.
//
// A leader of an epoch writes each offset once, so two logs that have the same epoch at an offset are the same up to
// there. The follower names the epoch of its last batch; the leader says where that epoch, or the last one before it,
// ends in its own log; the follower cuts back to there, and asks again until they agree. Never by the high watermark:
// a follower's may be old, and what lies above it may have been promised.
#pragma once

#include <optional>

#include "foundation/ids.h"
#include "log_storage/epoch_history.h"

namespace naru {

// What of a log matters here.
struct EpochsOfLog {
  const EpochHistory& epochs;
  Offset end;
};

// The leader's side: where its largest epoch that is not above `epoch` ends. Its own epoch begins at the end of its log
// although no batch says so yet. Epoch -1 when there is none; then the end is that of an empty log.
EpochEnd end_of_epoch_in(const EpochsOfLog& leader, LeaderEpoch epoch);

// A fetch at `offset`, behind a batch of `last_epoch` (-1: behind nothing): what the follower has to be told if its log
// is another one than the leader's. An epoch before all that the leader's log has tells nothing: its first one may have
// begun earlier, in records that are deleted by now, and the follower may have others there. Then they have nothing in
// common; else, it could keep producers of records that never were.
std::optional<EpochEnd> divergence(const EpochsOfLog& leader, Offset offset, LeaderEpoch last_epoch);

// The follower's side: where to cut its log back to. Its end, if what the leader says makes no sense.
Offset truncation_point(const EpochsOfLog& follower, const EpochEnd& leader);

}  // namespace naru
