#include "broker/group_metadata.h"

#include <gtest/gtest.h>

#include "cluster_control/create_partitions.h"
#include "cluster_control/create_topics.h"
#include "cluster_control/delete_topics.h"
#include "cluster_control/metadata_bench.h"
#include "configuration/config_definition.h"
#include "consumer_groups/consumer_protocol/consumer_group_target.h"

namespace naru {
namespace {

TEST(GroupMetadata, EveryAssignorThatCanBeConfiguredExists) {
  const auto allowed = find_broker_config("group.consumer.assignors")->allowed;
  ASSERT_FALSE(allowed.empty());
  for (const std::string_view name : allowed) EXPECT_TRUE(is_known_assignor(name)) << name;
}

TEST(GroupMetadata, AssignorsAreTakenInTheirOrder) {
  const BrokerConfig config = *make_broker_config({{"group.consumer.assignors", "range, uniform"}});
  EXPECT_EQ(group_settings(config, MetadataImage()).consumer.assignors, (std::vector<std::string>{"range", "uniform"}));
}

TEST(GroupMetadata, OpenTransactionsLeaveRoomAmongTheProducersThatALogRemembers) {
  const auto pending_max = [](const char* producers) {
    const BrokerConfig config = *make_broker_config({{"naru.max.producers.per.partition", producers}});
    return group_settings(config, MetadataImage()).pending_transactions_max;
  };
  EXPECT_EQ(pending_max("1"), 1u);
  EXPECT_EQ(pending_max("1000"), 500u);
  EXPECT_EQ(pending_max("100000"), 5'000u);
}

class GroupTopicNews : public testing::Test {
 protected:
  void create(const std::string& name) {
    CreateTopicsPlanner planner({{{.name = name, .partition_count = 2, .id = {7, next_id_++}}}, false}, config_, 0);
    bench_.run(planner);
  }
  template <class Change>
  TopicNews after(Change change) {
    const MetadataImage before = bench_.image();
    change();
    return topic_news(before, bench_.image());
  }

  const BrokerConfig config_ = *make_broker_config({});
  MetadataBench bench_{3};
  uint64_t next_id_ = 1;
};

TEST_F(GroupTopicNews, OtherLeadersAndInSyncSetsAreNone) {
  create("orders");
  const TopicNews news = after([this] {
    bench_.lose_broker(BrokerId(1));
    bench_.settle();
  });
  EXPECT_FALSE(news.others);
  EXPECT_TRUE(news.gone.empty());
}

TEST_F(GroupTopicNews, AreTopicsThatCameGrewOrWent) {
  create("orders");
  EXPECT_TRUE(after([this] { create("invoices"); }).others);
  const TopicNews grown = after([this] {
    CreatePartitionsPlanner planner({{.topic = "orders", .count = 5}}, false);
    bench_.run(planner);
    EXPECT_TRUE(planner.take_results().front().status.ok());
  });
  EXPECT_TRUE(grown.others);
  EXPECT_TRUE(grown.gone.empty());
  const TopicNews news = after([this] {
    DeleteTopicsPlanner planner({{.name = "orders"}}, config_);
    bench_.run(planner);
    create("orders");
  });
  EXPECT_TRUE(news.others);
  ASSERT_EQ(news.gone.size(), 1u);
  EXPECT_EQ(news.gone[0].name, "orders");
  EXPECT_EQ(news.gone[0].id, (Uuid{7, 1}));
}

}  // namespace
}  // namespace naru
