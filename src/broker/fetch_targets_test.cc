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

class MayFetch : public testing::Test, public Authorizer {
 protected:
  struct Right {
    Operation operation;
    ResourceType type;
    std::string resource;
    bool operator==(const Right&) const = default;
  };
  bool authorize(const Caller&, Operation operation, ResourceType type, std::string_view resource) const override {
    return granted_ == Right{operation, type, std::string(resource)};
  }
  bool with(Right granted, const FetchTerms& terms) {
    granted_ = std::move(granted);
    return may_fetch(*this, Caller(), terms, "orders");
  }

  const Right read_topic_{Operation::read, ResourceType::topic, "orders"};
  const Right act_for_cluster_{Operation::cluster_action, ResourceType::cluster, std::string(kClusterResource)};

 private:
  Right granted_ = read_topic_;
};

TEST_F(MayFetch, IsForConsumersTheRightToReadTheTopic) {
  const FetchTerms consumer;
  EXPECT_TRUE(with(read_topic_, consumer));
  EXPECT_FALSE(with(act_for_cluster_, consumer));
}

TEST_F(MayFetch, IsForReplicasTheRightToActForTheCluster) {
  const FetchTerms replica{.replica = FetchingReplica{.id = BrokerId(2)}};
  EXPECT_TRUE(with(act_for_cluster_, replica));
  EXPECT_FALSE(with(read_topic_, replica));
}

}  // namespace
}  // namespace naru
