// The producers that a partition remembers, as its leader tells; and ending a transaction of one of them there.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "client/cluster_client.h"
#include "record_format/transaction_marker.h"

namespace naru::client {

struct PartitionProducer {
  ProducerIdentity producer;
  WallTimeMs last_timestamp = -1;        // of its last batch
  int32_t coordinator_epoch = -1;        // of the last marker
  Offset transaction_start = kNoOffset;  // of the transaction that is open here

  bool has_open_transaction() const { return transaction_start > kNoOffset; }
  bool operator==(const PartitionProducer&) const = default;
};

struct ProducersOfPartition {
  Status status;  // why it is not known
  std::vector<PartitionProducer> producers;

  const PartitionProducer* find(ProducerId id) const;
};

// Asks each leader; once more with new metadata when a leader has moved. Every partition that was asked for is in the
// answer.
Task<std::map<TopicPartition, ProducersOfPartition>> describe_producers(ClusterClient& client,
                                                                        std::vector<TopicPartition> partitions);

// Writes the marker that aborts what the producer has open in this one partition, past its coordinator. Whoever calls
// this knows that no coordinator will: half of a transaction that is committed elsewhere would be lost.
Task<Status> abort_in_partition(ClusterClient& client, TopicPartition partition, PartitionProducer producer);

}  // namespace naru::client
