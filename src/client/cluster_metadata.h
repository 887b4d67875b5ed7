// A picture of a cluster: brokers, topics, leaders. A plain value, as old as the answer it was made from.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/ids.h"
#include "foundation/status.h"
#include "foundation/uuid.h"
#include "kafka_protocol/messages/metadata_response.h"
#include "platform/transport.h"

namespace naru::client {

struct TopicPartition {
  std::string topic;
  PartitionIndex partition;

  std::string to_string() const { return fmt::format("{}-{}", topic, partition.value()); }
  auto operator<=>(const TopicPartition&) const = default;
};

struct BrokerInfo {
  BrokerId id;
  Endpoint address;  // as advertised
  std::optional<std::string> rack;
};

struct PartitionInfo {
  PartitionIndex index;
  ErrorCode error = ErrorCode::none;
  BrokerId leader = kNoBroker;
  LeaderEpoch leader_epoch = kNoLeaderEpoch;
  std::vector<BrokerId> replicas;
  std::vector<BrokerId> in_sync;
  std::vector<BrokerId> offline;

  bool is_offline() const { return leader == kNoBroker; }
  bool is_under_replicated() const { return in_sync.size() < replicas.size(); }
};

struct TopicInfo {
  std::string name;
  Uuid id;
  ErrorCode error = ErrorCode::none;
  bool internal = false;
  std::vector<PartitionInfo> partitions;  // in ascending order
};

struct ClusterMetadata {
  std::string cluster_id;
  BrokerId controller = kNoBroker;
  std::vector<BrokerInfo> brokers;  // in ascending order
  std::vector<TopicInfo> topics;    // in the order of their names

  const BrokerInfo* find_broker(BrokerId id) const;
  const TopicInfo* find_topic(std::string_view name) const;
  const PartitionInfo* find_partition(const TopicPartition& partition) const;

  // Takes over brokers and controller, and the topics that `newer` has; the others stay.
  void merge(ClusterMetadata newer);
};

// Whatever the broker sent becomes a well-formed value: sorted, without doubles and without impossible ports.
ClusterMetadata make_metadata(const kafka::MetadataResponse& response);

}  // namespace naru::client
