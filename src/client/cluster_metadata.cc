#include "client/cluster_metadata.h"
#include "foundation/sort_and_drop_doubles.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

namespace naru::client {
namespace {

template <class Elements, class Key, class Projection>
auto find_sorted(const Elements& elements, const Key& key, Projection projection) -> decltype(elements.data()) {
  const auto found = std::ranges::lower_bound(elements, key, {}, projection);
  return found != elements.end() && std::invoke(projection, *found) == key ? &*found : nullptr;
}

Endpoint make_endpoint(const kafka::MetadataResponse::MetadataResponseBroker& broker) {
  const bool possible = broker.port > 0 && broker.port <= std::numeric_limits<uint16_t>::max();
  return {broker.host, possible ? static_cast<uint16_t>(broker.port) : uint16_t{0}};
}

PartitionInfo make_partition(const kafka::MetadataResponse::MetadataResponsePartition& partition) {
  return {.index = partition.partition_index,
          .error = partition.error_code,
          .leader = partition.leader_id,
          .leader_epoch = partition.leader_epoch,
          .replicas = partition.replica_nodes,
          .in_sync = partition.isr_nodes,
          .offline = partition.offline_replicas};
}

TopicInfo make_topic(const kafka::MetadataResponse::MetadataResponseTopic& topic) {
  TopicInfo made{.name = topic.name.value_or(""),
                 .id = topic.topic_id,
                 .error = topic.error_code,
                 .internal = topic.is_internal,
                 .partitions = {}};
  for (const auto& partition : topic.partitions) made.partitions.push_back(make_partition(partition));
  sort_and_drop_doubles(made.partitions, &PartitionInfo::index);
  return made;
}

}  // namespace

const BrokerInfo* ClusterMetadata::find_broker(BrokerId id) const {
  return find_sorted(brokers, id, &BrokerInfo::id);
}

const TopicInfo* ClusterMetadata::find_topic(std::string_view name) const {
  return find_sorted(topics, name, [](const TopicInfo& topic) { return std::string_view(topic.name); });
}

const PartitionInfo* ClusterMetadata::find_partition(const TopicPartition& partition) const {
  const TopicInfo* topic = find_topic(partition.topic);
  return topic == nullptr ? nullptr : find_sorted(topic->partitions, partition.partition, &PartitionInfo::index);
}

void ClusterMetadata::merge(ClusterMetadata newer) {
  cluster_id = std::move(newer.cluster_id);
  controller = newer.controller;
  brokers = std::move(newer.brokers);
  std::erase_if(topics, [&newer](const TopicInfo& old) { return newer.find_topic(old.name) != nullptr; });
  std::ranges::move(newer.topics, std::back_inserter(topics));
  std::ranges::sort(topics, {}, &TopicInfo::name);
}

ClusterMetadata make_metadata(const kafka::MetadataResponse& response) {
  ClusterMetadata made{.cluster_id = response.cluster_id.value_or(""),
                       .controller = response.controller_id,
                       .brokers = {},
                       .topics = {}};
  for (const auto& broker : response.brokers) {
    made.brokers.push_back({.id = broker.node_id, .address = make_endpoint(broker), .rack = broker.rack});
  }
  sort_and_drop_doubles(made.brokers, &BrokerInfo::id);
  for (const auto& topic : response.topics) made.topics.push_back(make_topic(topic));
  sort_and_drop_doubles(made.topics, &TopicInfo::name);
  return made;
}

}  // namespace naru::client
