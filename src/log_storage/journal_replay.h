// Which batches of the commit journal continue a log: decided without I/O. Who keeps the journal is of no interest
// here.
//
// The log's own files are recovered first; the journal is a second promise on top of that. A batch is put behind the
// log only if it begins exactly at its end, comes from a time after the log's last truncation, and from no earlier
// leader.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "foundation/ids.h"
#include "platform/file_system.h"

namespace naru {

// One batch in the journal.
struct JournaledBatch {
  Offset base_offset;
  Offset end_offset;
  LeaderEpoch leader_epoch;
  uint64_t truncations = 0;  // of the log, before the batch was appended
  Offset durable_before;     // everything below was durable when the batch was written
  uint64_t position = 0;     // of its bytes in the file
  uint32_t bytes = 0;
};

// The batches of one log, in the order in which they were written.
struct JournaledBatches {
  std::shared_ptr<const File> file;
  std::vector<JournaledBatch> batches;
};

struct ReplayTarget {
  Offset end;
  LeaderEpoch last_epoch = kNoLeaderEpoch;
  uint64_t truncations = 0;
};

enum class ReplayAction : uint8_t {
  skip,    // the log holds it, has been truncated since, or never got as far
  append,  // it continues the log
  refuse,  // something that was durable when it was written is missing in front of it
};

ReplayAction decide(const ReplayTarget& log, const JournaledBatch& batch);

// A number of truncations that none of these batches has.
uint64_t truncations_beyond(std::span<const JournaledBatches> journaled);

}  // namespace naru
