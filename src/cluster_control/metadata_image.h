// What the cluster looked like after one transaction: topics, partitions, brokers, configuration. Immutable.
//
// An image is shared by everybody who reads it (std::shared_ptr<const MetadataImage>); a change makes a new image,
// which shares the topics that did not change. Made by MetadataImageBuilder, from the keys of the coordination store
// alone.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "configuration/config_values.h"
#include "foundation/ids.h"
#include "foundation/time.h"
#include "foundation/uuid.h"
#include "platform/transport.h"

namespace naru {

struct PartitionState {
  Uuid topic_id;
  PartitionIndex index;
  std::vector<BrokerId> replicas;  // the first one is the preferred leader
  std::vector<BrokerId> isr;
  BrokerId leader = kNoBroker;
  LeaderEpoch leader_epoch;
  int32_t partition_epoch = 0;  // changes with every change of this state
  int32_t bucket = 0;           // where it is stored
  // Every member of the ISR has lost its data, so that none of them may lead without an unclean election.
  bool isr_lost_data = false;

  bool operator==(const PartitionState&) const = default;
};
using PartitionStatePtr = std::shared_ptr<const PartitionState>;
// What one partition_states/ key holds.
using PartitionBucket = std::vector<PartitionStatePtr>;
using PartitionBucketPtr = std::shared_ptr<const PartitionBucket>;

struct TopicMetadata {
  Uuid id;
  std::string name;
  WallTimeMs created_at_ms = 0;
  int64_t synced_since = -1;  // the generation in which flush.messages became 1; -1: was never set so
  // Lower ids may have written to an earlier topic of this name, and go on with its sequences. kNoProducerId: any may.
  ProducerId first_new_producer = kNoProducerId;
  std::vector<PartitionStatePtr> partitions;  // by index, without gaps
  ConfigOverrides configs;

  // nullptr when there is no such partition.
  const PartitionState* partition(PartitionIndex index) const;
  int32_t partition_count() const { return static_cast<int32_t>(partitions.size()); }
  // Of the first partition; a reassignment may make them differ for a while.
  int16_t replication_factor() const;

  bool operator==(const TopicMetadata& other) const;
};
using TopicMetadataPtr = std::shared_ptr<const TopicMetadata>;

struct BrokerListener {
  std::string name;
  std::string host;  // empty: clients are told the address that they connected to
  uint16_t port = 0;
  int16_t security_protocol = 0;

  bool operator==(const BrokerListener&) const = default;
};

// Where other brokers reach one with these listeners, of which there is at least one: a broker registers the listener
// that brokers use first (inter.broker.listener.name).
Endpoint address_for_brokers(const std::vector<BrokerListener>& listeners);

struct BrokerMetadata {
  BrokerId id;
  Uuid incarnation;   // chosen anew for every session
  int64_t epoch = 0;  // grows with every registration in the cluster
  std::optional<std::string> rack;
  std::vector<BrokerListener> listeners;
  bool clean_shutdown = false;      // nothing is missing of what was written before this registration
  std::vector<Uuid> directory_ids;  // of its data folders

  bool operator==(const BrokerMetadata&) const = default;
};

using PartitionIds = std::set<std::pair<Uuid, PartitionIndex>>;
// Partitions whose logs a broker cannot use, as it said in that epoch.
struct OfflineLogs {
  int64_t broker_epoch = -1;
  PartitionIds partitions;

  bool operator==(const OfflineLogs&) const = default;
};

// A broker epoch that is durable in a data folder.
struct ConfirmedEpoch {
  Uuid directory_id;
  int64_t epoch = -1;

  bool operator==(const ConfirmedEpoch&) const = default;
};

// What is remembered of a broker, so that its next registration can be compared with it.
struct KnownBroker {
  int64_t settled_epoch = -1;                  // of the last registration that the controller has acted on; -1: of none
  std::vector<Uuid> directory_ids;             // of that one
  int64_t registered_epoch = -1;               // of the last one
  bool registered_clean = true;                // whether that one was clean
  std::vector<ConfirmedEpoch> confirmed;       // at most one for each data folder
  std::vector<Uuid> rolled_back;               // folders that were older copies, in registrations that are not settled
  std::shared_ptr<const OfflineLogs> offline;  // null: it never told any; shared by images, and never changed

