#include "broker/hosted_partitions.h"

#include <utility>

namespace naru {

const HostedPartition* HostedPartitions::find_in(const Topic& topic, PartitionIndex index) {
  const auto at = static_cast<size_t>(index.value());  // a negative one is far beyond the end
  if (at >= topic.partitions.size() || !topic.partitions[at]) return nullptr;
  return &*topic.partitions[at];
}

HostedPartition HostedPartitions::find(std::string_view topic, PartitionIndex index) const {
  const std::scoped_lock lock(mutex_);
  const auto id = ids_.find(topic);
  if (id == ids_.end()) return {};
  const HostedPartition* hosted = find_in(by_id_.at(id->second), index);
  return hosted != nullptr ? *hosted : HostedPartition{};
}

HostedPartition HostedPartitions::find(const Uuid& topic_id, PartitionIndex index) const {
  const std::scoped_lock lock(mutex_);
  const auto topic = by_id_.find(topic_id);
  if (topic == by_id_.end()) return {};
  const HostedPartition* hosted = find_in(topic->second, index);
  return hosted != nullptr ? *hosted : HostedPartition{};
}

bool HostedPartitions::contains(const Uuid& topic_id, PartitionIndex index) const {
  const std::scoped_lock lock(mutex_);
  const auto found = by_id_.find(topic_id);
  return found != by_id_.end() && find_in(found->second, index) != nullptr;
}

void HostedPartitions::add(const PartitionIdentity& identity, HostedPartition hosted) {
  const std::scoped_lock lock(mutex_);
  ids_.insert_or_assign(identity.topic, identity.topic_id);
  Topic& topic = by_id_[identity.topic_id];
  topic.name = identity.topic;
  const auto at = static_cast<size_t>(identity.index.value());
  if (at >= topic.partitions.size()) topic.partitions.resize(at + 1);
  if (!topic.partitions[at]) ++topic.hosted;
  topic.partitions[at] = std::move(hosted);
}

HostedPartition HostedPartitions::remove(const Uuid& topic_id, PartitionIndex index) {
  const std::scoped_lock lock(mutex_);
  const auto topic = by_id_.find(topic_id);
  if (topic == by_id_.end() || find_in(topic->second, index) == nullptr) return {};
  auto removed = std::exchange(topic->second.partitions[static_cast<size_t>(index.value())], std::nullopt);
  if (--topic->second.hosted == 0) {
    const auto name = ids_.find(topic->second.name);
    if (name != ids_.end() && name->second == topic_id) ids_.erase(name);  // a new topic may have taken the name
    by_id_.erase(topic);
  }
  return std::move(*removed);
}

void HostedPartitions::set_config(const Uuid& topic_id, const std::shared_ptr<const TopicConfig>& config) {
  std::vector<std::shared_ptr<Partition>> changed;
  {
    const std::scoped_lock lock(mutex_);
    const auto topic = by_id_.find(topic_id);
    if (topic == by_id_.end()) return;
    for (auto& hosted : topic->second.partitions) {
      if (!hosted || !*hosted || *hosted->config == *config) continue;
      hosted->config = config;
      changed.push_back(hosted->partition);
    }
  }
  for (const auto& partition : changed) partition->set_config(*config);
}

std::set<std::pair<Uuid, PartitionIndex>> HostedPartitions::offline() const {
  const std::scoped_lock lock(mutex_);
  std::set<std::pair<Uuid, PartitionIndex>> offline;
  for (const auto& [id, topic] : by_id_) {
    for (size_t i = 0; i < topic.partitions.size(); ++i) {
      const auto& hosted = topic.partitions[i];
      if (hosted && (!*hosted || hosted->partition->offline())) offline.emplace(id, static_cast<int32_t>(i));
    }
  }
  return offline;
}

Status HostedPartitions::why_unmade(const Uuid& topic_id) const {
  const std::scoped_lock lock(mutex_);
  const auto topic = by_id_.find(topic_id);
  if (topic == by_id_.end()) return {};
  for (const auto& hosted : topic->second.partitions) {
    if (hosted && hosted->unmade) return hosted->offline_reason;
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
    for (const auto& hosted : topic.partitions) {
      if (hosted && *hosted) result.push_back(*hosted);
    }
  }
  return result;
}

}  // namespace naru
