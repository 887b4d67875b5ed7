#include "command_line/cluster_repairs.h"

#include <algorithm>
#include <set>

#include "command_line/units.h"

namespace naru::command_line {
namespace {

bool contains(const std::vector<BrokerId>& brokers, BrokerId id) {
  return std::ranges::find(brokers, id) != brokers.end();
}

std::string named(const std::vector<BrokerId>& brokers) {
  return fmt::format("{} {}", brokers.size() == 1 ? "broker" : "brokers", join(brokers));
}

std::optional<uint64_t> size_of(const ReplicaSizes& sizes, BrokerId broker, const client::TopicPartition& name) {
  const auto found = sizes.find({broker, name});
  return found == sizes.end() ? std::nullopt : std::optional(found->second);
}

std::string sentence_about_leader(const Repair& repair) {
  if (!repair.electable.empty()) {
    return fmt::format("no leader, though {} is here: the controller's log says why", named(repair.electable));
  }
  return fmt::format("no leader until {} is back", named(repair.state.in_sync));
}

std::string progress_of(const MissingReplica& replica) {
  // Logs with the same records may differ a little in size.
  if (!replica.bytes || !replica.leader_bytes || *replica.bytes >= *replica.leader_bytes) return "";
  return fmt::format(", {} of {}", format_bytes(*replica.bytes), format_bytes(*replica.leader_bytes));
}

Repair repair_of(const client::ClusterMetadata& metadata, const client::TopicPartition& name,
                 const client::PartitionInfo& partition, const ReplicaSizes& sizes) {
  Repair repair{.name = name, .state = partition, .electable = {}, .missing = {}};
  for (const BrokerId id : partition.replicas) {
    const bool is_here = metadata.find_broker(id) != nullptr;
    if (!contains(partition.in_sync, id)) {
      repair.missing.push_back({.broker = id,
                                .is_here = is_here,
                                .bytes = size_of(sizes, id, name),
                                .leader_bytes = size_of(sizes, partition.leader, name)});
    } else if (partition.is_offline() && is_here) {
      repair.electable.push_back(id);
    }
  }
  return repair;
}

}  // namespace

std::string join(const std::vector<BrokerId>& brokers) {
  std::string text;
  for (const BrokerId broker : brokers) text += fmt::format("{}{}", text.empty() ? "" : ",", broker);
  return text;
}

std::string Repair::to_string() const {
  std::string text = state.is_offline() ? sentence_about_leader(*this) : "";
  for (const MissingReplica& replica : missing) {
    if (!text.empty()) text += "; ";
    if (!replica.is_here) {
      text += fmt::format("broker {} is not here", replica.broker);
    } else if (state.is_offline()) {
      text += fmt::format("broker {} waits for a leader", replica.broker);
    } else {
      text += fmt::format("broker {} catches up{}", replica.broker, progress_of(replica));
    }
  }
  return text;
}

std::vector<Repair> find_repairs(const client::ClusterMetadata& metadata, const ReplicaSizes& sizes) {
  std::vector<Repair> repairs, less_urgent;
  for (const client::TopicInfo& topic : metadata.topics) {
    for (const client::PartitionInfo& partition : topic.partitions) {
      if (!partition.is_offline() && !partition.is_under_replicated()) continue;
      Repair repair = repair_of(metadata, {topic.name, partition.index}, partition, sizes);
      (partition.is_offline() ? repairs : less_urgent).push_back(std::move(repair));
    }
  }
  std::ranges::move(less_urgent, std::back_inserter(repairs));
  return repairs;
}

std::vector<BrokerId> absent_brokers(const client::ClusterMetadata& metadata) {
  std::set<BrokerId> absent;
  for (const client::TopicInfo& topic : metadata.topics) {
    for (const client::PartitionInfo& partition : topic.partitions) {
      for (const BrokerId id : partition.replicas) {
        if (metadata.find_broker(id) == nullptr) absent.insert(id);
      }
    }
  }
  return {absent.begin(), absent.end()};
}

}  // namespace naru::command_line
