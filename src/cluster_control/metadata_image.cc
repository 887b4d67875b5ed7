#include "cluster_control/metadata_image.h"

#include <algorithm>

#include "cluster_control/topic_name.h"

namespace naru {
namespace {

bool same_partition(const PartitionStatePtr& a, const PartitionStatePtr& b) {
  return a == b || *a == *b;
}
bool same_topic(const TopicMetadataPtr& a, const TopicMetadataPtr& b) {
  return a == b || *a == *b;
}
bool same_bucket(const PartitionBucketPtr& a, const PartitionBucketPtr& b) {
  return a == b || std::ranges::equal(*a, *b, same_partition);
}

}  // namespace

Endpoint address_for_brokers(const std::vector<BrokerListener>& listeners) {
  return {listeners.front().host, listeners.front().port};
}

const PartitionState* TopicMetadata::partition(PartitionIndex index) const {
  if (index.value() < 0 || index.value() >= partition_count()) return nullptr;
  return partitions[static_cast<size_t>(index.value())].get();
}

int16_t TopicMetadata::replication_factor() const {
  return partitions.empty() ? int16_t{0} : static_cast<int16_t>(partitions.front()->replicas.size());
}

bool TopicMetadata::operator==(const TopicMetadata& other) const {
  return id == other.id && name == other.name && created_at_ms == other.created_at_ms &&
         synced_since == other.synced_since && first_new_producer == other.first_new_producer &&
         configs == other.configs && std::ranges::equal(partitions, other.partitions, same_partition);
}

const TopicMetadata* MetadataImage::find_topic_like(std::string_view name) const {
  const auto before = [](const TopicMetadataPtr& topic, std::string_view wanted) {
    return compare_alike(topic->name, wanted) < 0;
  };
  const auto at = std::lower_bound(topics_.begin(), topics_.end(), name, before);
  return at != topics_.end() && compare_alike((*at)->name, name) == 0 ? at->get() : nullptr;
}

const TopicMetadata* MetadataImage::find_topic(std::string_view name) const {
  const TopicMetadata* topic = find_topic_like(name);
  return topic != nullptr && topic->name == name ? topic : nullptr;
}

const TopicMetadata* MetadataImage::find_topic(const Uuid& id) const {
  const auto at =
      std::ranges::lower_bound(topics_by_id_, id, {}, [](const TopicMetadataPtr& topic) { return topic->id; });
  return at != topics_by_id_.end() && (*at)->id == id ? at->get() : nullptr;
}

const BrokerMetadata* MetadataImage::find_broker(BrokerId id) const {
  const auto found = brokers_.find(id);
  return found == brokers_.end() ? nullptr : &found->second;
}

int64_t KnownBroker::confirmed_epoch(const Uuid& directory_id) const {
  const auto found = std::ranges::find(confirmed, directory_id, &ConfirmedEpoch::directory_id);
  return found == confirmed.end() ? -1 : found->epoch;
}

std::shared_ptr<const OfflineLogs> KnownBroker::offline_in(int64_t broker_epoch) const {
  return offline && offline->broker_epoch == broker_epoch ? offline : nullptr;
}

bool KnownBroker::operator==(const KnownBroker& other) const {
  const bool same_offline =
      offline == other.offline || (offline != nullptr && other.offline != nullptr && *offline == *other.offline);
  return settled_epoch == other.settled_epoch && directory_ids == other.directory_ids &&
         registered_epoch == other.registered_epoch && registered_clean == other.registered_clean &&
         confirmed == other.confirmed && rolled_back == other.rolled_back && same_offline;
}

KnownBroker MetadataImage::known_broker(BrokerId id) const {
  const auto known = known_brokers_.find(id);
  return known == known_brokers_.end() ? KnownBroker() : known->second;
}

bool MetadataImage::is_settled(BrokerId id) const {
  const BrokerMetadata* broker = find_broker(id);
  const auto known = known_brokers_.find(id);
  return broker != nullptr && known != known_brokers_.end() && known->second.settled_epoch == broker->epoch;
}

std::vector<TopicMetadataPtr> MetadataImage::topics_changed_since(const MetadataImage& before) const {
  std::vector<TopicMetadataPtr> changed;
  auto old = before.topics_.begin();
  for (const TopicMetadataPtr& topic : topics_) {
    if (old != before.topics_.end() && *old == topic) {
      ++old;
      continue;
    }
    const auto is_before = [&topic](const TopicMetadataPtr& other) {
      const auto alike = compare_alike(other->name, topic->name);
      return alike != 0 ? alike < 0 : other->name < topic->name;
    };
    while (old != before.topics_.end() && is_before(*old)) ++old;
    if (old != before.topics_.end() && *old == topic) {
      ++old;
    } else {
      changed.push_back(topic);
    }
  }
  return changed;
}

bool MetadataImage::operator==(const MetadataImage& other) const {
  return cluster_ == other.cluster_ && brokers_ == other.brokers_ && known_brokers_ == other.known_brokers_ &&
         deleted_topics_ == other.deleted_topics_ && broker_configs_ == other.broker_configs_ &&
         group_configs_ == other.group_configs_ && partition_count_ == other.partition_count_ &&
         controller_epoch_version_ == other.controller_epoch_version_ &&
         generation_version_ == other.generation_version_ && std::ranges::equal(topics_, other.topics_, same_topic) &&
         std::ranges::equal(topics_by_id_, other.topics_by_id_, same_topic) &&
         std::ranges::equal(buckets_, other.buckets_, same_bucket);
}

}  // namespace naru
