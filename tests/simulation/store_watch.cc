#include "simulation/store_watch.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "cluster_control/metadata_image_builder.h"

namespace naru::simulation {
namespace {

bool holds(const std::vector<BrokerId>& brokers, BrokerId id) {
  return std::ranges::find(brokers, id) != brokers.end();
}

}  // namespace

void StoreWatch::violated(std::string sentence) {
  if (!violation_) violation_ = "in the coordination store: " + std::move(sentence);
}

void StoreWatch::look(const StoreState& state) {
  joined_.clear();
  MetadataImageBuilder builder(*image_);
  Status status;
  for (const auto& [key, entry] : state.entries()) {
    KeyVersion& known = versions_[key];
    if (std::exchange(known, entry.version) == entry.version) continue;
    if (status.ok()) status = builder.put(key, entry.value.view(), entry.version);
  }
  std::erase_if(versions_, [&](const auto& known) {
    if (state.entries().contains(known.first)) return false;
    if (status.ok()) status = builder.remove(known.first);
    return true;
  });
  if (!status.ok()) return violated(status.to_string());
  auto built = builder.build();
  if (!built) return violated(built.error().to_string());
  const MetadataImagePtr before = std::exchange(image_, std::move(*built));
  look_at_controller(before->cluster(), image_->cluster());
  for (const TopicMetadataPtr& topic : image_->topics_changed_since(*before)) {
    look_at_topic(before->find_topic(topic->id), *topic);
  }
}

void StoreWatch::look_at_controller(const ClusterMetadata& before, const ClusterMetadata& now) {
  if (now.controller_epoch < before.controller_epoch) {
    violated(
        fmt::format("the controller epoch went back from {} to {}", before.controller_epoch, now.controller_epoch));
  }
  if (now.generation < before.generation) {
    violated(fmt::format("the generation went back from {} to {}", before.generation, now.generation));
  }
  const auto [holder, first] = controllers_.try_emplace(now.controller_epoch, now.controller_incarnation);
  if (!first && holder->second != now.controller_incarnation) {
    violated(fmt::format("two controllers in epoch {}", now.controller_epoch));
  }
}

void StoreWatch::look_at_topic(const TopicMetadata* before, const TopicMetadata& now) {
  for (const PartitionStatePtr& state : now.partitions) {
    leaders_.emplace(std::tuple(now.id, state->index, state->leader_epoch), state->leader);
    const PartitionState* known = before == nullptr ? nullptr : before->partition(state->index);
    if (known != nullptr && *known != *state) {
      look_at_partition(fmt::format("{}-{}", now.name, state->index), *known, *state);
    }
  }
}

void StoreWatch::look_at_partition(const std::string& name, const PartitionState& before, const PartitionState& now) {
  if (now.partition_epoch != before.partition_epoch + 1) {
    violated(fmt::format("{}: partition epoch {} follows {}", name, now.partition_epoch, before.partition_epoch));
  }
  if (now.leader_epoch < before.leader_epoch) {
    violated(fmt::format("{}: leader epoch {} follows {}", name, now.leader_epoch, before.leader_epoch));
  }
  if (now.leader_epoch == before.leader_epoch && now.leader != before.leader) {
    violated(fmt::format("{}: leaders {} and {} in epoch {}", name, before.leader, now.leader, now.leader_epoch));
  }
  if (now.isr.empty() || !std::ranges::all_of(now.isr, [&now](BrokerId id) { return holds(now.replicas, id); })) {
    violated(fmt::format("{}: an in-sync set of {} that is empty or has members that are no replicas", name,
                         now.isr.size()));
  }
  if (now.leader == kNoBroker) return;
  note_joined(before, now);
  if (!holds(now.isr, now.leader)) violated(fmt::format("{}: leader {} is not in sync", name, now.leader));
  if (now.leader != before.leader && !holds(before.isr, now.leader)) {
    violated(fmt::format("{}: {} was elected, which was not in sync", name, now.leader));
  }
}

void StoreWatch::note_joined(const PartitionState& before, const PartitionState& now) {
  if (now.leader_epoch != before.leader_epoch) return;
  for (const BrokerId id : now.isr) {
    if (holds(before.isr, id)) continue;
    joined_.push_back({now.leader, id});
    joined_ever_[{now.topic_id, now.index, now.leader_epoch}].insert(id);
  }
}

std::set<BrokerId> StoreWatch::joined_under(const Uuid& topic_id, PartitionIndex index, LeaderEpoch epoch) const {
  const auto found = joined_ever_.find({topic_id, index, epoch});
  return found == joined_ever_.end() ? std::set<BrokerId>() : found->second;
}

BrokerId StoreWatch::leader_of(const Uuid& topic_id, PartitionIndex index, LeaderEpoch epoch) const {
  const auto found = leaders_.find({topic_id, index, epoch});
  return found == leaders_.end() ? kNoBroker : found->second;
}

}  // namespace naru::simulation
