#include "cluster_control/alter_partitions.h"

#include <gtest/gtest.h>

#include "cluster_control/create_topics.h"
#include "cluster_control/elect_leaders.h"
#include "cluster_control/metadata_bench.h"

namespace naru {
namespace {

class AlterPartitionsTest : public testing::Test {
 protected:
  // Partition 0 of "topic" is led by broker 0, with 1 and 2.
  AlterPartitionsTest() { create("topic", 1); }

  void create(std::string name, int32_t partitions) {
    NewTopic topic{.name = std::move(name), .id = {9, next_topic_++}};
    for (int32_t i = 0; i < partitions; ++i) topic.assignments.push_back({i, {BrokerId(0), BrokerId(1), BrokerId(2)}});
    CreateTopicsPlanner planner({{topic}, false}, config_, 0);
    bench_.run(planner);
    ASSERT_TRUE(planner.take_results().front().status.ok());
  }
  const PartitionState& state() const { return *bench_.image().find_topic("topic")->partitions.front(); }
  int64_t epoch(int32_t id) const {
    const BrokerMetadata* broker = bench_.image().find_broker(BrokerId(id));
    return broker == nullptr ? 1 : broker->epoch;
  }
  IsrChange change(std::initializer_list<int32_t> isr) const {
    IsrChange wanted{state().topic_id, state().index, state().leader_epoch, state().partition_epoch, {}};
    for (const int32_t id : isr) wanted.isr.push_back({BrokerId(id), epoch(id)});
    return wanted;
  }
  AlterPartitionResult alter(const IsrChange& wanted, int32_t leader = 0, const StoppingBrokers& reports = {}) {
    AlterPartitionsPlanner planner(BrokerId(leader), epoch(leader), {wanted}, reports);
    bench_.run(planner);
    return planner.take_results().front();
  }
  ErrorCode error_of(const IsrChange& wanted, int32_t leader = 0) { return alter(wanted, leader).status.code(); }
  ElectLeadersResult elect(ElectionType type, std::string topic = "topic", int32_t index = 0) {
    const TopicMetadata* found = bench_.image().find_topic(std::string_view(topic));
    const Uuid id = found == nullptr ? Uuid() : found->id;
    ElectLeadersPlanner planner(type, {{std::move(topic), PartitionIndex(index), id}}, {});
    bench_.run(planner);
    return planner.take_results().front();
  }

