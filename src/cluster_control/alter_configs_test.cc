#include "cluster_control/alter_configs.h"

#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "cluster_control/create_topics.h"
#include "cluster_control/effective_config.h"
#include "cluster_control/election_rules.h"
#include "cluster_control/metadata_bench.h"
#include "configuration/config_description.h"

namespace naru {
namespace {

using enum ConfigResource;

ConfigChange set(std::string name, std::string value) {
  return {std::move(name), std::move(value)};
}
ConfigChange unset(std::string name) {
  return {std::move(name), std::nullopt, ConfigOperation::remove};
}
ConfigChange append(std::string name, std::string value) {
  return {std::move(name), std::move(value), ConfigOperation::append};
}
ConfigChange subtract(std::string name, std::string value) {
  return {std::move(name), std::move(value), ConfigOperation::subtract};
}

class AlterConfigs : public testing::Test {
 protected:
  AlterConfigs() {
    CreateTopicsPlanner planner({{{.name = "a", .id = {5, 1}}}, false}, config_, 0);
    bench_.run(planner);
  }
  Status run(AlterConfigsItem item, bool validate_only = false) {
    AlterConfigsPlanner planner({std::move(item)}, validate_only, config_);
    bench_.run(planner);
    return planner.take_results().front().status;
  }
  Status alter(ConfigResource resource, std::string name, std::vector<ConfigChange> changes) {
    return run({resource, std::move(name), std::move(changes)});
  }
  ErrorCode code(ConfigResource resource, std::string name, std::vector<ConfigChange> changes) {
    return alter(resource, std::move(name), std::move(changes)).code();
  }
  const TopicMetadata& topic_a() { return *bench_.image().find_topic("a"); }
  TopicConfig effective() { return effective_topic_config(config_, bench_.image(), topic_a()); }

