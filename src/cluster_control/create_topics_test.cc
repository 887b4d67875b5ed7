#include "cluster_control/create_topics.h"

#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "cluster_control/delete_topics.h"
#include "cluster_control/metadata_bench.h"
#include "cluster_control/partition_buckets.h"

namespace naru {
namespace {

constexpr WallTimeMs kNow = 1'750'000'000'000;

class CreateTopics : public testing::Test {
 protected:
  std::vector<CreateTopicResult> create(std::vector<NewTopic> topics, bool validate_only = false) {
    for (NewTopic& topic : topics) {
      if (topic.id.is_zero()) topic.id = {7, ++next_id_};
    }
    CreateTopicsPlanner planner({std::move(topics), validate_only}, config_, kNow);
    bench_.run(planner);
    return planner.take_results();
  }
  CreateTopicResult create_one(NewTopic topic) { return create({std::move(topic)}).front(); }
  ErrorCode error_of(NewTopic topic) { return create_one(std::move(topic)).status.code(); }
  static ReplicaAssignment assign(int32_t partition, std::vector<int32_t> brokers) {
    ReplicaAssignment assignment{partition, {}};
    for (const int32_t id : brokers) assignment.replicas.emplace_back(id);
    return assignment;
  }

  BrokerConfig config_ = *make_broker_config({});
  MetadataBench bench_{3};
  uint64_t next_id_ = 0;
};

TEST_F(CreateTopics, MinusOneMeansTheBrokersDefaults) {
  const auto result = create_one({.name = "orders"});
  ASSERT_TRUE(result.status.ok()) << result.status.to_string();
  EXPECT_EQ(result.partition_count, 4);
  EXPECT_EQ(result.replication_factor, 3);
  const TopicMetadata* topic = bench_.image().find_topic("orders");
  ASSERT_NE(topic, nullptr);
  EXPECT_EQ(topic->id, result.topic_id);
  EXPECT_EQ(topic->created_at_ms, kNow);
  EXPECT_EQ(bench_.image().find_topic(result.topic_id), topic);
  for (int32_t i = 0; i < 4; ++i) {
    const PartitionState* partition = topic->partition(PartitionIndex(i));
    ASSERT_NE(partition, nullptr);
    EXPECT_EQ(partition->leader, partition->replicas.front());
    EXPECT_EQ(partition->isr, partition->replicas);
    EXPECT_EQ(partition->leader_epoch, LeaderEpoch(0));
  }
  EXPECT_EQ(topic->partition(PartitionIndex(4)), nullptr);
  EXPECT_EQ(topic->partition(PartitionIndex(-1)), nullptr);
}

TEST_F(CreateTopics, BrokersThatAreStoppingGetReplicasOnlyIfTheOthersAreTooFew) {
  const auto epoch = [this](int32_t id) { return bench_.image().find_broker(BrokerId(id))->epoch; };
  const auto holders = [this](int16_t factor, const StoppingBrokers& stopping) {
    const std::string name = "topic" + std::to_string(++next_id_);
    CreateTopicsPlanner planner(
        {{{.name = name, .partition_count = 6, .replication_factor = factor, .id = {8, next_id_}}}}, config_, kNow,
        stopping);
    bench_.run(planner);
    EXPECT_TRUE(planner.take_results().front().status.ok());
    std::set<BrokerId> all;
    for (const auto& state : bench_.image().find_topic(name)->partitions) {
      all.insert(state->replicas.begin(), state->replicas.end());
    }
    return all;
  };
  EXPECT_EQ(holders(2, {{BrokerId(1), epoch(1)}}), (std::set{BrokerId(0), BrokerId(2)}));
  EXPECT_EQ(holders(2, {{BrokerId(1), epoch(1) - 1}}).size(), 3u) << "it has come back since";
  EXPECT_EQ(holders(3, {{BrokerId(1), epoch(1)}}).size(), 3u) << "a restart of one broker is no reason to refuse";
}

TEST_F(CreateTopics, TheDefaultReplicationFactorIsAsLargeAsTheClusterButAtMostThree) {
  bench_ = MetadataBench(1);
  EXPECT_EQ(create_one({.name = "one"}).replication_factor, 1);
  bench_ = MetadataBench(5);
  EXPECT_EQ(create_one({.name = "five"}).replication_factor, 3);
  config_ = *make_broker_config({{"default.replication.factor", "2"}, {"num.partitions", "7"}});
  const auto configured = create_one({.name = "configured"});
  EXPECT_EQ(configured.replication_factor, 2);
  EXPECT_EQ(configured.partition_count, 7);
}

TEST_F(CreateTopics, WrongNumbersOfPartitions) {
  EXPECT_EQ(error_of({.name = "a", .partition_count = 0}), ErrorCode::invalid_partitions);
  EXPECT_EQ(error_of({.name = "a", .partition_count = -2}), ErrorCode::invalid_partitions);
  EXPECT_EQ(error_of({.name = "a", .partition_count = INT32_MIN}), ErrorCode::invalid_partitions);
  EXPECT_EQ(error_of({.name = "a", .partition_count = kMaxPartitionsPerTopic + 1}), ErrorCode::policy_violation);
}

TEST_F(CreateTopics, WrongReplicationFactors) {
  EXPECT_EQ(error_of({.name = "a", .replication_factor = 0}), ErrorCode::invalid_replication_factor);
  EXPECT_EQ(error_of({.name = "a", .replication_factor = -2}), ErrorCode::invalid_replication_factor);
  EXPECT_EQ(error_of({.name = "a", .replication_factor = 4}), ErrorCode::invalid_replication_factor);
  bench_ = MetadataBench(0);
  EXPECT_EQ(error_of({.name = "a"}), ErrorCode::invalid_replication_factor);
}

TEST_F(CreateTopics, WrongNames) {
  for (const std::string& name :
       {std::string(), std::string("."), std::string(".."), std::string("a b"), std::string("a/b"),
        std::string("\xc3\xa4"), std::string("a\0b", 3), std::string(kMaxTopicNameBytes + 1, 'a')}) {
    EXPECT_EQ(error_of({.name = name}), ErrorCode::invalid_topic_exception) << name;
  }
  EXPECT_EQ(error_of({.name = std::string(kMaxTopicNameBytes, 'a')}), ErrorCode::none);
  EXPECT_EQ(error_of({.name = "..."}), ErrorCode::none);
}

TEST_F(CreateTopics, ATopicThatExists) {
  EXPECT_EQ(error_of({.name = "a"}), ErrorCode::none);
  EXPECT_EQ(error_of({.name = "a"}), ErrorCode::topic_already_exists);
}

TEST_F(CreateTopics, NamesThatDifferOnlyInDotAndUnderscoreCollide) {
  EXPECT_EQ(error_of({.name = "a.b_c"}), ErrorCode::none);
  EXPECT_EQ(error_of({.name = "a_b.c"}), ErrorCode::invalid_topic_exception);
  EXPECT_EQ(error_of({.name = "a-b-c"}), ErrorCode::none);
  const auto together = create({{.name = "x.y"}, {.name = "x_y"}});
  EXPECT_TRUE(together[0].status.ok());
  EXPECT_EQ(together[1].status.code(), ErrorCode::invalid_topic_exception);
  const auto validated = create({{.name = "v.y"}, {.name = "v_y"}}, true);
  EXPECT_TRUE(validated[0].status.ok());
  EXPECT_EQ(validated[1].status.code(), ErrorCode::invalid_topic_exception);
}

TEST_F(CreateTopics, ANameGivenTwiceFailsBothTimesAndTheOthersSucceed) {
  const auto results = create({{.name = "a"}, {.name = "b"}, {.name = "a"}});
  EXPECT_EQ(results[0].status.code(), ErrorCode::invalid_request);
  EXPECT_TRUE(results[1].status.ok());
  EXPECT_EQ(results[2].status.code(), ErrorCode::invalid_request);
  EXPECT_EQ(bench_.image().find_topic("a"), nullptr);
}

TEST_F(CreateTopics, ManualAssignmentsAreTakenAsTheyAre) {
  const auto result = create_one({.name = "a", .assignments = {assign(1, {2, 0}), assign(0, {1, 2})}});
  ASSERT_TRUE(result.status.ok()) << result.status.to_string();
  EXPECT_EQ(result.partition_count, 2);
  EXPECT_EQ(result.replication_factor, 2);
  const PartitionState* partition = bench_.image().find_topic("a")->partition(PartitionIndex(1));
  EXPECT_EQ(partition->replicas, (std::vector{BrokerId(2), BrokerId(0)}));
  EXPECT_EQ(partition->leader, BrokerId(2));
}

TEST_F(CreateTopics, WrongManualAssignments) {
  const std::vector<std::vector<ReplicaAssignment>> wrong{
      {assign(0, {0}), assign(2, {0})},     // a gap
      {assign(1, {0})},                     // does not start at 0
      {assign(0, {0}), assign(0, {1})},     // one partition twice
      {assign(-1, {0})},                    //
      {assign(0, {})},                      // no replica
      {assign(0, {0}), assign(1, {})},      // no replica
      {assign(0, {0, 1}), assign(1, {0})},  // unequal
      {assign(0, {0, 0})},                  // one broker twice
      {assign(0, {9})},                     // no such broker
  };
  for (const auto& assignments : wrong) {
    EXPECT_EQ(error_of({.name = "a", .assignments = assignments}), ErrorCode::invalid_replica_assignment);
  }
  EXPECT_EQ(error_of({.name = "a", .partition_count = 1, .assignments = {assign(0, {0})}}), ErrorCode::invalid_request);
  EXPECT_EQ(error_of({.name = "a", .replication_factor = 1, .assignments = {assign(0, {0})}}),
            ErrorCode::invalid_request);
}

TEST_F(CreateTopics, ConfigurationIsCheckedAndStored) {
  const auto result = create_one({.name = "a", .configs = {{"cleanup.policy", "compact"}, {"retention.ms", "1000"}}});
  ASSERT_TRUE(result.status.ok()) << result.status.to_string();
  const ConfigOverrides expected{{"cleanup.policy", "compact"}, {"retention.ms", "1000"}};
  EXPECT_EQ(result.configs, expected);
  EXPECT_EQ(bench_.image().find_topic("a")->configs, expected);
}

TEST_F(CreateTopics, WrongConfiguration) {
  EXPECT_EQ(error_of({.name = "a", .configs = {{"dummy.doesntexist", "1"}}}), ErrorCode::invalid_config);
  EXPECT_EQ(error_of({.name = "a", .configs = {{"retention.ms", "soon"}}}), ErrorCode::invalid_config);
  EXPECT_EQ(error_of({.name = "a", .configs = {{"retention.ms", std::nullopt}}}), ErrorCode::invalid_config);
  EXPECT_EQ(error_of({.name = "a", .configs = {{"retention.ms", "1"}, {"retention.ms", "1"}}}),
            ErrorCode::invalid_request);
  EXPECT_EQ(bench_.image().find_topic("a"), nullptr);
}

TEST_F(CreateTopics, ValidateOnlyChecksEverythingAndCreatesNothing) {
  const auto before = bench_.transactions();
  const auto results = create({{.name = "good"}, {.name = "bad", .partition_count = 0}}, true);
  EXPECT_TRUE(results[0].status.ok());
  EXPECT_EQ(results[0].partition_count, 4);
  EXPECT_TRUE(results[0].topic_id.is_zero());
  EXPECT_EQ(results[1].status.code(), ErrorCode::invalid_partitions);
  EXPECT_EQ(bench_.transactions(), before);
}

TEST_F(CreateTopics, ManyTopicsAreSplitIntoTransactionsWithinTheLimits) {
  std::vector<NewTopic> topics;
  for (int i = 0; i < 300; ++i) topics.push_back({.name = "topic-" + std::to_string(i), .partition_count = 1});
  const auto before = bench_.transactions();
  for (const auto& result : create(std::move(topics))) EXPECT_TRUE(result.status.ok());
  EXPECT_EQ(bench_.image().topics().size(), 300u);
  EXPECT_EQ(bench_.image().buckets().size(), 2u);
  EXPECT_GT(bench_.transactions() - before, 2u);
  EXPECT_LT(bench_.transactions() - before, 8u);
}

TEST_F(CreateTopics, TheLargestTopicFitsIntoOneTransaction) {
  const auto before = bench_.transactions();
  const auto result = create_one({.name = "large", .partition_count = kMaxPartitionsPerTopic});
  ASSERT_TRUE(result.status.ok()) << result.status.to_string();
  EXPECT_EQ(bench_.transactions(), before + 1);
  EXPECT_EQ(bench_.image().partition_count(), kMaxPartitionsPerTopic);
}

TEST_F(CreateTopics, ARequestForTooManyPartitionsIsRefusedAsAWhole) {
  const std::vector<NewTopic> as_many_as_allowed{{.name = "a", .partition_count = kMaxPartitionsPerRequest - 4},
                                                 {.name = "by-default"}};
  for (const auto& result : create(as_many_as_allowed, true)) EXPECT_TRUE(result.status.ok());
  const auto before = bench_.transactions();
  for (const bool validate_only : {true, false}) {
    const auto results = create({{.name = "a", .partition_count = kMaxPartitionsPerRequest - 4},
                                 {.name = "by-default"},
                                 {.name = "assigned", .assignments = {assign(0, {1})}}},
                                validate_only);
    for (const auto& result : results) EXPECT_EQ(result.status.code(), ErrorCode::policy_violation);
  }
  EXPECT_EQ(bench_.transactions(), before);
}

TEST_F(CreateTopics, ATopicThatIsTooLargeByItselfDoesNotCountForTheOthers) {
  const auto results = create({{.name = "huge", .partition_count = INT32_MAX}, {.name = "good"}});
  EXPECT_EQ(results[0].status.code(), ErrorCode::policy_violation);
  EXPECT_TRUE(results[1].status.ok()) << results[1].status.to_string();
}

TEST_F(CreateTopics, ATopicThatCannotFitIsRefusedAndTheOthersSucceed) {
  bench_ = MetadataBench(40);
  const auto results =
      create({{.name = "a", .partition_count = 1},
              {.name = "wide", .partition_count = kMaxPartitionsPerTopic - 2, .replication_factor = 40},
              {.name = "b", .partition_count = 1}});
  EXPECT_TRUE(results[0].status.ok());
  EXPECT_EQ(results[1].status.code(), ErrorCode::policy_violation);
  EXPECT_TRUE(results[2].status.ok());
}

TEST_F(CreateTopics, RoomOfDeletedTopicsIsUsedAgain) {
  for (int round = 0; round < 5; ++round) {
    ASSERT_TRUE(create_one({.name = "a", .partition_count = 300}).status.ok());
    ASSERT_TRUE(create_one({.name = "b", .partition_count = 200}).status.ok());
    DeleteTopicsPlanner planner({{.name = "a"}, {.name = "b"}}, config_);
    bench_.run(planner);
    EXPECT_EQ(bench_.image().partition_count(), 0);
  }
  EXPECT_EQ(bench_.image().buckets().size(), 2u);
}

TEST_F(CreateTopics, PlanningAgainAfterItHappenedRecognisesItsOwnTopic) {
  CreateTopicsPlanner planner({{{.name = "a", .id = {9, 9}}}, false}, config_, kNow);
  const auto lost = planner.plan(bench_.image());
  ASSERT_TRUE(lost);
  CreateTopicsPlanner same({{{.name = "a", .id = {9, 9}}}, false}, config_, kNow);
  bench_.run(same);  // the transaction did happen
  EXPECT_FALSE(planner.plan(bench_.image()));
  planner.committed();
  const auto result = planner.take_results().front();
  EXPECT_TRUE(result.status.ok());
  EXPECT_EQ(result.topic_id, (Uuid{9, 9}));
  EXPECT_EQ(result.partition_count, 4);
}

TEST_F(CreateTopics, AbandoningKeepsTheErrorsThatWereFound) {
  CreateTopicsPlanner planner({{{.name = "a", .id = {9, 1}}, {.name = "?", .id = {9, 2}}}, false}, config_, kNow);
  ASSERT_TRUE(planner.plan(bench_.image()));
  planner.abandon(Status(ErrorCode::unavailable));
  EXPECT_TRUE(planner.done());
  const auto results = planner.take_results();
  EXPECT_EQ(results[0].status.code(), ErrorCode::unavailable);
  EXPECT_TRUE(results[0].topic_id.is_zero());
  EXPECT_EQ(results[1].status.code(), ErrorCode::invalid_topic_exception);
}

}  // namespace
}  // namespace naru
