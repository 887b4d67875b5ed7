#include "broker/leader_hints.h"

#include <gtest/gtest.h>

#include "cluster_control/metadata_bench.h"

namespace naru {
namespace {

class NearestReplica : public testing::Test {
 protected:
  BrokerId nearest(std::vector<int32_t> isr, std::string_view rack, int32_t self = 0, int32_t partition = 0) {
    PartitionState state{.index = PartitionIndex(partition), .leader = BrokerId(0)};
    for (const int32_t id : isr) state.isr.emplace_back(id);
    return nearest_replica(bench_.image(), state, BrokerId(self), rack);
  }

  MetadataBench bench_{5, {{0, "a"}, {1, "b"}, {2, "b"}, {3, "c"}}};
};

TEST_F(NearestReplica, IsAnInSyncOneInTheConsumersRack) {
  EXPECT_EQ(nearest({0, 1, 3}, "b"), BrokerId(1));
  EXPECT_EQ(nearest({0, 1, 3}, "c"), BrokerId(3));
  EXPECT_EQ(nearest({0, 3}, "b"), kNoBroker) << "1 and 2 are not in sync";
  EXPECT_EQ(nearest({0, 1, 3}, "d"), kNoBroker);
  EXPECT_EQ(nearest({0, 4}, ""), kNoBroker);
}

TEST_F(NearestReplica, IsTheLeaderItselfIfThatStandsThere) {
  EXPECT_EQ(nearest({0, 1, 2}, "a"), kNoBroker);
}

TEST_F(NearestReplica, TakesTurnsBetweenPartitions) {
  EXPECT_NE(nearest({0, 1, 2}, "b", 0, 0), nearest({0, 1, 2}, "b", 0, 1));
}

TEST_F(NearestReplica, OnlyTheLeaderSendsConsumersAway) {
  EXPECT_EQ(nearest({0, 1, 2}, "b", 3), kNoBroker);
}

TEST_F(NearestReplica, ABrokerThatIsGoneIsNobodysNeighbour) {
  bench_.lose_broker(BrokerId(1));
  EXPECT_EQ(nearest({0, 1, 3}, "b"), kNoBroker);
}

}  // namespace
}  // namespace naru
