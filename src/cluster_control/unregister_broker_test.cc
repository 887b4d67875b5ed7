#include "cluster_control/unregister_broker.h"

#include <algorithm>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "cluster_control/create_topics.h"
#include "cluster_control/metadata_bench.h"

namespace naru {
namespace {

class UnregisterBrokerTest : public testing::Test {
 protected:
  void create(std::string name, int16_t factor) {
    CreateTopicsRequest request;
    request.topics.push_back(
        {.name = std::move(name), .partition_count = 3, .replication_factor = factor, .id = {9, next_topic_++}});
    CreateTopicsPlanner planner(std::move(request), config_, 0);
    bench_.run(planner);
    ASSERT_TRUE(planner.take_results().front().status.ok());
  }
  Status unregister(BrokerId id) {
    UnregisterBrokerPlanner planner(id);
    bench_.run(planner);
    return planner.status();
  }
  bool is_known(BrokerId id) const { return bench_.image().known_brokers().contains(id); }

  const BrokerConfig config_ = *make_broker_config({});
  MetadataBench bench_{3};
  uint64_t next_topic_ = 1;
};

TEST_F(UnregisterBrokerTest, ABrokerThatIsGoneIsForgotten) {
  create("orders", 3);
  bench_.lose_broker(BrokerId(2));
  bench_.settle();
  EXPECT_TRUE(unregister(BrokerId(2)).ok());
  EXPECT_FALSE(is_known(BrokerId(2)));
  EXPECT_TRUE(is_known(BrokerId(1)));
}

TEST_F(UnregisterBrokerTest, ABrokerThatWasForgottenComesBackAsANewOne) {
  create("orders", 3);
  bench_.lose_broker(BrokerId(2));
  bench_.settle();
  ASSERT_TRUE(unregister(BrokerId(2)).ok());
  bench_.register_broker(BrokerId(2), true, {{77, 77}});
  EXPECT_EQ(BrokerStandings(bench_.image(), {}).of(BrokerId(2)).loss, DataLoss::nothing);
  bench_.settle();
  for (const PartitionStatePtr& state : bench_.image().find_topic("orders")->partitions) {
    EXPECT_EQ(std::ranges::count(state->isr, BrokerId(2)), 0);  // it has to catch up like any other
  }
}

TEST_F(UnregisterBrokerTest, ARunningBrokerIsNotForgotten) {
  const size_t before = bench_.transactions();
  EXPECT_EQ(unregister(BrokerId(1)).code(), ErrorCode::invalid_request);
  EXPECT_EQ(bench_.transactions(), before);
}

TEST_F(UnregisterBrokerTest, ABrokerThatNeverWasIsNotRegistered) {
  EXPECT_EQ(unregister(BrokerId(7)).code(), ErrorCode::broker_id_not_registered);
  EXPECT_EQ(unregister(BrokerId(-1)).code(), ErrorCode::broker_id_not_registered);
}

TEST_F(UnregisterBrokerTest, TheLastInSyncReplicaIsNotForgotten) {
  create("orders", 1);
  const BrokerId last = bench_.image().find_topic("orders")->partitions.front()->leader;
  bench_.lose_broker(last);
  bench_.settle();
  const Status status = unregister(last);
  EXPECT_EQ(status.code(), ErrorCode::invalid_request);
  EXPECT_NE(status.message().find("orders-0"), std::string::npos) << status.message();
  EXPECT_TRUE(is_known(last));
}

TEST_F(UnregisterBrokerTest, AnAttemptOfUnknownOutcomeThatHappenedIsASuccess) {
  bench_.lose_broker(BrokerId(2));
  bench_.settle();
  UnregisterBrokerPlanner planner(BrokerId(2));
  const auto transaction = planner.plan(bench_.image());
  ASSERT_TRUE(transaction);
  bench_.commit(*transaction);
  EXPECT_FALSE(planner.plan(bench_.image()));
  EXPECT_TRUE(planner.status().ok());
}

TEST_F(UnregisterBrokerTest, ABrokerThatComesBackBeforeTheTransactionKeepsWhatIsKnown) {
  bench_.lose_broker(BrokerId(2));
  bench_.settle();
  UnregisterBrokerPlanner planner(BrokerId(2));
  const auto transaction = planner.plan(bench_.image());
  ASSERT_TRUE(transaction);
  bench_.register_broker(BrokerId(2), true, {MetadataBench::directory_of(BrokerId(2))});
  EXPECT_FALSE(bench_.store().check(*transaction).ok());
  EXPECT_FALSE(planner.plan(bench_.image()));
  EXPECT_EQ(planner.status().code(), ErrorCode::invalid_request);
}

}  // namespace
}  // namespace naru
