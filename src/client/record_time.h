// How old the next record of a reader is.
#pragma once

#include <optional>

#include "client/cluster_client.h"

namespace naru::client {

// The timestamp of the first record at or above `from`, which is at least the start of the log, and below `end`. None:
// there is no record any more, it has no timestamp, or none was found in a few attempts (compaction and markers of
// transactions leave offsets without records). Fetches a batch.
Task<Result<std::optional<WallTimeMs>>> first_record_time(ClusterClient& client, TopicPartition partition, Offset from,
                                                          Offset end);

}  // namespace naru::client
