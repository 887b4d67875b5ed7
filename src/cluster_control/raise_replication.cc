#include "cluster_control/raise_replication.h"

#include <algorithm>
#include <set>
#include <string>
#include <tuple>

#include "cluster_control/internal_topics.h"
#include "cluster_control/leader_election.h"

namespace naru {
namespace {

constexpr int32_t kInternalReplicas = 3;

// 0: not a topic whose replicas are raised.
size_t wanted_replicas(const BrokerConfig& config, const MetadataImage& image, const TopicMetadata& topic) {
  if (!is_internal_topic(topic.name)) return 0;
  const std::optional<int32_t> configured = topic.name == kOffsetsTopic ? config.groups.offsets_topic_replication_factor
                                                                        : config.transactions.topic_replication_factor;
  const auto wanted = static_cast<size_t>(configured.value_or(kInternalReplicas));
  return std::min(wanted, image.brokers().size());
}

std::set<std::string> racks_of(const MetadataImage& image, const std::vector<BrokerId>& ids) {
  std::set<std::string> racks;
  for (const BrokerId id : ids) {
    const BrokerMetadata* broker = image.find_broker(id);
    if (broker != nullptr && broker->rack) racks.insert(*broker->rack);
  }
  return racks;
}

}  // namespace

bool RaiseReplicationPlanner::is_needed(const BrokerConfig& config, const MetadataImage& image) {
  for (const std::string_view name : {kOffsetsTopic, kTransactionsTopic}) {
    const TopicMetadata* topic = image.find_topic(name);
    if (topic == nullptr) continue;
    const size_t wanted = wanted_replicas(config, image, *topic);
    if (std::ranges::any_of(topic->partitions, [wanted](const auto& state) { return state->replicas.size() < wanted; }))
      return true;
  }
  return false;
}

void RaiseReplicationPlanner::begin_step(const MetadataImage& image) {
  replicas_.clear();
  raised_by_step_ = 0;
  for (const std::string_view name : {kOffsetsTopic, kTransactionsTopic}) {
    const TopicMetadata* topic = image.find_topic(name);
    if (topic == nullptr) continue;
    for (const PartitionStatePtr& state : topic->partitions) {
      for (const BrokerId id : state->replicas) ++replicas_[{topic->id, id}];
    }
  }
}

std::optional<PartitionState> RaiseReplicationPlanner::change(const MetadataImage& image,
                                                              const PartitionState& before) {
  const TopicMetadata* topic = image.find_topic(before.topic_id);
  const size_t wanted = topic == nullptr ? 0 : wanted_replicas(config_, image, *topic);
  if (before.replicas.size() >= wanted) return std::nullopt;
  PartitionState after = before;
  while (after.replicas.size() < wanted) {
    const BrokerId broker = choose_broker(image, after);
    after.replicas.push_back(broker);
    ++replicas_[{topic->id, broker}];
  }
  return with_new_epochs(before, std::move(after));
}

// One is left: more brokers are there than the partition has replicas.
BrokerId RaiseReplicationPlanner::choose_broker(const MetadataImage& image, const PartitionState& state) const {
  const std::set<std::string> racks = racks_of(image, state.replicas);
  std::optional<std::tuple<bool, int32_t, BrokerId>> best;
  for (const auto& [id, broker] : image.brokers()) {
    if (std::ranges::find(state.replicas, id) != state.replicas.end()) continue;
    const auto count = replicas_.find({state.topic_id, id});
    const bool same_rack = broker.rack && racks.contains(*broker.rack);
    const std::tuple candidate(same_rack, count == replicas_.end() ? 0 : count->second, id);
    if (!best || candidate < *best) best = candidate;
  }
  return std::get<BrokerId>(*best);
}

}  // namespace naru
