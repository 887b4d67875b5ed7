#include "cluster_control/replica_placement.h"

#include <algorithm>
#include <map>
#include <set>

#include "foundation/assert.h"

namespace naru {
namespace {

struct Placed {
  BrokerId id;
  std::string rack;
};

// Neighbours are in different racks as far as possible: one broker of each rack, then the next of each, and so on.
std::vector<Placed> alternate_racks(std::span<const PlacementBroker> brokers) {
  std::map<std::string, std::vector<BrokerId>> racks;
  for (const PlacementBroker& broker : brokers) {
    racks[broker.rack ? "rack " + *broker.rack : "broker " + std::to_string(broker.id.value())].push_back(broker.id);
  }
  for (auto& [rack, ids] : racks) std::ranges::sort(ids);
  std::vector<Placed> order;
  for (size_t round = 0; order.size() < brokers.size(); ++round) {
    for (const auto& [rack, ids] : racks) {
      if (round < ids.size()) order.push_back({ids[round], rack});
    }
  }
  return order;
}

// The replicas of one partition: walks the brokers from `follower` on, first through unused racks, then through any.
std::vector<BrokerId> place_one(const std::vector<Placed>& order, size_t leader, size_t follower, size_t count) {
  std::vector<BrokerId> replicas{order[leader].id};
  std::set<std::string_view> racks{order[leader].rack};
  for (const bool any_rack : {false, true}) {
    for (size_t step = 0; step < order.size() && replicas.size() < count; ++step) {
      const Placed& candidate = order[(follower + step) % order.size()];
      if (std::ranges::find(replicas, candidate.id) != replicas.end()) continue;
      if (!any_rack && racks.contains(candidate.rack)) continue;
      replicas.push_back(candidate.id);
      racks.insert(candidate.rack);
    }
  }
  return replicas;
}

}  // namespace

std::vector<std::vector<BrokerId>> place_replicas(std::span<const PlacementBroker> brokers, int32_t partition_count,
                                                  int16_t replication_factor, uint64_t seed) {
  NARU_ASSERT(replication_factor >= 1 && static_cast<size_t>(replication_factor) <= brokers.size(),
              "{} replicas on {} brokers", replication_factor, brokers.size());
  const std::vector<Placed> order = alternate_racks(brokers);
  const size_t count = order.size();
  const size_t start = seed % count;
  std::vector<std::vector<BrokerId>> placed;
  placed.reserve(static_cast<size_t>(partition_count));
  for (size_t partition = 0; partition < static_cast<size_t>(partition_count); ++partition) {
    const size_t leader = (start + partition) % count;
    const size_t distance = count == 1 ? 0 : 1 + (start + partition / count) % (count - 1);
    placed.push_back(place_one(order, leader, leader + distance, static_cast<size_t>(replication_factor)));
  }
  return placed;
}

std::vector<PlacementBroker> placement_brokers(const MetadataImage& image, const StoppingBrokers& stopping,
                                               int16_t needed) {
  std::vector<PlacementBroker> all;
  std::vector<PlacementBroker> staying;
  for (const auto& [id, broker] : image.brokers()) {
    all.push_back({id, broker.rack});
    const auto stops = stopping.find(id);
    if (stops == stopping.end() || stops->second != broker.epoch) staying.push_back(all.back());
  }
  return staying.size() < static_cast<size_t>(needed) ? all : staying;
}

Status check_replicas(const MetadataImage& image, int32_t partition, const std::vector<BrokerId>& replicas) {
  std::set<BrokerId> distinct;
  for (const BrokerId id : replicas) {
    if (image.find_broker(id) == nullptr) {
      return error(ErrorCode::invalid_replica_assignment, "partition {} is assigned to broker {}, which is not there",
                   partition, id);
    }
    if (!distinct.insert(id).second) {
      return error(ErrorCode::invalid_replica_assignment, "partition {} is assigned to broker {} twice", partition, id);
    }
  }
  return {};
}

}  // namespace naru