  // -1: none.
  int64_t confirmed_epoch(const Uuid& directory_id) const;
  // The logs that it cannot use in this epoch; null: it told none.
  std::shared_ptr<const OfflineLogs> offline_in(int64_t broker_epoch) const;

  bool operator==(const KnownBroker& other) const;
};

// A recorded deletion: the only reason for which a broker removes a topic's folders.
struct DeletedTopic {
  Uuid id;
  std::string name;
  int32_t partition_count = 0;
  std::vector<BrokerId> pending_brokers;  // have not confirmed yet that their folders are gone

  bool operator==(const DeletedTopic&) const = default;
};

struct ClusterMetadata {
  Uuid cluster_id;
  int16_t feature_level = 0;
  int32_t controller_epoch = 0;
  BrokerId controller_id = kNoBroker;
  Uuid controller_incarnation;  // of the controller's process
  int64_t generation = 0;       // counts the transactions
  ProducerId next_producer_id;  // all below have been given to brokers
  // The same when the last deleted topic was gone from all brokers; kNoProducerId: not known.
  ProducerId producer_ids_at_deletion = kNoProducerId;
  int64_t synced_since = -1;  // as of a topic, for those that go by the default

  bool operator==(const ClusterMetadata&) const = default;
};

inline constexpr int32_t kPartitionsPerBucket = 256;

class MetadataImage {
 public:
  const ClusterMetadata& cluster() const { return cluster_; }

  // nullptr when there is none.
  const TopicMetadata* find_topic(std::string_view name) const;
  const TopicMetadata* find_topic(const Uuid& id) const;
  // The topic with this name, or whose name becomes the same when '.' is read as '_'.
  const TopicMetadata* find_topic_like(std::string_view name) const;
  // In an order of their names that does not change.
  std::span<const TopicMetadataPtr> topics() const { return topics_; }
  // Those that are new or different, in the same order: what did not change is shared, so this costs no comparisons.
  std::vector<TopicMetadataPtr> topics_changed_since(const MetadataImage& before) const;
  int32_t partition_count() const { return partition_count_; }

  const BrokerMetadata* find_broker(BrokerId id) const;
  const std::map<BrokerId, BrokerMetadata>& brokers() const { return brokers_; }
  const std::map<BrokerId, KnownBroker>& known_brokers() const { return known_brokers_; }
  // With nothing in it when there is none.
  KnownBroker known_broker(BrokerId id) const;
  // Registered, and the controller has acted on this registration: what the broker may have lost is known.
  bool is_settled(BrokerId id) const;
  const std::map<Uuid, DeletedTopic>& deleted_topics() const { return deleted_topics_; }
  // By the name under broker_configs/: a broker's id, or metadata_keys::kAllBrokers.
  const std::map<std::string, ConfigOverrides, std::less<>>& broker_configs() const { return broker_configs_; }

  // By the name of the group.
  const std::map<std::string, ConfigOverrides, std::less<>>& group_configs() const { return group_configs_; }
  // By the name of the subscription.
  const std::map<std::string, ConfigOverrides, std::less<>>& client_metrics() const { return client_metrics_; }

  // By bucket number; every bucket that was ever used, empty ones included.
  std::span<const PartitionBucketPtr> buckets() const { return buckets_; }
  // Versions of the keys that every metadata transaction compares; 0: not there yet.
  int64_t controller_epoch_version() const { return controller_epoch_version_; }
  int64_t generation_version() const { return generation_version_; }

  bool operator==(const MetadataImage& other) const;

 private:
  friend class MetadataImageBuilder;

  ClusterMetadata cluster_;
  std::vector<TopicMetadataPtr> topics_;        // sorted by name, '.' read as '_'
  std::vector<TopicMetadataPtr> topics_by_id_;  // sorted by id
  std::map<BrokerId, BrokerMetadata> brokers_;
  std::map<BrokerId, KnownBroker> known_brokers_;
  std::map<Uuid, DeletedTopic> deleted_topics_;
  std::map<std::string, ConfigOverrides, std::less<>> broker_configs_;
  std::map<std::string, ConfigOverrides, std::less<>> group_configs_;
  std::map<std::string, ConfigOverrides, std::less<>> client_metrics_;
  std::vector<PartitionBucketPtr> buckets_;
  int64_t controller_epoch_version_ = 0;
  int64_t generation_version_ = 0;
  int32_t partition_count_ = 0;
};
using MetadataImagePtr = std::shared_ptr<const MetadataImage>;

}  // namespace naru