  BrokerConfig config_ = *make_broker_config({{"node.id", "1"}});
  MetadataBench bench_{2};
};

TEST_F(AlterConfigs, SetsAndDeletesTopicKeys) {
  EXPECT_TRUE(alter(topic, "a", {set("retention.ms", "5"), set("segment.bytes", "1000")}).ok());
  EXPECT_EQ(topic_a().configs, (ConfigOverrides{{"retention.ms", "5"}, {"segment.bytes", "1000"}}));
  EXPECT_EQ(effective().segment_bytes, 1000);
  EXPECT_TRUE(alter(topic, "a", {unset("segment.bytes"), unset("flush.ms")}).ok());
  EXPECT_EQ(topic_a().configs, (ConfigOverrides{{"retention.ms", "5"}}));
  EXPECT_TRUE(alter(topic, "a", {unset("retention.ms")}).ok());
  EXPECT_FALSE(bench_.store().get("topic_configs/a"));
}

// Elections have to know since when an unclean stop takes nothing that was acknowledged.
TEST_F(AlterConfigs, WhenAcknowledgementsBeginToWaitForSyncsTheGenerationIsNoted) {
  EXPECT_TRUE(alter(topic, "a", {set("flush.messages", "10")}).ok());
  EXPECT_EQ(topic_a().synced_since, -1);
  EXPECT_TRUE(alter(topic, "a", {unset("flush.messages")}).ok());
  const int64_t since = bench_.image().cluster().generation;
  EXPECT_EQ(topic_a().synced_since, since) << "the default is 1";
  EXPECT_TRUE(alter(topic, "a", {set("flush.messages", "1")}).ok());
  EXPECT_EQ(topic_a().synced_since, since) << "it was so before";
  EXPECT_EQ(bench_.image().cluster().synced_since, -1);
  EXPECT_TRUE(alter(broker, "", {set("log.flush.interval.messages", "10")}).ok());
  EXPECT_TRUE(alter(broker, "", {set("log.flush.interval.messages", "1")}).ok());
  EXPECT_EQ(bench_.image().cluster().synced_since, bench_.image().cluster().generation);
  const ElectionRules rules = ElectionRulesOfTopics(config_, bench_.image()).of(topic_a().id);
  EXPECT_EQ(rules.synced_since, bench_.image().cluster().generation) << "the later one of both";
}

TEST_F(AlterConfigs, ReplacingAllDropsWhatIsNotNamed) {
  ASSERT_TRUE(alter(topic, "a", {set("retention.ms", "5"), set("segment.bytes", "1000")}).ok());
  EXPECT_TRUE(run({topic, "a", {set("flush.ms", "7")}, true}).ok());
  EXPECT_EQ(topic_a().configs, (ConfigOverrides{{"flush.ms", "7"}}));
  EXPECT_TRUE(run({topic, "a", {}, true}).ok());
  EXPECT_TRUE(topic_a().configs.empty());
}

TEST_F(AlterConfigs, ValidateOnlyAndNoChangeWriteNothing) {
  const auto before = bench_.transactions();
  EXPECT_TRUE(run({topic, "a", {set("retention.ms", "5")}}, true).ok());
  EXPECT_TRUE(alter(topic, "a", {unset("retention.ms")}).ok());
  EXPECT_EQ(run({topic, "a", {set("retention.ms", "x")}}, true).code(), ErrorCode::invalid_config);
  EXPECT_EQ(bench_.transactions(), before);
}

TEST_F(AlterConfigs, ListsAreAppendedToAndSubtractedFrom) {
  ASSERT_TRUE(alter(topic, "a", {append("cleanup.policy", "compact")}).ok());
  EXPECT_EQ(topic_a().configs.at("cleanup.policy"), "delete,compact") << "the default is part of the list";
  ASSERT_TRUE(alter(topic, "a", {append("cleanup.policy", "compact")}).ok());
  EXPECT_EQ(topic_a().configs.at("cleanup.policy"), "delete,compact");
  ASSERT_TRUE(alter(topic, "a", {subtract("cleanup.policy", "delete")}).ok());
  EXPECT_EQ(topic_a().configs.at("cleanup.policy"), "compact");
  EXPECT_EQ(code(topic, "a", {subtract("cleanup.policy", "compact")}), ErrorCode::invalid_config) << "nothing is left";
  ASSERT_TRUE(alter(broker, "", {set("log.cleanup.policy", "compact")}).ok());
  ASSERT_TRUE(alter(topic, "a", {unset("cleanup.policy")}).ok());
  ASSERT_TRUE(alter(topic, "a", {append("cleanup.policy", "delete")}).ok());
  EXPECT_EQ(topic_a().configs.at("cleanup.policy"), "compact,delete") << "the broker's value is the default";
}

struct Refused {
  ConfigResource resource;
  std::string name;
  std::vector<ConfigChange> changes;
  ErrorCode code;
  std::string message;
};

TEST_F(AlterConfigs, WhatIsRefusedAndWhy) {
  const std::vector<Refused> table{
      {topic, "x", {set("retention.ms", "5")}, ErrorCode::unknown_topic_or_partition, "there is no topic x"},
      {topic, "", {set("retention.ms", "5")}, ErrorCode::invalid_request, "the name of the topic is missing"},
      {topic, "..", {set("retention.ms", "5")}, ErrorCode::invalid_topic_exception, "'..' cannot be a topic name"},
      {topic,
       "a",
       {set("retention.sm", "5")},
       ErrorCode::invalid_config,
       "unknown topic configuration key 'retention.sm'; did you mean retention.ms?"},
      {topic, "a", {unset("no.such.key")}, ErrorCode::invalid_config, "unknown topic configuration key 'no.such.key'"},
      {topic,
       "a",
       {set("retention.ms", "x")},
       ErrorCode::invalid_config,
       "retention.ms must be an integer from -1 to 9223372036854775807, not 'x'"},
      {topic,
       "a",
       {set("retention.ms", "-2")},
       ErrorCode::invalid_config,
       "retention.ms must be an integer from -1 to 9223372036854775807, not '-2'"},
      {topic,
       "a",
       {set("cleanup.policy", "burn")},
       ErrorCode::invalid_config,
       "cleanup.policy must be a list of delete, compact, not 'burn'"},
      {topic,
       "a",
       {set("retention.ms", "1"), set("retention.ms", "2")},
       ErrorCode::invalid_request,
       "retention.ms is given twice"},
      {topic, "a", {{"retention.ms", std::nullopt}}, ErrorCode::invalid_request, "retention.ms has no value"},
      {topic,
       "a",
       {append("retention.ms", "5")},
       ErrorCode::invalid_config,
       "retention.ms is no list: nothing can be appended to it or subtracted from it"},
      {topic,
       "a",
       {append("cleanup.policy", "burn")},
       ErrorCode::invalid_config,
       "cleanup.policy must be a list of delete, compact, not 'delete,burn'"},
      {topic,
       "a",
       {set("min.compaction.lag.ms", "9"), set("max.compaction.lag.ms", "8")},
       ErrorCode::invalid_config,
       "min.compaction.lag.ms (9) cannot be larger than max.compaction.lag.ms (8)"},
      {topic,
       "a",
       {set("remote.storage.enable", "true")},
       ErrorCode::invalid_config,
       "remote.storage.enable cannot be set to anything but 'false': There is no remote storage yet, so it cannot be "
       "switched on."},
      {broker,
       "9",
       {set("log.segment.bytes", "5000")},
       ErrorCode::invalid_request,
       "there is no broker '9'; brokers have numbers, '' stands for all"},
      {broker,
       "01",
       {set("log.segment.bytes", "5000")},
       ErrorCode::invalid_request,
       "there is no broker '01'; brokers have numbers, '' stands for all"},
      {broker,
       "1",
       {set("no.such.key", "5")},
       ErrorCode::invalid_request,
       "unknown broker configuration key 'no.such.key'"},
      {broker,
       "1",
       {unset("no.such.key")},
       ErrorCode::invalid_request,
       "unknown broker configuration key 'no.such.key'"},
      {broker,
       "1",
       {set("listeners", "x:1")},
       ErrorCode::invalid_request,
       "listeners cannot be changed while the broker runs: set it in its configuration file"},
      {broker,
       "",
       {set("log.segment.bytes", "5")},
       ErrorCode::invalid_request,
       "log.segment.bytes must be an integer from 14 to 2147483647, not '5'"},
      {broker,
       "",
       {set("log.cleaner.min.compaction.lag.ms", "9"), set("log.cleaner.max.compaction.lag.ms", "8")},
       ErrorCode::invalid_request,
       "min.compaction.lag.ms (9) cannot be larger than max.compaction.lag.ms (8)"},
      {group,
       "",
       {set("consumer.session.timeout.ms", "50000")},
       ErrorCode::invalid_request,
       "the name of the group is missing"},
      {group,
       "g",
       {set("consumer.session.timeout.ms", "1")},
       ErrorCode::invalid_config,
       "consumer.session.timeout.ms must be an integer from 45000 to 60000, not '1'"},
      {group,
       "g",
       {set("retention.ms", "1")},
       ErrorCode::invalid_config,
       "unknown group configuration key 'retention.ms'"},
      {group,
       std::string(600, 'g'),
       {set("consumer.session.timeout.ms", "50000")},
       ErrorCode::invalid_request,
       "the name of the group is too long to have a configuration: 600 bytes"},
      {broker,
       "",
       {set("ssl.client.auth", "none")},
       ErrorCode::invalid_request,
       "ssl.client.auth cannot be set for all brokers: set it for each of them"},
      {client_metrics,
       "",
       {set("interval.ms", "5000")},
       ErrorCode::invalid_request,
       "the name of the subscription is missing"},
      {client_metrics,
       "s",
       {set("interval.ms", "5")},
       ErrorCode::invalid_request,
       "interval.ms must be an integer from 100 to 3600000, not '5'"},
      {client_metrics,
       "s",
       {set("interval.ms", "soon")},
       ErrorCode::invalid_config,
       "interval.ms must be an integer from 100 to 3600000, not 'soon'"},
      {client_metrics,
       "s",
       {set("match", "x=y")},
       ErrorCode::invalid_config,
       "match cannot be 'x=y': 'x=y' is not WORD=EXPRESSION with one of the words client_instance_id, client_id, "
       "client_software_name, client_software_version, client_source_address, client_source_port"},
      {client_metrics,
       "s",
       {set("retention.ms", "5")},
       ErrorCode::invalid_request,
       "unknown client metrics configuration key 'retention.ms'"},
  };
  const auto before = bench_.transactions();
  for (const Refused& row : table) {
    const Status status = alter(row.resource, row.name, row.changes);
    EXPECT_EQ(status.code(), row.code) << row.message;
    EXPECT_EQ(status.message(), row.message);
  }
  EXPECT_EQ(bench_.transactions(), before) << "nothing half-changed";
}

class AlterConfigsOfInternalTopics : public AlterConfigs {
 protected:
  AlterConfigsOfInternalTopics() {
    NewTopic offsets{.name = kName,
                     .configs = {{"cleanup.policy", "compact"}, {"segment.bytes", "104857600"}},
                     .internal = true,
                     .id = {5, 2}};
    CreateTopicsPlanner planner({{std::move(offsets)}, false}, config_, 0);
    bench_.run(planner);
  }
  // Empty: it was changed.
  std::string refusal(std::vector<ConfigChange> changes, bool replace_all = false) {
    const Status status = run({topic, kName, std::move(changes), replace_all});
    EXPECT_EQ(status.code(), status.ok() ? ErrorCode::none : ErrorCode::invalid_config);
    return status.message();
  }

