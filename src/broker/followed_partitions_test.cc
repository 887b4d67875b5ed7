#include "broker/followed_partitions.h"

#include <gtest/gtest.h>

#include "cluster_control/create_topics.h"
#include "cluster_control/delete_topics.h"
#include "cluster_control/metadata_bench.h"

namespace naru {
namespace {

constexpr BrokerId kFollower{1};

class FollowedChanges : public testing::Test {
 protected:
  void create(const std::string& name, std::vector<BrokerId> replicas) {
    CreateTopicsRequest request;
    request.topics.push_back({.name = name, .id = {7, next_topic_++}});
    for (int32_t i = 0; i < 2; ++i) request.topics.back().assignments.push_back({i, replicas});
    const BrokerConfig config = *make_broker_config({});
    CreateTopicsPlanner planner(std::move(request), config, 1000);
    bench_.run(planner);
    EXPECT_TRUE(planner.take_results().front().status.ok());
  }
  FollowChanges update() {
    looked_at_ = 0;
    return followed_.update(std::make_shared<const MetadataImage>(bench_.image()));
  }
  Uuid id(std::string_view topic) { return bench_.image().find_topic(topic)->id; }

  MetadataBench bench_{3};
  uint64_t next_topic_ = 1;
  int looked_at_ = 0;
  bool served_ = true;
  // It is only passed on, so one stands for all.
  const std::shared_ptr<Partition> any_{std::make_shared<int>(), reinterpret_cast<Partition*>(this)};
  FollowedPartitions followed_{kFollower, [this](const Uuid&, PartitionIndex) {
                                 ++looked_at_;
                                 return served_ ? any_ : nullptr;
                               }};
};

TEST_F(FollowedChanges, AreThoseOfTheTopicsThatChanged) {
  create("mine", {BrokerId(0), kFollower});
  create("led", {kFollower, BrokerId(0)});
  create("elsewhere", {BrokerId(0), BrokerId(2)});
  const FollowChanges first = update();
  ASSERT_EQ(first.changed.size(), 2u);
  EXPECT_EQ(first.changed[0].leader, BrokerId(0));
  EXPECT_TRUE(update().changed.empty());
  EXPECT_EQ(looked_at_, 0);

  create("more", {BrokerId(2), kFollower});
  const FollowChanges second = update();
  ASSERT_EQ(second.changed.size(), 2u);
  EXPECT_EQ(second.changed[0].leader, BrokerId(2));
  EXPECT_EQ(looked_at_, 2) << "at the new ones only";
}

TEST_F(FollowedChanges, WhatThisBrokerLeadsOrNobodyDoesIsDropped) {
  create("mine", {BrokerId(0), kFollower});
  update();
  bench_.lose_broker(BrokerId(0));
  bench_.settle();
  const FollowChanges changes = update();
  EXPECT_TRUE(changes.changed.empty());
  EXPECT_EQ(changes.dropped.size(), 2u) << "it leads them now";
  bench_.register_broker(BrokerId(0), true, bench_.directories(BrokerId(0)));
  bench_.settle();
  EXPECT_TRUE(update().dropped.empty());
}

TEST_F(FollowedChanges, SayWhetherThisBrokerIsInSync) {
  create("mine", {BrokerId(0), kFollower});
  EXPECT_TRUE(update().changed.front().in_sync);
  bench_.lose_broker(kFollower);
  bench_.settle();
  const FollowChanges changes = update();
  ASSERT_EQ(changes.changed.size(), 2u);
  EXPECT_FALSE(changes.changed.front().in_sync);
}

TEST_F(FollowedChanges, ALeaderThatRegisteredAgainIsAnotherOneForAllItLeads) {
  create("mine", {BrokerId(0), kFollower});
  const int64_t epoch = update().changed.front().leader_broker_epoch;
  bench_.lose_broker(BrokerId(0));
  bench_.register_broker(BrokerId(0), true, bench_.directories(BrokerId(0)));
  const FollowChanges changes = update();
  ASSERT_EQ(changes.changed.size(), 2u);
  EXPECT_GT(changes.changed.front().leader_broker_epoch, epoch);
}

TEST_F(FollowedChanges, TopicsThatAreGoneAreDropped) {
  create("mine", {BrokerId(0), kFollower});
  update();
  const BrokerConfig config = *make_broker_config({});
  DeleteTopicsPlanner planner({{.name = "mine"}}, config);
  bench_.run(planner);
  EXPECT_EQ(update().dropped.size(), 2u);
  EXPECT_TRUE(update().dropped.empty());
}

TEST_F(FollowedChanges, APartitionThatCouldNotBeOpenedIsLookedAtAgain) {
  create("mine", {BrokerId(0), kFollower});
  served_ = false;
  EXPECT_TRUE(update().changed.empty());
  served_ = true;
  create("other", {BrokerId(0), BrokerId(2)});
  EXPECT_EQ(update().changed.size(), 2u);
}

}  // namespace
}  // namespace naru
