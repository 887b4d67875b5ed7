// What is not in order in a cluster, partition by partition, and what has to happen until it is.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "client/cluster_metadata.h"

namespace naru::command_line {

// Of the replica on a broker; of brokers that told.
using ReplicaSizes = std::map<std::pair<BrokerId, client::TopicPartition>, uint64_t>;

struct MissingReplica {
  BrokerId broker;
  bool is_here = false;  // registered: it catches up
  // Empty: it, or the leader, did not tell.
  std::optional<uint64_t> bytes, leader_bytes;
};

struct Repair {
  client::TopicPartition name;
  client::PartitionInfo state;
  std::vector<BrokerId> electable;      // in sync and here, though the partition has no leader
  std::vector<MissingReplica> missing;  // not in sync

  // For people.
  std::string to_string() const;
};

// Partitions without a leader first; each kind in the order of names.
std::vector<Repair> find_repairs(const client::ClusterMetadata& metadata, const ReplicaSizes& sizes);

// Brokers that have replicas and are not registered, ascending.
std::vector<BrokerId> absent_brokers(const client::ClusterMetadata& metadata);

// "1,2,3".
std::string join(const std::vector<BrokerId>& brokers);

}  // namespace naru::command_line
