#include "cluster_control/replica_placement.h"

#include <algorithm>
#include <map>
#include <set>

#include <gtest/gtest.h>

namespace naru {
namespace {

std::vector<PlacementBroker> brokers(int count, int racks) {
  std::vector<PlacementBroker> all;
  for (int id = 0; id < count; ++id) {
    all.push_back({BrokerId(id), std::nullopt});
    if (racks > 0) all.back().rack = "rack" + std::to_string(id % racks);
  }
  return all;
}

TEST(ReplicaPlacement, OneBrokerHoldsEverything) {
  const auto placed = place_replicas(brokers(1, 0), 3, 1, 77);
  EXPECT_EQ(placed, (std::vector<std::vector<BrokerId>>(3, {BrokerId(0)})));
}

TEST(ReplicaPlacement, NeverPutsTwoReplicasOnOneBrokerAndSpreadsLeadersAndReplicas) {
  for (int count = 1; count <= 9; ++count) {
    for (int factor = 1; factor <= count; ++factor) {
      for (uint64_t seed = 0; seed < 12; ++seed) {
        const int partitions = count * std::max(1, count - 1) * 2;
        std::map<BrokerId, int> leaders;
        std::map<BrokerId, int> replicas;
        for (const auto& placed : place_replicas(brokers(count, 0), partitions, static_cast<int16_t>(factor), seed)) {
          ASSERT_EQ(std::set(placed.begin(), placed.end()).size(), static_cast<size_t>(factor));
          ++leaders[placed.front()];
          for (const BrokerId id : placed) ++replicas[id];
        }
        for (const auto& [id, led] : leaders) EXPECT_EQ(led, partitions / count);
        for (const auto& [id, held] : replicas) EXPECT_EQ(held, partitions * factor / count);
      }
    }
  }
}

TEST(ReplicaPlacement, UsesEveryRackBeforeOneTwice) {
  for (int racks = 2; racks <= 4; ++racks) {
    const auto all = brokers(8, racks);
    for (int16_t factor = 1; factor <= 8; ++factor) {
      for (const auto& placed : place_replicas(all, 50, factor, 5)) {
        std::set<std::string> used;
        for (const BrokerId id : placed) used.insert(*all[static_cast<size_t>(id.value())].rack);
        EXPECT_EQ(used.size(), static_cast<size_t>(std::min<int>(factor, racks)));
        EXPECT_EQ(std::set(placed.begin(), placed.end()).size(), static_cast<size_t>(factor));
      }
    }
  }
}

TEST(ReplicaPlacement, PartitionsWithOneLeaderHaveDifferentFollowers) {
  std::set<BrokerId> followers;
  for (const auto& placed : place_replicas(brokers(5, 0), 20, 2, 0)) {
    if (placed.front() == BrokerId(0)) followers.insert(placed[1]);
  }
  EXPECT_EQ(followers.size(), 4u);
}

TEST(ReplicaPlacement, DependsOnNothingButItsArguments) {
  auto shuffled = brokers(6, 3);
  std::ranges::reverse(shuffled);
  EXPECT_EQ(place_replicas(brokers(6, 3), 30, 3, 9), place_replicas(shuffled, 30, 3, 9));
  EXPECT_NE(place_replicas(brokers(6, 3), 30, 3, 9), place_replicas(brokers(6, 3), 30, 3, 10));
}

}  // namespace
}  // namespace naru
