// From what a person means by "--from" to an offset in each partition.
#pragma once

#include <map>
#include <vector>

#include "client/cluster_client.h"
#include "client/offsets.h"
#include "command_line/flag_values.h"

namespace naru::command_line {

struct ReadRange {
  Offset begin;
  Offset end;  // of the partition, now
};

// Offsets outside of a partition are moved to its nearer end. `now` is for times that count back.
Task<Result<std::map<client::TopicPartition, ReadRange>>> find_ranges(
    client::ClusterClient& client, std::vector<client::TopicPartition> partitions, StartAt start, WallTimeMs now,
    client::Isolation isolation = client::Isolation::read_uncommitted);

}  // namespace naru::command_line
