// Reads committed records, as a consumer with isolation.level=read_committed does.
#pragma once

#include <memory>

#include "async/task.h"
#include "platform/seams.h"
#include "simulation/copy_history.h"
#include "simulation/kafka_client.h"

namespace naru::simulation {

struct CommittedRead {
  CopyHistory::Records records;
  Offset next;  // where to read on: also behind markers and what was aborted
};

// One fetch from the leader of `epoch`. What came is shown to the history.
Task<Result<CommittedRead>> read_committed(std::shared_ptr<KafkaClient> client, Seams seams, CopyHistory& history,
                                           PartitionName partition, LeaderEpoch epoch, Offset from);

}  // namespace naru::simulation
