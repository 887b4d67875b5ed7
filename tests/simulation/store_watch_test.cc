#include "simulation/store_watch.h"

#include <gtest/gtest.h>

#include "cluster_control/metadata_keys.h"
#include "cluster_control/stored_metadata.h"

namespace naru::simulation {
namespace {

class StoreWatchTest : public testing::Test {
 protected:
  StoreWatchTest() {
    put(std::string(metadata_keys::kCluster), encode_cluster({.cluster_id = {1, 2}, .feature_level = 1}));
    claim(1, {7, 7});
    put(metadata_keys::topic("t"), encode_topic(partition.topic_id, 1, 0));
    put_partition();
    look();
  }
  void put(std::string key, const Bytes& value) {
    Transaction transaction;
    transaction.puts.push_back({.key = std::move(key), .value = value});
    state.apply(std::move(transaction), kNoSession);
  }
  void claim(int32_t epoch, const Uuid& incarnation) {
    put(std::string(metadata_keys::kControllerEpoch),
        encode_controller_epoch(
            {.controller_epoch = epoch, .controller_id = BrokerId(1), .controller_incarnation = incarnation}));
  }
  void put_partition() {
    put(metadata_keys::partition_states(0), encode_bucket({std::make_shared<const PartitionState>(partition)}));
  }
  std::string look() {
    watch.look(state);
    return watch.violation().value_or("");
  }
  std::string after_change() {
    ++partition.partition_epoch;
    put_partition();
    return look();
  }

  PartitionState partition{.topic_id = {5, 6},
                           .index = PartitionIndex(0),
                           .replicas = {BrokerId(1), BrokerId(2), BrokerId(3)},
                           .isr = {BrokerId(1), BrokerId(2)},
                           .leader = BrokerId(1),
                           .leader_epoch = LeaderEpoch(4)};
  StoreState state;
  StoreWatch watch;
};

TEST_F(StoreWatchTest, HasNothingToSayAboutAnElectionFromTheInSyncSet) {
  partition.leader = BrokerId(2);
  partition.leader_epoch = LeaderEpoch(5);
  partition.isr = {BrokerId(2)};
  EXPECT_EQ(after_change(), "");
  EXPECT_EQ(watch.leader_of(partition.topic_id, PartitionIndex(0), LeaderEpoch(4)), BrokerId(1));
  EXPECT_EQ(watch.leader_of(partition.topic_id, PartitionIndex(0), LeaderEpoch(5)), BrokerId(2));
}

TEST_F(StoreWatchTest, ObjectsToALeaderThatWasNotInSync) {
  partition.leader = BrokerId(3);
  partition.leader_epoch = LeaderEpoch(5);
  partition.isr = {BrokerId(3)};
  EXPECT_NE(after_change().find("3 was elected"), std::string::npos);
}

TEST_F(StoreWatchTest, ObjectsToTwoLeadersOfAnEpoch) {
  partition.leader = BrokerId(2);
  EXPECT_NE(after_change().find("leaders 1 and 2"), std::string::npos);
}

TEST_F(StoreWatchTest, ObjectsToAStateThatIsPutBack) {
  partition.isr = {BrokerId(1)};
  EXPECT_EQ(after_change(), "");
  partition.partition_epoch -= 2;
  EXPECT_NE(after_change().find("partition epoch"), std::string::npos);
}

TEST_F(StoreWatchTest, ObjectsToTwoControllersOfAnEpochAndToAnEpochThatGoesBack) {
  claim(2, {8, 8});
  EXPECT_EQ(look(), "");
  claim(2, {9, 9});
  EXPECT_NE(look().find("two controllers"), std::string::npos);
}

}  // namespace
}  // namespace naru::simulation