  const BrokerConfig config_ = *make_broker_config({});
  MetadataBench bench_{3};
  uint64_t next_topic_ = 1;
};

TEST_F(AlterPartitionsTest, TheLeaderShrinksAndExpandsTheIsr) {
  const auto shrunk = alter(change({0, 2}));
  ASSERT_TRUE(shrunk.status.ok()) << shrunk.status.to_string();
  EXPECT_EQ(shrunk.now, state());
  EXPECT_EQ(state().isr, (std::vector<BrokerId>{BrokerId(0), BrokerId(2)}));
  EXPECT_EQ(state().partition_epoch, 1);
  EXPECT_EQ(state().leader_epoch, LeaderEpoch(0));
  EXPECT_TRUE(alter(change({0, 2, 1})).status.ok());
  EXPECT_EQ(state().isr.size(), 3u);
  EXPECT_EQ(state().partition_epoch, 2);
}

TEST_F(AlterPartitionsTest, AChangeThatHappenedAlreadyIsOkAgainAndChangesNothing) {
  const IsrChange wanted = change({0, 1});
  ASSERT_TRUE(alter(wanted).status.ok());
  const PartitionState after = state();
  const auto again = alter(wanted);
  EXPECT_TRUE(again.status.ok());
  EXPECT_EQ(again.now, after);
  EXPECT_EQ(state(), after);
}

TEST_F(AlterPartitionsTest, OldAndNewEpochsAreRefusedEachInItsWay) {
  IsrChange wanted = change({0, 1});
  ASSERT_TRUE(alter(change({0, 2})).status.ok());
  const auto outdated = alter(wanted);
  EXPECT_EQ(outdated.status.code(), ErrorCode::invalid_update_version);
  EXPECT_EQ(outdated.now, state());
  wanted.partition_epoch = 2;
  EXPECT_EQ(error_of(wanted), ErrorCode::not_controller);
  wanted = change({0, 1});
  wanted.leader_epoch = LeaderEpoch(1);
  EXPECT_EQ(error_of(wanted), ErrorCode::not_controller);
  wanted.leader_epoch = LeaderEpoch(-1);
  EXPECT_EQ(error_of(wanted), ErrorCode::fenced_leader_epoch);
}

TEST_F(AlterPartitionsTest, OnlyTheLeaderInItsPresentRegistrationMayAsk) {
  EXPECT_EQ(error_of(change({0, 1}), 1), ErrorCode::invalid_request);
  AlterPartitionsPlanner planner(BrokerId(0), epoch(0) - 1, {change({0, 1})}, {});
  bench_.run(planner);
  EXPECT_EQ(planner.take_results().front().status.code(), ErrorCode::stale_broker_epoch);
}

TEST_F(AlterPartitionsTest, TheIsrConsistsOfReplicasTheLeaderAmongThem) {
  bench_.register_broker(BrokerId(7), true, {});
  bench_.settle();
  for (const auto& isr : {change({}), change({1, 2}), change({0, 0}), change({0, 7})}) {
    EXPECT_EQ(error_of(isr), ErrorCode::invalid_request);
  }
  IsrChange unknown = change({0});
  unknown.index = PartitionIndex(1);
  EXPECT_EQ(error_of(unknown), ErrorCode::unknown_topic_or_partition);
  unknown.topic_id = {1, 2};
  EXPECT_EQ(error_of(unknown), ErrorCode::unknown_topic_id);
}

// The story of a follower that caught up, lost its disk, and came back before it was added to the ISR.
TEST_F(AlterPartitionsTest, AFollowerThatHasRegisteredSinceItCaughtUpIsIneligible) {
  ASSERT_TRUE(alter(change({0, 2})).status.ok());
  const IsrChange expansion = change({0, 2, 1});
  bench_.lose_broker(BrokerId(1));
  EXPECT_EQ(error_of(expansion), ErrorCode::ineligible_replica);
  bench_.register_broker(BrokerId(1), false, {{77, 77}});
  EXPECT_EQ(error_of(expansion), ErrorCode::ineligible_replica);
  EXPECT_EQ(error_of(change({0, 2, 1})), ErrorCode::ineligible_replica);  // not settled yet
  bench_.settle();
  EXPECT_EQ(error_of(expansion), ErrorCode::ineligible_replica);
  EXPECT_TRUE(alter(change({0, 2, 1})).status.ok());
}

TEST_F(AlterPartitionsTest, AStoppingBrokerDoesNotJoinAndMayStay) {
  const StoppingBrokers stopping{{BrokerId(1), epoch(1)}};
  EXPECT_TRUE(alter(change({0, 1}), 0, stopping).status.ok());
  ASSERT_TRUE(alter(change({0})).status.ok());
  EXPECT_EQ(alter(change({0, 1}), 0, stopping).status.code(), ErrorCode::ineligible_replica);
}

TEST_F(AlterPartitionsTest, AReplicaWhoseLogIsOfflineDoesNotJoin) {
  bench_.tell_offline(BrokerId(1), {{state().topic_id, state().index}});
  EXPECT_TRUE(alter(change({0, 1})).status.ok());
  ASSERT_TRUE(alter(change({0})).status.ok());
  EXPECT_EQ(alter(change({0, 1})).status.code(), ErrorCode::ineligible_replica);
  EXPECT_TRUE(alter(change({0, 2})).status.ok());
}

TEST_F(AlterPartitionsTest, ManyChangesAreFewTransactions) {
  create("large", 10'000);
  std::vector<IsrChange> changes;
  for (const auto& partition : bench_.image().find_topic("large")->partitions) {
    changes.push_back({partition->topic_id, partition->index, {}, 0, {{BrokerId(0), epoch(0)}}});
  }
  const size_t before = bench_.transactions();
  AlterPartitionsPlanner planner(BrokerId(0), epoch(0), changes, {});
  bench_.run(planner);
  EXPECT_LE(bench_.transactions() - before, 2u);
  for (const auto& result : planner.take_results()) {
    ASSERT_TRUE(result.status.ok());
    ASSERT_EQ(result.now.isr.size(), 1u);
  }
}

TEST_F(AlterPartitionsTest, ThePreferredReplicaIsElectedWhenItIsInSync) {
  EXPECT_EQ(elect(ElectionType::preferred).status.code(), ErrorCode::election_not_needed);
  bench_.lose_broker(BrokerId(0));
  bench_.settle();
  ASSERT_EQ(state().leader, BrokerId(1));
  EXPECT_EQ(elect(ElectionType::preferred).status.code(), ErrorCode::preferred_leader_not_available);
  bench_.register_broker(BrokerId(0), true, {MetadataBench::directory_of(BrokerId(0))});
  bench_.settle();
  EXPECT_EQ(elect(ElectionType::preferred).status.code(), ErrorCode::preferred_leader_not_available);
  EXPECT_TRUE(imbalanced_partitions(bench_.image()).empty());
  ASSERT_TRUE(alter(change({1, 2, 0}), 1).status.ok());
  EXPECT_EQ(imbalanced_partitions(bench_.image()).size(), 1u);
  const LeaderEpoch before = state().leader_epoch;
  EXPECT_TRUE(elect(ElectionType::preferred).status.ok());
  EXPECT_EQ(state().leader, BrokerId(0));
  EXPECT_EQ(state().leader_epoch, before + 1);
  EXPECT_EQ(elect(ElectionType::preferred, "topic", 1).status.code(), ErrorCode::unknown_topic_or_partition);
  EXPECT_EQ(elect(ElectionType::preferred, "nothing").status.code(), ErrorCode::unknown_topic_or_partition);
}

TEST_F(AlterPartitionsTest, AnUncleanElectionIsForPartitionsWithoutALeader) {
  EXPECT_EQ(elect(ElectionType::unclean).status.code(), ErrorCode::election_not_needed);
  ASSERT_TRUE(alter(change({0})).status.ok());
  bench_.lose_broker(BrokerId(0));
  bench_.settle();
  ASSERT_EQ(state().leader, kNoBroker);
  EXPECT_TRUE(elect(ElectionType::unclean).status.ok());
  EXPECT_EQ(state().leader, BrokerId(1));
  EXPECT_EQ(state().isr, std::vector<BrokerId>{BrokerId(1)});
  for (const int32_t id : {1, 2}) bench_.lose_broker(BrokerId(id));
  bench_.settle();
  EXPECT_EQ(elect(ElectionType::unclean).status.code(), ErrorCode::eligible_leaders_not_available);
}

// The outcome of its transaction was unknown: planned again, it is still what the request has done.
TEST_F(AlterPartitionsTest, AnElectionThatHappenedIsOkWhenItIsPlannedAgain) {
  bench_.lose_broker(BrokerId(0));
  bench_.settle();
  bench_.register_broker(BrokerId(0), true, {MetadataBench::directory_of(BrokerId(0))});
  bench_.settle();
  ASSERT_TRUE(alter(change({1, 2, 0}), 1).status.ok());
  ElectLeadersPlanner planner(ElectionType::preferred, {{"topic", PartitionIndex(0), state().topic_id}}, {});
  bench_.commit(*planner.plan(bench_.image()));
  bench_.run(planner);
  EXPECT_TRUE(planner.take_results().front().status.ok());
}

}  // namespace
}  // namespace naru
