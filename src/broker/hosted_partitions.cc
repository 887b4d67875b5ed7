#include "broker/hosted_partitions.h"

#include <utility>

namespace naru {

HostedPartition HostedPartitions::find_in(const Topic& topic, PartitionIndex index) {
  const auto found = topic.partitions.find(index);
  return found == topic.partitions.end() ? HostedPartition{} : found->second;
}

HostedPartition HostedPartitions::find(std::string_view topic, PartitionIndex index) const {
  const std::scoped_lock lock(mutex_);
  const auto id = ids_.find(topic);
  return id == ids_.end() ? HostedPartition{} : find_in(by_id_.at(id->second), index);
}

HostedPartition HostedPartitions::find(const Uuid& topic_id, PartitionIndex index) const {
  const std::scoped_lock lock(mutex_);
  const auto found = by_id_.find(topic_id);
  return found == by_id_.end() ? HostedPartition{} : find_in(found->second, index);
}

bool HostedPartitions::contains(const Uuid& topic_id, PartitionIndex index) const {
  const std::scoped_lock lock(mutex_);
  const auto found = by_id_.find(topic_id);
  return found != by_id_.end() && found->second.partitions.contains(index);
}

void HostedPartitions::add(const PartitionIdentity& identity, HostedPartition hosted) {
  const std::scoped_lock lock(mutex_);
  ids_.insert_or_assign(identity.topic, identity.topic_id);
  Topic& topic = by_id_[identity.topic_id];
  topic.name = identity.topic;
  topic.partitions.insert_or_assign(identity.index, std::move(hosted));
}

HostedPartition HostedPartitions::remove(const Uuid& topic_id, PartitionIndex index) {
  const std::scoped_lock lock(mutex_);
  const auto topic = by_id_.find(topic_id);
  if (topic == by_id_.end()) return {};
  auto node = topic->second.partitions.extract(index);
  if (node.empty()) return {};
  if (topic->second.partitions.empty()) {
    const auto name = ids_.find(topic->second.name);
    if (name != ids_.end() && name->second == topic_id) ids_.erase(name);  // a new topic may have taken the name
    by_id_.erase(topic);
  }
  return std::move(node.mapped());
}

void HostedPartitions::set_config(const Uuid& topic_id, const std::shared_ptr<const TopicConfig>& config) {
  std::vector<std::shared_ptr<Partition>> changed;
  {
    const std::scoped_lock lock(mutex_);
    const auto topic = by_id_.find(topic_id);
    if (topic == by_id_.end()) return;
    for (auto& [index, hosted] : topic->second.partitions) {
      if (!hosted || *hosted.config == *config) continue;
      hosted.config = config;
      changed.push_back(hosted.partition);
    }
  }
  for (const auto& partition : changed) partition->set_config(*config);
}

size_t HostedPartitions::offline_count() const {
  const std::scoped_lock lock(mutex_);
  size_t count = 0;
  for (const auto& [id, topic] : by_id_) {
    for (const auto& [index, hosted] : topic.partitions) count += !hosted || hosted.partition->offline() ? 1 : 0;
  }
  return count;
}

Status HostedPartitions::why_unmade(const Uuid& topic_id) const {
  const std::scoped_lock lock(mutex_);
  const auto topic = by_id_.find(topic_id);
  if (topic == by_id_.end()) return {};
  for (const auto& [index, hosted] : topic->second.partitions) {
    if (hosted.unmade) return hosted.offline_reason;
  }
  return {};
}

std::vector<std::shared_ptr<Partition>> HostedPartitions::all() const {
  std::vector<std::shared_ptr<Partition>> result;
  for (HostedPartition& hosted : all_hosted()) result.push_back(std::move(hosted.partition));
  return result;
}

std::vector<HostedPartition> HostedPartitions::all_hosted() const {
  const std::scoped_lock lock(mutex_);
  std::vector<HostedPartition> result;
  for (const auto& [id, topic] : by_id_) {
    for (const auto& [index, hosted] : topic.partitions) {
      if (hosted) result.push_back(hosted);
    }
  }
  return result;
}

}  // namespace naru
