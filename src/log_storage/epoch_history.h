// Which leader epoch began at which offset. Stored as Kafka's leader-epoch-checkpoint, version 0.
#pragma once

#include <string>
#include <vector>

#include "foundation/bytes.h"
#include "foundation/ids.h"
#include "foundation/status.h"

namespace naru {

struct EpochStart {
  LeaderEpoch epoch;
  Offset start_offset;
  bool operator==(const EpochStart&) const = default;
};

// The answer to OffsetForLeaderEpoch; both -1 when nothing is known.
struct EpochEnd {
  LeaderEpoch epoch = kNoLeaderEpoch;
  Offset end_offset = kNoOffset;
  bool operator==(const EpochEnd&) const = default;
};

// Epochs and offsets both strictly increase. A value; owned by its log's strand.
class EpochHistory {
 public:
  LeaderEpoch latest() const { return starts_.empty() ? kNoLeaderEpoch : starts_.back().epoch; }
  const std::vector<EpochStart>& starts() const { return starts_; }
  bool operator==(const EpochHistory&) const = default;

  // A batch of this epoch begins at `start_offset`, behind everything seen so far. True: the epoch is new.
  bool assign(LeaderEpoch epoch, Offset start_offset);
  // Nothing before `start` is left: the epoch of `start` begins there, earlier ones are forgotten. True: it changed.
  bool trim_start(Offset start);
  // Forgets the epochs that begin at or behind `end`.
  void truncate(Offset end);

  // As Kafka answers: the largest known epoch that is not above `epoch`, and where it ends. An epoch below all known
  // ones ends where the first known one begins; one above all known ones is unknown.
  EpochEnd end_offset_for(LeaderEpoch epoch, Offset log_end) const;

  std::string to_text() const;
  static Result<EpochHistory> parse(BytesView text);

 private:
  std::vector<EpochStart> starts_;
};

}  // namespace naru
