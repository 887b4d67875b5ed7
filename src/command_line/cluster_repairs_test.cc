#include "command_line/cluster_repairs.h"

#include <gtest/gtest.h>

namespace naru::command_line {
namespace {

using Ids = std::vector<BrokerId>;

client::PartitionInfo partition(int32_t index, int32_t leader, Ids replicas, Ids in_sync) {
  return {.index = PartitionIndex(index),
          .leader = BrokerId(leader),
          .replicas = std::move(replicas),
          .in_sync = std::move(in_sync),
          .offline = {}};
}

// Brokers 1 and 2 are here, 3 is not.
client::ClusterMetadata cluster_with(std::vector<client::PartitionInfo> partitions) {
  client::ClusterMetadata metadata;
  for (const int32_t id : {1, 2}) metadata.brokers.push_back({.id = BrokerId(id), .address = {}, .rack = {}});
  metadata.topics.push_back({.name = "t", .id = {}, .partitions = std::move(partitions)});
  return metadata;
}

const BrokerId kOne(1), kTwo(2), kThree(3);

TEST(ClusterRepairs, NothingIsToBeDoneWhenAllIsInOrder) {
  const auto metadata = cluster_with({partition(0, 1, {kOne, kTwo}, {kTwo, kOne})});
  EXPECT_TRUE(find_repairs(metadata, {}).empty());
  EXPECT_TRUE(absent_brokers(metadata).empty());
}

TEST(ClusterRepairs, AReplicaIsNotHereOrCatchesUp) {
  const auto metadata = cluster_with({partition(0, 1, {kOne, kTwo, kThree}, {kOne})});
  const client::TopicPartition name{"t", PartitionIndex(0)};
  const auto without_sizes = find_repairs(metadata, {});
  ASSERT_EQ(without_sizes.size(), 1u);
  EXPECT_EQ(without_sizes[0].to_string(), "broker 2 catches up; broker 3 is not here");
  const auto repairs = find_repairs(metadata, {{{kOne, name}, 4096}, {{kTwo, name}, 1024}});
  EXPECT_EQ(repairs[0].to_string(), "broker 2 catches up, 1.0 KiB of 4.0 KiB; broker 3 is not here");
  EXPECT_EQ(absent_brokers(metadata), Ids{kThree});
  const auto nearly = find_repairs(metadata, {{{kOne, name}, 4096}, {{kTwo, name}, 4100}});
  EXPECT_EQ(nearly[0].to_string(), "broker 2 catches up; broker 3 is not here");
}

TEST(ClusterRepairs, PartitionsWithoutALeaderComeFirstAndNameWhoIsNeeded) {
  const auto metadata = cluster_with({partition(0, 1, {kOne, kThree}, {kOne}), partition(1, -1, {kThree}, {kThree}),
                                      partition(2, -1, {kTwo, kThree}, {kThree}), partition(3, -1, {kTwo}, {kTwo})});
  const auto repairs = find_repairs(metadata, {});
  ASSERT_EQ(repairs.size(), 4u);
  EXPECT_EQ(repairs[0].to_string(), "no leader until broker 3 is back");
  EXPECT_EQ(repairs[1].to_string(), "no leader until broker 3 is back; broker 2 waits for a leader");
  EXPECT_EQ(repairs[2].to_string(), "no leader, though broker 2 is here: the controller's log says why");
  EXPECT_EQ(repairs[3].to_string(), "broker 3 is not here");
}

}  // namespace
}  // namespace naru::command_line
