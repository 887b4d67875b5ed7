#include "configuration/config_description.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace naru {
namespace {

const DescribedConfig& find(const std::vector<DescribedConfig>& described, std::string_view name) {
  return *std::ranges::find_if(described, [name](const auto& config) { return config.definition->name == name; });
}

using Synonyms = std::vector<DescribedSynonym>;
using enum ConfigSource;

TEST(ConfigDescription, ATopicKeyNamesEveryPlaceThatHasAValueTheOneThatHoldsFirst) {
  const BrokerConfig config = *make_broker_config({{"log.segment.bytes", "1000"}});
  const ConfigOverrides all{{"log.segment.bytes", "2000"}}, self{{"log.segment.bytes", "3000"}};
  const auto described = describe_topic({config, all, self}, {{"segment.bytes", "4000"}}, 1);
  const DescribedConfig& segment = find(described, "segment.bytes");
  EXPECT_EQ(segment.value, "4000");
  EXPECT_EQ(segment.source, topic);
  EXPECT_FALSE(segment.read_only);
  EXPECT_EQ(segment.synonyms, (Synonyms{{"segment.bytes", "4000", topic},
                                        {"log.segment.bytes", "3000", dynamic_broker},
                                        {"log.segment.bytes", "2000", dynamic_default_broker},
                                        {"log.segment.bytes", "1000", static_broker},
                                        {"log.segment.bytes", "1073741824", default_value}}));
}

TEST(ConfigDescription, ATopicKeyWithoutAValueOfItsOwnHasTheBrokersInItsUnit) {
  const BrokerConfig config = *make_broker_config({{"log.retention.hours", "2"}});
  const auto described = describe_topic({config, {}, {}}, {}, 1);
  const DescribedConfig& retention = find(described, "retention.ms");
  EXPECT_EQ(retention.value, "7200000");
  EXPECT_EQ(retention.source, static_broker);
  EXPECT_EQ(retention.synonyms,
            (Synonyms{{"log.retention.hours", "2", static_broker}, {"log.retention.hours", "336", default_value}}));
}

TEST(ConfigDescription, MinInsyncReplicasIsTheNumberThatHolds) {
  const BrokerConfig config = *make_broker_config({});
  EXPECT_EQ(find(describe_topic({config, {}, {}}, {}, 1), "min.insync.replicas").value, "1");
  EXPECT_EQ(find(describe_topic({config, {}, {}}, {}, 3), "min.insync.replicas").value, "2");
}

TEST(ConfigDescription, EveryKeyOfATableIsDescribed) {
  const BrokerConfig config = *make_broker_config({});
  EXPECT_EQ(describe_topic({config, {}, {}}, {}, 1).size(), topic_config_definitions().size());
  EXPECT_EQ(describe_broker({config, {}, {}}).size(), broker_config_definitions().size());
  EXPECT_EQ(describe_group({}).size(), group_config_definitions().size());
}

TEST(ConfigDescription, BrokerKeysThatAreReadAtTheStartAreReadOnly) {
  const BrokerConfig config = *make_broker_config({{"num.partitions", "7"}});
  const ConfigOverrides all{{"naru.log.level", "debug"}};
  const auto described = describe_broker({config, all, {}});
  EXPECT_TRUE(find(described, "num.partitions").read_only);
  EXPECT_EQ(find(described, "num.partitions").source, static_broker);
  EXPECT_FALSE(find(described, "naru.log.level").read_only);
  EXPECT_EQ(find(described, "naru.log.level").value, "debug");
  EXPECT_EQ(find(described, "naru.log.level").source, dynamic_default_broker);
  EXPECT_FALSE(find(described, "log.retention.ms").read_only);
  EXPECT_EQ(find(described, "log.retention.ms").value, std::nullopt);
}

TEST(ConfigDescription, TheDefaultsOfAllBrokersAreOnlyWhatWasSet) {
  const auto described = describe_broker_defaults({{"naru.log.level", "warn"}, {"of.another.version", "1"}});
  ASSERT_EQ(described.size(), 1u);
  EXPECT_EQ(described[0].value, "warn");
  EXPECT_EQ(described[0].source, dynamic_default_broker);
}

TEST(ConfigDescription, GroupsShowWhatIsSetOverTheDefault) {
  const auto described = describe_group({{"consumer.session.timeout.ms", "50000"}});
  const DescribedConfig& timeout = find(described, "consumer.session.timeout.ms");
  EXPECT_EQ(timeout.value, "50000");
  EXPECT_EQ(timeout.source, group);
  EXPECT_EQ(timeout.synonyms, (Synonyms{{"consumer.session.timeout.ms", "50000", group},
                                        {"consumer.session.timeout.ms", "45000", default_value}}));
  EXPECT_EQ(find(described, "share.auto.offset.reset").value, "latest");
}

TEST(GroupConfig, DefaultsAreAllowedAndOffsetResetsAreChecked) {
  for (const ConfigDefinition& definition : group_config_definitions()) {
    EXPECT_TRUE(validate_value(definition, *definition.default_text).ok()) << definition.name;
  }
  for (const std::string_view good :
       {"earliest", "latest", "by_duration:P1D", "by_duration:PT1H30M", "by_duration:PT5S", "by_duration:P2DT3H"}) {
    EXPECT_TRUE(validate_group_config("share.auto.offset.reset", good).ok()) << good;
  }
  for (const std::string_view bad : {"", "first", "by_duration:", "by_duration:P", "by_duration:PT", "by_duration:P1",
                                     "by_duration:1D", "by_duration:PT1M1H", "by_duration:P-1D", "by_duration:P1DT",
                                     "by_duration:PT1H2", "by_duration:P9999999999D"}) {
    EXPECT_EQ(validate_group_config("share.auto.offset.reset", bad).code(), ErrorCode::invalid_config) << bad;
  }
}

TEST(DynamicConfig, StoredValuesOfAnotherVersionAreSkipped) {
  const BrokerConfig config = *make_broker_config({});
  const BrokerConfig effective =
      effective_config({config, {{"gone.key", "1"}, {"max.connections", "many"}}, {{"num.partitions", "9"}}});
  EXPECT_EQ(effective.max_connections, config.max_connections);
  EXPECT_EQ(effective.num_partitions, config.num_partitions);
}

}  // namespace
}  // namespace naru
