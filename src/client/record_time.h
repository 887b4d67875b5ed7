// The next record of a reader: how old it is, and whether there is one.
#pragma once

#include <optional>

#include "client/cluster_client.h"

namespace naru::client {

// The timestamp of the first record at or above `from`, which is at least the start of the log, and below `end`. None:
// there is no record any more, it has no timestamp, or none was found in a few attempts (compaction and markers of
// transactions leave offsets without records). Fetches a batch.
Task<Result<std::optional<WallTimeMs>>> first_record_time(ClusterClient& client, TopicPartition partition, Offset from,
                                                          Offset end);

// Whether readers of committed records find any at or above `from` and below `end`, which is at most the last stable
// offset: markers and what was aborted may be all that is there. True also when a few fetches do not tell.
Task<Result<bool>> has_committed_record(ClusterClient& client, TopicPartition partition, Offset from, Offset end);

}  // namespace naru::client
