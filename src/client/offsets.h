// Where a partition begins, ends, or was at some time.
#pragma once

#include <map>
#include <vector>

#include "client/cluster_client.h"

namespace naru::client {

// What ListOffsets takes in place of a time.
inline constexpr WallTimeMs kLatest = -1;
inline constexpr WallTimeMs kEarliest = -2;

// The numbers are those of the protocol. For readers of committed records a partition ends at its last stable offset.
enum class Isolation : int8_t { read_uncommitted = 0, read_committed = 1 };

struct OffsetAtTime {
  Offset offset = kNoOffset;  // none: no record is that young
  WallTimeMs timestamp = -1;
};

// All of the partitions, or the first error. Asks each leader; once more with new metadata when a leader has moved, and
// for some seconds while one is being elected or does not know yet what is committed.
Task<Result<std::map<TopicPartition, OffsetAtTime>>> list_offsets(ClusterClient& client,
                                                                  std::vector<TopicPartition> partitions,
                                                                  WallTimeMs time,
                                                                  Isolation isolation = Isolation::read_uncommitted);

}  // namespace naru::client
