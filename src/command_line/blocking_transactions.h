// Open transactions that readers of committed records cannot pass.
#pragma once

#include <optional>
#include <vector>

#include "command_line/group_progress.h"
#include "command_line/open_transactions.h"

namespace naru::command_line {

struct BlockingTransaction {
  OpenTransaction open;  // the oldest of its partition, or with an offset of it
  // What the group has committed of the partition is known only when it ends: it has not begun there, but in the
  // group's own log.
  bool has_offset = false;
  std::optional<client::TransactionDescription> description;  // as its coordinator tells
  bool is_hanging = false;                                    // no coordinator knows it
};

// For each partition that a member reads and in which it has read all that is committed below the last stable offset,
// while there is more above. In the order of partitions; what cannot be found out is left out.
Task<std::vector<BlockingTransaction>> find_blocking(client::ClusterClient& client,
                                                     const std::vector<PartitionProgress>& partitions);

// For each partition whose offset was committed in a transaction. In the order of partitions; `pending` has the
// producers.
Task<std::vector<BlockingTransaction>> find_blocking_offsets(
    client::ClusterClient& client, const std::map<client::TopicPartition, ProducerId>& pending);

}  // namespace naru::command_line
