#include "cluster_control/delete_topics.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "cluster_control/allocate_producer_ids.h"
#include "cluster_control/create_topics.h"
#include "cluster_control/metadata_bench.h"

namespace naru {
namespace {

class DeleteTopics : public testing::Test {
 protected:
  DeleteTopics() {
    CreateTopicsPlanner planner({{{.name = "a", .partition_count = 3, .configs = {{"retention.ms", "5"}}, .id = kA},
                                  {.name = "b", .partition_count = 600, .replication_factor = 1, .id = kB}},
                                 false},
                                config_, 0);
    bench_.run(planner);
  }
  std::vector<DeleteTopicResult> remove(std::vector<TopicReference> topics) {
    DeleteTopicsPlanner planner(std::move(topics), config_);
    bench_.run(planner);
    return planner.take_results();
  }
  void confirm(int32_t broker, std::vector<Uuid> ids) {
    std::vector<DeletionConfirmation> confirmations;
    for (const Uuid& id : ids) confirmations.push_back({id});
    ConfirmDeletionsPlanner planner(BrokerId(broker), std::move(confirmations));
    bench_.run(planner);
    for (const auto& result : planner.take_results()) EXPECT_TRUE(result.status.ok());
  }

  static constexpr Uuid kA{5, 1};
  static constexpr Uuid kB{5, 2};
  BrokerConfig config_ = *make_broker_config({});
  MetadataBench bench_{3};
};

TEST_F(DeleteTopics, ByNameAndByIdAndRecordsTheDeletion) {
  const auto results = remove({{.name = "a"}, {.id = kB}});
  EXPECT_TRUE(results[0].status.ok());
  EXPECT_EQ(results[0].topic_id, kA);
  EXPECT_TRUE(results[1].status.ok());
  EXPECT_EQ(results[1].name, "b");
  EXPECT_TRUE(bench_.image().topics().empty());
  EXPECT_EQ(bench_.image().partition_count(), 0);
  ASSERT_EQ(bench_.image().deleted_topics().size(), 2u);
  const DeletedTopic& deleted = bench_.image().deleted_topics().at(kA);
  EXPECT_EQ(deleted.name, "a");
  EXPECT_EQ(deleted.partition_count, 3);
  EXPECT_EQ(deleted.pending_brokers, (std::vector{BrokerId(0), BrokerId(1), BrokerId(2)}));
  EXPECT_FALSE(bench_.store().get("topic_configs/a"));
  EXPECT_TRUE(bench_.store().get("partition_states/0"));
}

TEST_F(DeleteTopics, UnknownTopics) {
  const auto results = remove({{.name = "x"}, {.id = {6, 6}}});
  EXPECT_EQ(results[0].status.code(), ErrorCode::unknown_topic_or_partition);
  EXPECT_EQ(results[1].status.code(), ErrorCode::unknown_topic_id);
  EXPECT_EQ(results[1].topic_id, (Uuid{6, 6}));
}

TEST_F(DeleteTopics, NeitherNameNorIdOrBothOrTwiceIsInvalid) {
  for (const auto& result : remove({{}, {.name = "a", .id = kA}, {.name = "b"}, {.name = "b"}})) {
    EXPECT_EQ(result.status.code(), ErrorCode::invalid_request);
  }
  const auto mixed = remove({{.name = "a"}, {.id = kA}});
  EXPECT_TRUE(mixed[0].status.ok());
  EXPECT_EQ(mixed[1].status.code(), ErrorCode::invalid_request);
}

TEST_F(DeleteTopics, CanBeSwitchedOff) {
  config_ = *make_broker_config({{"delete.topic.enable", "false"}});
  EXPECT_EQ(remove({{.name = "a"}})[0].status.code(), ErrorCode::topic_deletion_disabled);
  EXPECT_NE(bench_.image().find_topic("a"), nullptr);
}

TEST_F(DeleteTopics, ARecreatedTopicHasAnotherIdAndNoConfiguration) {
  remove({{.name = "a"}});
  CreateTopicsPlanner planner({{{.name = "a", .id = {5, 3}}}, false}, config_, 0);
  bench_.run(planner);
  EXPECT_EQ(bench_.image().find_topic("a")->id, (Uuid{5, 3}));
  EXPECT_TRUE(bench_.image().find_topic("a")->configs.empty());
  EXPECT_EQ(bench_.image().find_topic(kA), nullptr);
  EXPECT_TRUE(bench_.image().deleted_topics().contains(kA));
}

TEST_F(DeleteTopics, IsForgottenWhenTheLastBrokerConfirmed) {
  remove({{.name = "a"}});
  confirm(1, {kA});
  confirm(1, {kA, {8, 8}});  // again, and one that nobody knows
  confirm(0, {kA});
  EXPECT_TRUE(bench_.image().deleted_topics().contains(kA));
  confirm(2, {kA});
  EXPECT_TRUE(bench_.image().deleted_topics().empty());
}

// Producers that wrote to the earlier one go on with its sequences.
TEST_F(DeleteTopics, ATopicKnowsWhichProducersMayHaveWrittenToAnEarlierOneOfItsName) {
  const auto allocate = [this] {
    AllocateProducerIdsPlanner planner;
    bench_.run(planner);
  };
  const auto first_new = [this](std::string name, Uuid id) {
    CreateTopicsPlanner planner({{{.name = name, .partition_count = 1, .id = id}}, false}, config_, 0);
    bench_.run(planner);
    return bench_.image().find_topic(id)->first_new_producer;
  };
  const ProducerId unknown = bench_.image().cluster().producer_ids_at_deletion;
  EXPECT_TRUE(unknown == kNoProducerId || unknown == ProducerId(0));
  allocate();
  remove({{.name = "a"}});
  EXPECT_EQ(first_new("while-others-hold-it", {7, 1}), ProducerId(1000));
  allocate();
  for (const int32_t broker : {0, 1, 2}) confirm(broker, {kA});
  EXPECT_EQ(bench_.image().cluster().producer_ids_at_deletion, ProducerId(2000));
  allocate();
  EXPECT_EQ(bench_.image().cluster().producer_ids_at_deletion, ProducerId(2000));
  EXPECT_EQ(first_new("a", {7, 2}), ProducerId(2000)) << "nobody with a later id has written to the one that is gone";
}

TEST_F(DeleteTopics, PlanningAgainAfterItHappenedIsSuccess) {
  DeleteTopicsPlanner planner({{.name = "a"}}, config_);
  ASSERT_TRUE(planner.plan(bench_.image()));
  remove({{.name = "a"}});
  EXPECT_FALSE(planner.plan(bench_.image()));
  planner.committed();
  EXPECT_TRUE(planner.take_results()[0].status.ok());
}

}  // namespace
}  // namespace naru
