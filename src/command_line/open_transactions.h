// Transactions that do not end by themselves: those that a coordinator knows, and those that hang in a partition
// because none does.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "client/partition_producers.h"
#include "client/transaction_admin.h"

namespace naru::command_line {

// One that a coordinator knows, and how long it may take: its timeout or, while it is being ended, some seconds.
enum class Stuck : uint8_t {
  no,
  overdue,  // open for longer than its timeout, which its coordinator should have ended
  ending,   // its markers are not written
};
Stuck stuck(const client::TransactionDescription& transaction, WallTimeMs now);
// For programs; docs/cli.md lists them.
std::string_view word_for(Stuck stuck);

// What a partition has open.
struct OpenTransaction {
  client::TopicPartition partition;
  client::PartitionProducer producer;
  std::optional<client::ListedTransaction> known;  // whose it is; none: no coordinator that was asked knows it
};

struct OpenTransactions {
  std::vector<OpenTransaction> all;  // in the order of partitions and offsets
  Status coordinators;               // why some transactional ids are not known, so that no conclusion is possible
  std::vector<Status> unknown_partitions;  // why each of those that could not be looked at

  bool is_hanging(const OpenTransaction& transaction) const { return coordinators.ok() && !transaction.known; }
};

using ProducersByPartition = std::map<client::TopicPartition, client::ProducersOfPartition>;
// What is open in both looks, between which `known` was asked for. One look is not enough: a transaction may begin
// after its coordinator was asked, or end before.
std::vector<OpenTransaction> match(const ProducersByPartition& before,
                                   const std::vector<client::ListedTransaction>& known,
                                   const ProducersByPartition& after);

Task<OpenTransactions> find_open_transactions(client::ClusterClient& client,
                                              std::vector<client::TopicPartition> partitions);

// Commands that a person may copy into a shell, whatever the names are.
std::string describe_command(std::string_view transactional_id);
std::string abort_command(std::string_view transactional_id);
std::string abort_command(const OpenTransaction& hanging);

// "producer 4000, epoch 3"
std::string producer_text(const ProducerIdentity& producer);
// Since `then` (milliseconds since 1970) by the clock of this machine: never negative.
Duration age_of(WallTimeMs then, WallTimeMs now);

}  // namespace naru::command_line
