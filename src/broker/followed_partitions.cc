#include "broker/followed_partitions.h"

#include <algorithm>
#include <iterator>

namespace naru {

void FollowedPartitions::look_again_at(const std::set<Uuid>& topics) {
  for (const Uuid& id : topics) {
    if (image_->find_topic(id) != nullptr) unserved_.insert(id);
  }
}

FollowChanges FollowedPartitions::update(MetadataImagePtr image) {
  FollowChanges changes;
  for (const TopicMetadataPtr& topic : to_be_looked_at(*image)) look(*image, *topic, changes);
  // Those that were other ones before include those that are gone.
  for (const TopicMetadataPtr& topic : image_->topics_changed_since(*image)) {
    if (image->find_topic(topic->id) != nullptr) continue;
    for (const PartitionStatePtr& state : topic->partitions) drop({topic->id, state->index}, changes);
    unserved_.erase(topic->id);
  }
  image_ = std::move(image);
  return changes;
}

std::vector<TopicMetadataPtr> FollowedPartitions::to_be_looked_at(const MetadataImage& image) {
  if (image.brokers() != image_->brokers()) return {image.topics().begin(), image.topics().end()};
  std::vector<TopicMetadataPtr> topics = image.topics_changed_since(*image_);
  if (unserved_.empty()) return topics;
  std::set<Uuid> others = unserved_;
  for (const TopicMetadataPtr& topic : topics) others.erase(topic->id);
  std::ranges::copy_if(image.topics(), std::back_inserter(topics),
                       [&others](const TopicMetadataPtr& topic) { return others.contains(topic->id); });
  return topics;
}

void FollowedPartitions::look(const MetadataImage& image, const TopicMetadata& topic, FollowChanges& changes) {
  unserved_.erase(topic.id);
  for (const PartitionStatePtr& state : topic.partitions) {
    const PartitionKey key{topic.id, state->index};
    auto now = followed(image, topic, *state);
    if (!now) {
      drop(key, changes);
      continue;
    }
    const auto [known, is_new] = followed_.try_emplace(key, *now);
    if (!is_new && known->second == *now) continue;
    known->second = *now;
    changes.changed.push_back(std::move(*now));
  }
}

std::optional<FollowedPartition> FollowedPartitions::followed(const MetadataImage& image, const TopicMetadata& topic,
                                                              const PartitionState& state) {
  if (state.leader == self_ || state.leader == kNoBroker) return std::nullopt;
  if (std::ranges::find(state.replicas, self_) == state.replicas.end()) return std::nullopt;
  const BrokerMetadata* leader = image.find_broker(state.leader);
  if (leader == nullptr || leader->listeners.empty()) return std::nullopt;
  auto partition = find_(topic.id, state.index);
  if (!partition) {
    unserved_.insert(topic.id);
    return std::nullopt;
  }
  return FollowedPartition{.partition = std::move(partition),
                           .leader = state.leader,
                           .leader_broker_epoch = leader->epoch,
                           .leader_address = address_for_brokers(leader->listeners),
                           .leader_epoch = state.leader_epoch,
                           .in_sync = std::ranges::find(state.isr, self_) != state.isr.end()};
}

void FollowedPartitions::drop(const PartitionKey& key, FollowChanges& changes) {
  if (followed_.erase(key) > 0) changes.dropped.push_back(key);
}

}  // namespace naru
