// Where the metadata lives in the coordination store. docs/formats/coordination_store.md describes the values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cluster_control/escaped_name.h"
#include "foundation/ids.h"
#include "foundation/uuid.h"

namespace naru::metadata_keys {

inline constexpr std::string_view kCluster = "cluster";
inline constexpr std::string_view kController = "controller";
inline constexpr std::string_view kControllerEpoch = "controller_epoch";
inline constexpr std::string_view kGeneration = "generation";
inline constexpr std::string_view kProducerIds = "producer_ids";
inline constexpr std::string_view kProducerIdsAtDeletion = "producer_ids_at_deletion";
inline constexpr std::string_view kSyncedSince = "synced_since";
inline constexpr std::string_view kTopics = "topics/";
inline constexpr std::string_view kTopicConfigs = "topic_configs/";
inline constexpr std::string_view kBrokerConfigs = "broker_configs/";
inline constexpr std::string_view kGroupConfigs = "group_configs/";
inline constexpr std::string_view kClientMetrics = "client_metrics/";
inline constexpr std::string_view kPartitionStates = "partition_states/";
inline constexpr std::string_view kBrokers = "brokers/";
inline constexpr std::string_view kKnownBrokers = "known_brokers/";
inline constexpr std::string_view kDeletedTopics = "deleted_topics/";

// The name under broker_configs/ for what holds for every broker.
inline constexpr std::string_view kAllBrokers = "default";

inline std::string join(std::string_view folder, std::string_view name) {
  return std::string(folder).append(name);
}
inline std::string topic(std::string_view name) {
  return join(kTopics, name);
}
inline std::string topic_configs(std::string_view name) {
  return join(kTopicConfigs, name);
}
inline std::string broker_configs(std::string_view broker) {
  return join(kBrokerConfigs, broker);
}
// Groups have any name; the key has it escaped.
inline std::string group_configs(std::string_view group) {
  return join(kGroupConfigs, escape_name(group));
}
// So have subscriptions to the metrics of clients.
inline std::string client_metrics(std::string_view subscription) {
  return join(kClientMetrics, escape_name(subscription));
}
inline std::string partition_states(int32_t bucket) {
  return join(kPartitionStates, std::to_string(bucket));
}
inline std::string broker(BrokerId id) {
  return join(kBrokers, std::to_string(id.value()));
}
inline std::string known_broker(BrokerId id) {
  return join(kKnownBrokers, std::to_string(id.value()));
}
inline std::string deleted_topic(const Uuid& id) {
  return join(kDeletedTopics, id.to_string());
}

}  // namespace naru::metadata_keys
