#include "command_line/blocking_transactions.h"

#include <algorithm>

#include "client/offsets.h"
#include "client/record_time.h"

namespace naru::command_line {
namespace {

using client::TopicPartition;

// Whether a reader at `committed` finds nothing up to the last stable offset. It need not be there: it does not move
// over markers and over what was aborted.
Task<bool> is_at_last_stable_offset(client::ClusterClient& client, const TopicPartition& partition, Offset committed,
                                    Offset last_stable) {
  if (committed >= last_stable) co_return committed == last_stable;
  const auto more = co_await client::has_committed_record(client, partition, committed, last_stable);
  co_return more && !*more;
}

Task<std::vector<TopicPartition>> find_blocked(client::ClusterClient& client,
                                               const std::vector<PartitionProgress>& partitions) {
  std::map<TopicPartition, Offset> behind;
  std::vector<TopicPartition> names;
  for (const PartitionProgress& partition : partitions) {
    if (partition.owner.empty() || partition.lag().value_or(0) == 0 || partition.lost() > 0) continue;
    behind[partition.partition] = *partition.committed;
    names.push_back(partition.partition);
  }
  std::vector<TopicPartition> blocked;
  if (names.empty()) co_return blocked;
  // In this order: what is stable now was below the end later.
  const auto stable = co_await client::list_offsets(client, names, client::kLatest, client::Isolation::read_committed);
  if (!stable) co_return blocked;
  const auto ends = co_await client::list_offsets(client, names, client::kLatest);
  if (!ends) co_return blocked;
  for (const auto& [partition, committed] : behind) {
    const Offset last_stable = stable->at(partition).offset;
    if (last_stable >= ends->at(partition).offset) continue;
    if (co_await is_at_last_stable_offset(client, partition, committed, last_stable)) blocked.push_back(partition);
  }
  co_return blocked;
}

Task<std::optional<client::TransactionDescription>> describe_known(client::ClusterClient& client,
                                                                   const OpenTransaction& transaction) {
  if (!transaction.known) co_return std::nullopt;
  auto described = co_await client::describe_transaction(client, transaction.known->id);
  if (!described || described->producer.id != transaction.producer.producer.id) co_return std::nullopt;
  co_return std::move(*described);
}

}  // namespace

Task<std::vector<BlockingTransaction>> find_blocking(client::ClusterClient& client,
                                                     const std::vector<PartitionProgress>& partitions) {
  std::vector<BlockingTransaction> blocking;
  std::vector<TopicPartition> blocked = co_await find_blocked(client, partitions);
  if (blocked.empty()) co_return blocking;
  const OpenTransactions open = co_await find_open_transactions(client, std::move(blocked));
  for (const OpenTransaction& transaction : open.all) {
    // The first of a partition is the one that keeps its last stable offset.
    if (!blocking.empty() && blocking.back().open.partition == transaction.partition) continue;
    blocking.push_back({.open = transaction,
                        .description = co_await describe_known(client, transaction),
                        .is_hanging = open.is_hanging(transaction)});
  }
  co_return blocking;
}

Task<std::vector<BlockingTransaction>> find_blocking_offsets(client::ClusterClient& client,
                                                             const std::map<TopicPartition, ProducerId>& pending) {
  std::map<ProducerId, BlockingTransaction> by_producer;
  for (const auto& [partition, producer] : pending) by_producer[producer].open.producer.producer.id = producer;
  client::TransactionFilter filter;
  for (const auto& [producer, unused] : by_producer) filter.producer_ids.push_back(producer);
  const auto known = co_await client::list_transactions(client, std::move(filter));
  for (auto& [producer, one] : by_producer) {
    one.has_offset = true;
    if (!known) continue;
    const auto whose = std::ranges::find(*known, producer, &client::ListedTransaction::producer_id);
    if (whose != known->end()) one.open.known = *whose;
    one.description = co_await describe_known(client, one.open);
    if (one.description) one.open.producer.producer = one.description->producer;
  }
  std::vector<BlockingTransaction> blocking;
  for (const auto& [partition, producer] : pending) {
    blocking.push_back(by_producer[producer]);
    blocking.back().open.partition = partition;
  }
  co_return blocking;
}

}  // namespace naru::command_line
