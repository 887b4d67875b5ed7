#include "cluster_control/create_partitions.h"

#include <gtest/gtest.h>

#include "cluster_control/create_topics.h"
#include "cluster_control/metadata_bench.h"
#include "cluster_control/partition_buckets.h"

namespace naru {
namespace {

class CreatePartitions : public testing::Test {
 protected:
  CreatePartitions() { create("a", 2, 2); }

  void create(std::string name, int32_t partitions, int16_t replicas) {
    CreateTopicsRequest request;
    request.topics = {{.name = std::move(name),
                       .partition_count = partitions,
                       .replication_factor = replicas,
                       .id = {5, ++next_id_}}};
    CreateTopicsPlanner planner(std::move(request), config_, 7);
    bench_.run(planner);
    ASSERT_TRUE(planner.take_results().front().status.ok());
  }
  std::vector<MorePartitionsResult> grow(std::vector<MorePartitions> items, bool validate_only = false) {
    CreatePartitionsPlanner planner(std::move(items), validate_only);
    bench_.run(planner);
    return planner.take_results();
  }
  Status grow_one(MorePartitions item) { return grow({std::move(item)}).front().status; }
  const TopicMetadata& topic(std::string_view name) { return *bench_.image().find_topic(name); }

  BrokerConfig config_ = *make_broker_config({});
  MetadataBench bench_{3};
  uint64_t next_id_ = 0;
};

TEST_F(CreatePartitions, TheOldOnesStayAndTheNewOnesGoWhereALargerTopicWouldHaveThem) {
  const auto old = topic("a").partitions;
  const Uuid id = topic("a").id;
  ASSERT_TRUE(grow_one({.topic = "a", .count = 700}).ok());
  EXPECT_EQ(topic("a").partition_count(), 700);
  EXPECT_EQ(topic("a").id, id);
  EXPECT_EQ(topic("a").created_at_ms, 7);
  EXPECT_EQ(bench_.image().partition_count(), 700);
  for (size_t i = 0; i < old.size(); ++i) EXPECT_EQ(topic("a").partitions[i], old[i]) << "the same object";

  const auto grown = topic("a").partitions;
  bench_ = MetadataBench(3);
  next_id_ = 0;
  create("a", 700, 2);
  for (size_t i = 0; i < grown.size(); ++i) EXPECT_EQ(topic("a").partitions[i]->replicas, grown[i]->replicas);
}

TEST_F(CreatePartitions, AssignmentsAreForTheNewOnesOnly) {
  ASSERT_TRUE(grow_one({.topic = "a", .count = 3, .assignments = {{{BrokerId(2), BrokerId(0)}}}}).ok());
  EXPECT_EQ(topic("a").partition(PartitionIndex(2))->replicas, (std::vector{BrokerId(2), BrokerId(0)}));
  EXPECT_EQ(topic("a").partition(PartitionIndex(2))->leader, BrokerId(2));
}

TEST_F(CreatePartitions, WhatIsRefusedAndWhy) {
  struct Refused {
    MorePartitions item;
    ErrorCode code;
    std::string message;
  };
  const auto with = [](int32_t count, std::vector<std::vector<BrokerId>> assignments) {
    return MorePartitions{.topic = "a", .count = count, .assignments = std::move(assignments)};
  };
  const BrokerId zero(0), one(1), nine(9);
  const std::vector<Refused> table{
      {{.topic = "x", .count = 3}, ErrorCode::unknown_topic_or_partition, "there is no topic x"},
      {{.topic = "a", .count = 2}, ErrorCode::invalid_partitions, "topic a has 2 partitions, and 2 would not be more"},
      {{.topic = "a", .count = 1}, ErrorCode::invalid_partitions, "topic a has 2 partitions, and 1 would not be more"},
      {{.topic = "a", .count = INT32_MIN},
       ErrorCode::invalid_partitions,
       "topic a has 2 partitions, and -2147483648 would not be more"},
      {{.topic = "a", .count = INT32_MAX},
       ErrorCode::policy_violation,
       "2147483647 partitions: a topic has at most 10000"},
      {with(3, {}), ErrorCode::invalid_replica_assignment, "1 partitions are added, and 0 have replicas assigned"},
      {with(3, {{zero}}), ErrorCode::invalid_replica_assignment,
       "partition 2 is assigned to 1 brokers, and the replication factor of the topic is 2"},
      {with(3, {{zero, zero}}), ErrorCode::invalid_replica_assignment, "partition 2 is assigned to broker 0 twice"},
      {with(4, {{zero, one}, {one, nine}}), ErrorCode::invalid_replica_assignment,
       "partition 3 is assigned to broker 9, which is not there"},
  };
  const auto before = bench_.transactions();
  for (const Refused& row : table) {
    const Status status = grow_one(row.item);
    EXPECT_EQ(status.code(), row.code) << row.message;
    EXPECT_EQ(status.message(), row.message);
  }
  EXPECT_EQ(bench_.transactions(), before);
}

TEST_F(CreatePartitions, ATopicGivenTwiceFailsBothTimesAndTheOthersSucceed) {
  create("b", 1, 1);
  const auto results = grow({{.topic = "a", .count = 5}, {.topic = "b", .count = 5}, {.topic = "a", .count = 6}});
  EXPECT_EQ(results[0].status.code(), ErrorCode::invalid_request);
  EXPECT_TRUE(results[1].status.ok());
  EXPECT_EQ(results[1].topic_id, topic("b").id);
  EXPECT_EQ(results[2].status.code(), ErrorCode::invalid_request);
  EXPECT_EQ(topic("a").partition_count(), 2);
  EXPECT_EQ(topic("b").partition_count(), 5);
}

TEST_F(CreatePartitions, ValidateOnlyChecksEverythingAndCreatesNothing) {
  const auto before = bench_.transactions();
  const auto results = grow({{.topic = "a", .count = 5}, {.topic = "x", .count = 5}}, true);
  EXPECT_TRUE(results[0].status.ok());
  EXPECT_EQ(results[1].status.code(), ErrorCode::unknown_topic_or_partition);
  EXPECT_EQ(bench_.transactions(), before);
}

TEST_F(CreatePartitions, PlanningAgainAfterItHappenedRecognisesItsOwnWork) {
  CreatePartitionsPlanner planner({{.topic = "a", .count = 9}}, false);
  ASSERT_TRUE(planner.plan(bench_.image()));
  ASSERT_TRUE(grow_one({.topic = "a", .count = 9}).ok());  // the transaction did happen
  EXPECT_FALSE(planner.plan(bench_.image()));
  planner.committed();
  EXPECT_TRUE(planner.take_results().front().status.ok());
}

}  // namespace
}  // namespace naru
