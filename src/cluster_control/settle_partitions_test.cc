#include "cluster_control/settle_partitions.h"

#include <algorithm>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "cluster_control/create_topics.h"
#include "cluster_control/internal_topics.h"
#include "cluster_control/metadata_bench.h"
#include "cluster_control/raise_replication.h"

namespace naru {
namespace {

class SettlePartitionsTest : public testing::Test {
 protected:
  void create(std::string name, int32_t partitions, int16_t factor, bool internal = false) {
    CreateTopicsRequest request;
    request.topics.push_back({.name = std::move(name),
                              .partition_count = partitions,
                              .replication_factor = factor,
                              .internal = internal,
                              .id = {9, next_topic_++}});
    CreateTopicsPlanner planner(std::move(request), config_, 0);
    bench_.run(planner);
    ASSERT_TRUE(planner.take_results().front().status.ok());
  }

  const BrokerConfig config_ = *make_broker_config({});
  MetadataBench bench_{3, {{1, "a"}, {2, "b"}}};
  uint64_t next_topic_ = 1;
};

TEST_F(SettlePartitionsTest, TenThousandPartitionsAreAHandfulOfTransactions) {
  create("large", 10'000, 3);
  const auto led_by_1 = std::ranges::count(bench_.image().find_topic("large")->partitions, BrokerId(1),
                                           [](const PartitionStatePtr& state) { return state->leader; });
  bench_.lose_broker(BrokerId(1));
  const size_t before = bench_.transactions();
  SettlePartitionsPlanner planner(config_, [] { return StoppingBrokers(); });
  bench_.run(planner);
  EXPECT_LE(bench_.transactions() - before, 3u);
  EXPECT_EQ(planner.tally().new_leaders, led_by_1);
  EXPECT_EQ(planner.tally().leaders_lost, 0);
  for (const PartitionStatePtr& state : bench_.image().find_topic("large")->partitions) {
    ASSERT_NE(state->leader, BrokerId(1));
    ASSERT_EQ(state->isr.size(), 2u);
  }
}

TEST_F(SettlePartitionsTest, NothingIsWrittenWhenNothingHasHappened) {
  create("topic", 100, 3);
  const size_t before = bench_.transactions();
  bench_.settle();
  EXPECT_EQ(bench_.transactions(), before);
}

TEST_F(SettlePartitionsTest, ARegistrationIsNotedWithItsDataFolders) {
  bench_.lose_broker(BrokerId(2));
  bench_.register_broker(BrokerId(2), true, {{8, 8}, {8, 9}});
  EXPECT_FALSE(bench_.image().is_settled(BrokerId(2)));
  bench_.settle();
  EXPECT_TRUE(bench_.image().is_settled(BrokerId(2)));
  EXPECT_EQ(bench_.directories(BrokerId(2)), (std::vector<Uuid>{{8, 8}, {8, 9}}));
}

// It lost records, registered, was stopped before the controller had acted on that, and was started again.
TEST_F(SettlePartitionsTest, ARegistrationAfterAnUncleanOneThatWasNotActedOnIsNotClean) {
  const auto restart = [this](bool clean) {
    bench_.lose_broker(BrokerId(2));
    bench_.register_broker(BrokerId(2), clean, {MetadataBench::directory_of(BrokerId(2))});
    return bench_.image().find_broker(BrokerId(2))->clean_shutdown;
  };
  EXPECT_TRUE(restart(true));
  EXPECT_TRUE(restart(true));
  EXPECT_FALSE(restart(false));
  EXPECT_FALSE(restart(true));
  EXPECT_FALSE(restart(true));
  bench_.settle();
  EXPECT_TRUE(restart(true));
}

// The controller was replaced after the first of its transactions: the next one deals with the rest.
TEST_F(SettlePartitionsTest, ABrokerIsNotSettledBeforeAllPartitionsAre) {
  create("large", 10'000, 3);
  create("more", 10'000, 3);
  create("most", 10'000, 3);
  bench_.lose_broker(BrokerId(1));
  bench_.register_broker(BrokerId(1), true, {{77, 77}});
  SettlePartitionsPlanner interrupted(config_, [] { return StoppingBrokers(); });
  const auto first = interrupted.plan(bench_.image());
  ASSERT_TRUE(first);
  bench_.commit(*first);
  interrupted.committed();
  ASSERT_FALSE(interrupted.done());
  EXPECT_FALSE(bench_.image().is_settled(BrokerId(1)));
  bench_.settle();
  EXPECT_TRUE(bench_.image().is_settled(BrokerId(1)));
  for (const TopicMetadataPtr& topic : bench_.image().topics()) {
    for (const PartitionStatePtr& state : topic->partitions) ASSERT_EQ(state->isr.size(), 2u);
  }
}

TEST_F(SettlePartitionsTest, ABrokerThatComesWhileOthersAreDealtWithIsLeftToTheNextPass) {
  create("large", 10'000, 3);
  create("more", 10'000, 3);
  create("most", 10'000, 3);
  bench_.lose_broker(BrokerId(1));
  SettlePartitionsPlanner planner(config_, [] { return StoppingBrokers(); });
  bench_.commit(*planner.plan(bench_.image()));
  planner.committed();
  bench_.register_broker(BrokerId(1), false, {{77, 77}});
  bench_.run(planner);
  EXPECT_FALSE(bench_.image().is_settled(BrokerId(1)));
  EXPECT_FALSE(planner.settled_brokers().contains(BrokerId(1)));
}

TEST_F(SettlePartitionsTest, InternalTopicsGetReplicasAsBrokersJoinWhichAreNotInSyncYet) {
  bench_.lose_broker(BrokerId(1));
  bench_.lose_broker(BrokerId(2));
  bench_.settle();
  create(std::string(kOffsetsTopic), 50, 1, true);
  create("mine", 2, 1);
  EXPECT_FALSE(RaiseReplicationPlanner::is_needed(config_, bench_.image()));
  for (const int32_t id : {1, 2}) {
    bench_.register_broker(BrokerId(id), true, {MetadataBench::directory_of(BrokerId(id))});
    bench_.settle();
    ASSERT_TRUE(RaiseReplicationPlanner::is_needed(config_, bench_.image()));
    RaiseReplicationPlanner planner(config_);
    bench_.run(planner);
    EXPECT_EQ(planner.raised(), 50);
    EXPECT_FALSE(RaiseReplicationPlanner::is_needed(config_, bench_.image()));
  }
  for (const PartitionStatePtr& state : bench_.image().find_topic(kOffsetsTopic)->partitions) {
    ASSERT_EQ(state->replicas.size(), 3u);
    ASSERT_EQ(state->isr, std::vector<BrokerId>{BrokerId(0)});
    ASSERT_EQ(state->leader_epoch, LeaderEpoch(0));
    ASSERT_EQ(state->partition_epoch, 2);
  }
  EXPECT_EQ(bench_.image().find_topic("mine")->replication_factor(), 1);
}

TEST_F(SettlePartitionsTest, NewReplicasOfInternalTopicsAreSpreadAndPreferOtherRacks) {
  bench_.register_broker(BrokerId(3), true, {{3, 3}}, "a");
  bench_.register_broker(BrokerId(4), true, {{3, 4}}, "c");
  bench_.settle();
  CreateTopicsRequest request;
  NewTopic topic{.name = std::string(kOffsetsTopic), .internal = true, .id = {9, 50}};
  for (int32_t index = 0; index < 40; ++index) topic.assignments.push_back({index, {BrokerId(1)}});
  request.topics.push_back(std::move(topic));
  CreateTopicsPlanner create_planner(std::move(request), config_, 0);
  bench_.run(create_planner);
  RaiseReplicationPlanner planner(config_);
  bench_.run(planner);
  std::map<BrokerId, int> replicas;
  for (const PartitionStatePtr& state : bench_.image().find_topic(kOffsetsTopic)->partitions) {
    for (const BrokerId id : state->replicas) ++replicas[id];
  }
  EXPECT_EQ(replicas[BrokerId(3)], 0);  // the rack of broker 1
  for (const int32_t id : {0, 2, 4}) EXPECT_NEAR(replicas[BrokerId(id)], 27, 1);
}

}  // namespace
}  // namespace naru
