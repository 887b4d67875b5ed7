#include "cluster_control/stored_metadata.h"

#include "internal_records/broker_value.h"
#include "internal_records/cluster_value.h"
#include "internal_records/config_overrides_value.h"
#include "internal_records/controller_epoch_value.h"
#include "internal_records/controller_value.h"
#include "internal_records/deleted_topic_value.h"
#include "internal_records/generation_value.h"
#include "internal_records/known_broker_value.h"
#include "internal_records/partition_states_value.h"
#include "internal_records/producer_ids_value.h"
#include "internal_records/synced_since_value.h"
#include "internal_records/topic_value.h"
#include "kafka_protocol/stored_value.h"

namespace naru {

using kafka::encode_stored_value;

Bytes encode_cluster(const ClusterMetadata& cluster) {
  internal::ClusterValue value;
  value.cluster_id = cluster.cluster_id;
  value.feature_level = cluster.feature_level;
  return encode_stored_value(value);
}

Bytes encode_controller(const ControllerHolder& holder) {
  internal::ControllerValue value;
  value.broker_id = holder.id;
  value.incarnation = holder.incarnation;
  return encode_stored_value(value);
}

Result<ControllerHolder> decode_controller(BytesView bytes) {
  NARU_TRY_ASSIGN(const auto value, kafka::decode_stored_value<internal::ControllerValue>(bytes));
  return ControllerHolder{value.broker_id, value.incarnation};
}

Bytes encode_controller_epoch(const ClusterMetadata& cluster) {
  internal::ControllerEpochValue value;
  value.epoch = cluster.controller_epoch;
  value.controller_id = cluster.controller_id;
  value.incarnation = cluster.controller_incarnation;
  return encode_stored_value(value);
}

Bytes encode_generation(int64_t generation) {
  internal::GenerationValue value;
  value.generation = generation;
  return encode_stored_value(value);
}

Bytes encode_producer_ids(ProducerId next) {
  internal::ProducerIdsValue value;
  value.next_producer_id = next;
  return encode_stored_value(value);
}

Bytes encode_synced_since(int64_t generation) {
  internal::SyncedSinceValue value;
  value.generation = generation;
  return encode_stored_value(value);
}

Bytes encode_topic(const Uuid& id, int32_t partition_count, WallTimeMs created_at_ms, int64_t synced_since,
                   ProducerId first_new_producer) {
  internal::TopicValue value;
  value.topic_id = id;
  value.partition_count = partition_count;
  value.created_at_ms = created_at_ms;
  value.synced_since = synced_since;
  value.first_new_producer_id = first_new_producer;
  return encode_stored_value(value);
}

Bytes encode_configs(const ConfigOverrides& configs) {
  internal::ConfigOverridesValue value;
  for (const auto& [name, text] : configs) value.entries.push_back({name, text});
  return encode_stored_value(value);
}

Bytes encode_bucket(const PartitionBucket& bucket) {
  internal::PartitionStatesValue value;
  for (const PartitionStatePtr& state : bucket) {
    if (value.topics.empty() || value.topics.back().topic_id != state->topic_id) {
      value.topics.emplace_back().topic_id = state->topic_id;
    }
    auto& stored = value.topics.back().partitions.emplace_back();
    stored.partition_index = state->index;
    stored.replicas = state->replicas;
    stored.isr = state->isr;
    stored.leader = state->leader;
    stored.leader_epoch = state->leader_epoch;
    stored.partition_epoch = state->partition_epoch;
    stored.isr_lost_data = state->isr_lost_data;
  }
  return encode_stored_value(value);
}

Bytes encode_broker(const BrokerMetadata& broker) {
  internal::BrokerValue value;
  value.incarnation = broker.incarnation;
  value.broker_epoch = broker.epoch;
  value.rack = broker.rack;
  for (const BrokerListener& listener : broker.listeners) {
    value.listeners.push_back({listener.name, listener.host, listener.port, listener.security_protocol});
  }
  value.clean_shutdown = broker.clean_shutdown;
  value.directory_ids = broker.directory_ids;
  return encode_stored_value(value);
}

Bytes encode_known_broker(const KnownBroker& known) {
  internal::KnownBrokerValue value;
  value.settled_epoch = known.settled_epoch;
  value.directory_ids = known.directory_ids;
  value.registered_epoch = known.registered_epoch;
  value.registered_clean = known.registered_clean;
  for (const ConfirmedEpoch& confirmed : known.confirmed) {
    value.confirmed_epochs.push_back({confirmed.directory_id, confirmed.epoch});
  }
  value.rolled_back_ids = known.rolled_back;
  if (known.offline == nullptr) return encode_stored_value(value);
  value.offline_since = known.offline->broker_epoch;
  for (const auto& [topic_id, index] : known.offline->partitions) {
    if (value.offline_logs.empty() || value.offline_logs.back().topic_id != topic_id) {
      value.offline_logs.push_back({.topic_id = topic_id});
    }
    value.offline_logs.back().partitions.push_back(index);
  }
  return encode_stored_value(value);
}

Bytes encode_deleted_topic(const DeletedTopic& deleted) {
  internal::DeletedTopicValue value;
  value.name = deleted.name;
  value.partition_count = deleted.partition_count;
  value.pending_brokers = deleted.pending_brokers;
  return encode_stored_value(value);
}

}  // namespace naru
