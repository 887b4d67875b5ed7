#include "broker/fetch_targets.h"

#include <gtest/gtest.h>

#include "cluster_control/metadata_bench.h"

namespace naru {
namespace {

class ReplicaStandingTest : public testing::Test {
 protected:
  ReplicaStanding standing(int32_t id, int64_t epoch) {
    return standing_of(bench_.image(), BrokerId(0), {.id = BrokerId(id), .broker_epoch = epoch});
  }
  int64_t epoch_of(int32_t id) { return bench_.image().find_broker(BrokerId(id))->epoch; }

  MetadataBench bench_{3};
};

TEST_F(ReplicaStandingTest, IsRegisteredWithItsPresentEpochAlone) {
  EXPECT_EQ(standing(1, epoch_of(1)), ReplicaStanding::registered);
  EXPECT_EQ(standing(1, epoch_of(1) - 1), ReplicaStanding::stranger) << "an earlier life";
  EXPECT_EQ(standing(1, epoch_of(1) + 1), ReplicaStanding::unconfirmed) << "registered again, not known here yet";
}

TEST_F(ReplicaStandingTest, IsUnconfirmedWhenItsRegistrationHasEnded) {
  const int64_t epoch = epoch_of(1);
  bench_.lose_broker(BrokerId(1));
  EXPECT_EQ(standing(1, epoch), ReplicaStanding::unconfirmed);
  EXPECT_EQ(standing(1, epoch - 1), ReplicaStanding::stranger);
}

TEST_F(ReplicaStandingTest, IsThatOfAStrangerForWhoWasNeverABroker) {
  EXPECT_EQ(standing(9, 1'000), ReplicaStanding::stranger);
  EXPECT_EQ(standing(0, epoch_of(0)), ReplicaStanding::stranger) << "nobody fetches from himself";
}

}  // namespace
}  // namespace naru
