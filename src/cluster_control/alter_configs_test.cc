#include "cluster_control/alter_configs.h"

#include <vector>

#include <gtest/gtest.h>

#include "cluster_control/create_topics.h"
#include "cluster_control/metadata_bench.h"

namespace naru {
namespace {

class AlterConfigs : public testing::Test {
 protected:
  AlterConfigs() {
    CreateTopicsPlanner planner({{{.name = "a", .id = {5, 1}}}, false}, config_, 0);
    bench_.run(planner);
  }
  Status alter(ConfigResource resource, std::string name, std::vector<ConfigChange> changes,
               bool validate_only = false) {
    AlterConfigsPlanner planner({{resource, std::move(name), std::move(changes)}}, validate_only);
    bench_.run(planner);
    return planner.take_results().front().status;
  }
  const TopicMetadata& topic() { return *bench_.image().find_topic("a"); }
  TopicConfig effective() { return effective_topic_config(config_, bench_.image(), topic()); }

  BrokerConfig config_ = *make_broker_config({{"node.id", "1"}});
  MetadataBench bench_{2};
};

TEST_F(AlterConfigs, SetsAndDeletesTopicKeys) {
  EXPECT_TRUE(alter(ConfigResource::topic, "a", {{"retention.ms", "5"}, {"segment.bytes", "1000"}}).ok());
  EXPECT_EQ(topic().configs, (ConfigOverrides{{"retention.ms", "5"}, {"segment.bytes", "1000"}}));
  EXPECT_EQ(effective().segment_bytes, 1000);
  EXPECT_TRUE(alter(ConfigResource::topic, "a", {{"segment.bytes", std::nullopt}, {"flush.ms", std::nullopt}}).ok());
  EXPECT_EQ(topic().configs, (ConfigOverrides{{"retention.ms", "5"}}));
  EXPECT_TRUE(alter(ConfigResource::topic, "a", {{"retention.ms", std::nullopt}}).ok());
  EXPECT_FALSE(bench_.store().get("topic_configs/a"));
}

TEST_F(AlterConfigs, ValidateOnlyAndNoChangeWriteNothing) {
  const auto before = bench_.transactions();
  EXPECT_TRUE(alter(ConfigResource::topic, "a", {{"retention.ms", "5"}}, true).ok());
  EXPECT_TRUE(alter(ConfigResource::topic, "a", {{"retention.ms", std::nullopt}}).ok());
  EXPECT_EQ(bench_.transactions(), before);
}

TEST_F(AlterConfigs, WhatIsWrong) {
  EXPECT_EQ(alter(ConfigResource::topic, "x", {{"retention.ms", "5"}}).code(), ErrorCode::unknown_topic_or_partition);
  EXPECT_EQ(alter(ConfigResource::topic, "a", {{"no.such.key", "5"}}).code(), ErrorCode::invalid_config);
  EXPECT_EQ(alter(ConfigResource::topic, "a", {{"no.such.key", std::nullopt}}).code(), ErrorCode::invalid_config);
  EXPECT_EQ(alter(ConfigResource::topic, "a", {{"retention.ms", "x"}}).code(), ErrorCode::invalid_config);
  EXPECT_EQ(alter(ConfigResource::topic, "a", {{"retention.ms", "1"}, {"retention.ms", "2"}}).code(),
            ErrorCode::invalid_request);
  EXPECT_EQ(alter(ConfigResource::broker, "9", {{"log.segment.bytes", "5000"}}).code(), ErrorCode::invalid_request);
  EXPECT_EQ(alter(ConfigResource::broker, "one", {{"log.segment.bytes", "5000"}}).code(), ErrorCode::invalid_request);
  EXPECT_EQ(alter(ConfigResource::broker, "1", {{"no.such.key", "5"}}).code(), ErrorCode::invalid_config);
  EXPECT_EQ(alter(ConfigResource::broker, "1", {{"listeners", "x:1"}}).code(), ErrorCode::invalid_config);
  EXPECT_TRUE(topic().configs.empty());
  EXPECT_TRUE(bench_.image().broker_configs().empty());
}

TEST_F(AlterConfigs, OneResourceTwiceIsInvalid) {
  AlterConfigsPlanner planner({{ConfigResource::topic, "a", {}}, {ConfigResource::topic, "a", {}}}, false);
  bench_.run(planner);
  for (const auto& result : planner.take_results()) EXPECT_EQ(result.status.code(), ErrorCode::invalid_request);
}

TEST_F(AlterConfigs, TheTopicWinsOverTheBrokerAndTheBrokerOverAllBrokers) {
  const int32_t by_default = effective().segment_bytes;
  ASSERT_TRUE(alter(ConfigResource::broker, "", {{"log.segment.bytes", "5000"}}).ok());
  EXPECT_EQ(effective().segment_bytes, 5000);
  ASSERT_TRUE(alter(ConfigResource::broker, "0", {{"log.segment.bytes", "4000"}}).ok());
  EXPECT_EQ(effective().segment_bytes, 5000) << "another broker's configuration";
  ASSERT_TRUE(alter(ConfigResource::broker, "1", {{"log.segment.bytes", "6000"}}).ok());
  EXPECT_EQ(effective().segment_bytes, 6000);
  ASSERT_TRUE(alter(ConfigResource::topic, "a", {{"segment.bytes", "7000"}}).ok());
  EXPECT_EQ(effective().segment_bytes, 7000);
  ASSERT_TRUE(alter(ConfigResource::topic, "a", {{"segment.bytes", std::nullopt}}).ok());
  ASSERT_TRUE(alter(ConfigResource::broker, "1", {{"log.segment.bytes", std::nullopt}}).ok());
  ASSERT_TRUE(alter(ConfigResource::broker, "", {{"log.segment.bytes", std::nullopt}}).ok());
  EXPECT_EQ(effective().segment_bytes, by_default);
}

TEST_F(AlterConfigs, MinInsyncReplicasFollowsTheReplicationFactor) {
  EXPECT_EQ(effective().effective_min_insync_replicas(1), 1);
  EXPECT_EQ(effective().effective_min_insync_replicas(2), 1);
  EXPECT_EQ(effective().effective_min_insync_replicas(3), 2);
  ASSERT_TRUE(alter(ConfigResource::topic, "a", {{"min.insync.replicas", "3"}}).ok());
  EXPECT_EQ(effective().effective_min_insync_replicas(3), 3);
}

}  // namespace
}  // namespace naru