  static constexpr const char* kName = "__consumer_offsets";
};

TEST_F(AlterConfigsOfInternalTopics, TheyStayCompacted) {
  const std::string why = "retention would remove what the coordinator still needs";
  const auto before = bench_.transactions();
  for (const char* policy : {"delete", "compact,delete"}) {
    EXPECT_EQ(refusal({set("cleanup.policy", policy)}),
              fmt::format("cleanup.policy of __consumer_offsets must be compact, not '{}': {}", policy, why));
  }
  EXPECT_FALSE(refusal({append("cleanup.policy", "delete")}).empty());
  const std::string unset_refused =
      "cleanup.policy of __consumer_offsets must stay compact and cannot be unset: " + why;
  EXPECT_EQ(refusal({unset("cleanup.policy")}), unset_refused);
  EXPECT_EQ(refusal({set("segment.bytes", "104857600")}, true), unset_refused) << "replacing all forgets the policy";
  EXPECT_EQ(bench_.transactions(), before);
  EXPECT_EQ(refusal({set("cleanup.policy", "compact"), set("segment.bytes", "104857600")}, true), "");
}

TEST_F(AlterConfigsOfInternalTopics, TheRestIsUpToTheOperator) {
  EXPECT_EQ(refusal({set("segment.bytes", "100"), set("min.insync.replicas", "1"), set("max.message.bytes", "100")}),
            "");
}

TEST_F(AlterConfigs, OneWrongKeyLeavesAllOthersAsTheyWere) {
  EXPECT_EQ(code(topic, "a", {set("segment.bytes", "1000"), set("retention.ms", "x")}), ErrorCode::invalid_config);
  EXPECT_TRUE(topic_a().configs.empty());
}

TEST_F(AlterConfigs, AConflictWithTheBrokersDefaultIsOneToo) {
  ASSERT_TRUE(alter(broker, "", {set("log.cleaner.max.compaction.lag.ms", "100")}).ok());
  EXPECT_EQ(code(topic, "a", {set("min.compaction.lag.ms", "101")}), ErrorCode::invalid_config);
  EXPECT_TRUE(alter(topic, "a", {set("min.compaction.lag.ms", "100")}).ok());
}

TEST_F(AlterConfigs, OneResourceTwiceIsInvalidAndOthersAreServed) {
  AlterConfigsPlanner planner({{topic, "a", {}}, {topic, "a", {}}, {group, "a", {}}}, false, config_);
  bench_.run(planner);
  const auto results = planner.take_results();
  EXPECT_EQ(results[0].status.code(), ErrorCode::invalid_request);
  EXPECT_EQ(results[1].status.code(), ErrorCode::invalid_request);
  EXPECT_TRUE(results[2].status.ok());
}

TEST_F(AlterConfigs, TheTopicWinsOverTheBrokerAndTheBrokerOverAllBrokers) {
  const int32_t by_default = effective().segment_bytes;
  ASSERT_TRUE(alter(broker, "", {set("log.segment.bytes", "5000")}).ok());
  EXPECT_EQ(effective().segment_bytes, 5000);
  ASSERT_TRUE(alter(broker, "0", {set("log.segment.bytes", "4000")}).ok());
  EXPECT_EQ(effective().segment_bytes, 5000) << "another broker's configuration";
  ASSERT_TRUE(alter(broker, "1", {set("log.segment.bytes", "6000")}).ok());
  EXPECT_EQ(effective().segment_bytes, 6000);
  ASSERT_TRUE(alter(topic, "a", {set("segment.bytes", "7000")}).ok());
  EXPECT_EQ(effective().segment_bytes, 7000);
  ASSERT_TRUE(alter(topic, "a", {unset("segment.bytes")}).ok());
  ASSERT_TRUE(alter(broker, "1", {unset("log.segment.bytes")}).ok());
  ASSERT_TRUE(alter(broker, "", {unset("log.segment.bytes")}).ok());
  EXPECT_EQ(effective().segment_bytes, by_default);
}

TEST_F(AlterConfigs, BrokerKeysThatTakeEffectAtOnceAreInTheTypedConfiguration) {
  ASSERT_TRUE(alter(broker, "", {set("naru.slow.request.ms", "5"), set("max.connections", "77")}).ok());
  const BrokerConfig config = effective_broker_config(config_, bench_.image());
  EXPECT_EQ(config.slow_request, 5ms);
  EXPECT_EQ(config.max_connections, 77);
  EXPECT_EQ(config_.values.at("max.connections").source, ConfigSource::default_value);
  EXPECT_EQ(config.values.at("max.connections").source, ConfigSource::dynamic_default_broker);
}

TEST_F(AlterConfigs, GroupsHaveAnyNameAndNeedNotExist) {
  for (const std::string& name :
       {std::string("g"), std::string("a/b c%\n\xff"), std::string("%41"), std::string("A")}) {
    ASSERT_TRUE(alter(group, name, {set("share.auto.offset.reset", "earliest")}).ok()) << name;
    EXPECT_EQ(stored_group_configs(bench_.image(), name), (ConfigOverrides{{"share.auto.offset.reset", "earliest"}}));
  }
  EXPECT_EQ(bench_.image().group_configs().size(), 4u);
  ASSERT_TRUE(alter(group, "A", {unset("share.auto.offset.reset")}).ok());
  EXPECT_EQ(bench_.image().group_configs().size(), 3u);
  EXPECT_FALSE(stored_group_configs(bench_.image(), "%41").empty()) << "not the same as A";
}

TEST_F(AlterConfigs, SubscriptionsToMetricsAreKeptUntilNothingIsSet) {
  ASSERT_TRUE(
      alter(client_metrics, "of all/clients", {set("interval.ms", "5000"), append("match", "client_id=a")}).ok());
  EXPECT_EQ(stored_client_metrics(bench_.image(), "of all/clients"),
            (ConfigOverrides{{"interval.ms", "5000"}, {"match", "client_id=a"}}));
  EXPECT_TRUE(bench_.image().group_configs().empty());
  ASSERT_TRUE(alter(client_metrics, "of all/clients", {unset("interval.ms"), unset("match")}).ok());
  EXPECT_TRUE(bench_.image().client_metrics().empty());
}

// What DescribeConfigs shows can be written back by AlterConfigs.
TEST_F(AlterConfigs, EverythingThatIsShownOfATopicCanBeWrittenBack) {
  std::vector<ConfigChange> all;
  for (DescribedConfig& config : describe_topic(config_layers(config_, bench_.image()), topic_a().configs, 1)) {
    ASSERT_TRUE(config.value) << config.name;
    all.push_back(set(std::string(config.name), *config.value));
  }
  EXPECT_TRUE(run({topic, "a", std::move(all), true}).ok());
}

TEST_F(AlterConfigs, MinInsyncReplicasFollowsTheReplicationFactor) {
  EXPECT_EQ(effective().effective_min_insync_replicas(1), 1);
  EXPECT_EQ(effective().effective_min_insync_replicas(2), 1);
  EXPECT_EQ(effective().effective_min_insync_replicas(3), 2);
  ASSERT_TRUE(alter(topic, "a", {set("min.insync.replicas", "3")}).ok());
  EXPECT_EQ(effective().effective_min_insync_replicas(3), 3);
}

}  // namespace
}  // namespace naru
