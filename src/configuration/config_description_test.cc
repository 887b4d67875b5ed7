#include "configuration/config_description.h"

#include <algorithm>
#include <tuple>

#include <gtest/gtest.h>

namespace naru {
namespace {

const DescribedConfig& find(const std::vector<DescribedConfig>& described, std::string_view name) {
  return *std::ranges::find_if(described, [name](const auto& config) { return config.name == name; });
}

// A key with another name is described under both; some are shown only when they are set.
size_t shown_of(std::span<const ConfigDefinition> definitions) {
  size_t count = 0;
  for (const ConfigDefinition& definition : definitions) {
    if (!definition.shown_if_set) count += definition.alias.empty() ? 1 : 2;
  }
  return count;
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
  EXPECT_EQ(describe_topic({config, {}, {}}, {}, 1).size(), shown_of(topic_config_definitions()));
  EXPECT_EQ(describe_broker({config, {}, {}}, {}).size(), shown_of(broker_config_definitions()));
  EXPECT_EQ(describe_group({config, {}, {}}, {}).size(), group_config_definitions().size());
}

TEST(ConfigDescription, BrokerKeysThatAreReadAtTheStartAreReadOnly) {
  const BrokerConfig config = *make_broker_config({{"num.partitions", "7"}});
  const ConfigOverrides all{{"naru.log.level", "debug"}};
  const auto described = describe_broker({config, all, {}}, {});
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
  const BrokerConfig config = *make_broker_config({});
  const auto described = describe_group({config, {}, {}}, {{"consumer.session.timeout.ms", "50000"}});
  const DescribedConfig& timeout = find(described, "consumer.session.timeout.ms");
  EXPECT_EQ(timeout.value, "50000");
  EXPECT_EQ(timeout.source, group);
  EXPECT_EQ(timeout.synonyms, (Synonyms{{"consumer.session.timeout.ms", "50000", group},
                                        {"group.consumer.session.timeout.ms", "45000", default_value}}));
  EXPECT_EQ(find(described, "share.auto.offset.reset").value, "latest");
}

TEST(ConfigDescription, AGroupWithoutAValueHasThatOfItsBroker) {
  const BrokerConfig config = *make_broker_config({{"group.consumer.session.timeout.ms", "50000"}});
  const auto described = describe_group({config, {}, {}}, {});
  const DescribedConfig& timeout = find(described, "consumer.session.timeout.ms");
  EXPECT_EQ(timeout.value, "50000");
  EXPECT_EQ(timeout.source, static_broker);
}

TEST(ConfigDescription, NumbersThatFollowTheClusterAreShownAsTheyHold) {
  const BrokerConfig config = *make_broker_config({{"num.network.threads", "7"}});
  const auto with_brokers = [&](int32_t brokers) { return describe_broker({config, {}, {}}, {.brokers = brokers}); };
  for (const auto& [brokers, replicas, in_sync] :
       {std::tuple(1, "1", "1"), {2, "2", "1"}, {3, "3", "2"}, {9, "3", "2"}}) {
    const auto described = with_brokers(brokers);
    for (const char* key : {"default.replication.factor", "offsets.topic.replication.factor",
                            "transaction.state.log.replication.factor"}) {
      EXPECT_EQ(find(described, key).value, replicas) << key << " of " << brokers;
      EXPECT_EQ(find(described, key).source, default_value);
      EXPECT_EQ(find(described, key).synonyms, (Synonyms{{key, replicas, default_value}}));
    }
    for (const char* key : {"min.insync.replicas", "transaction.state.log.min.isr"}) {
      EXPECT_EQ(find(described, key).value, in_sync) << key << " of " << brokers;
    }
    EXPECT_EQ(find(described, "num.network.threads").value, "7");
  }
}

TEST(ConfigDescription, WhatIsReadAtTheStartIsShownAsItHoldsThoughAnotherValueIsStored) {
  constexpr const char* kKey = "num.network.threads";
  BrokerConfig by_cores = *make_broker_config({});
  by_cores.num_network_threads = 7;
  const BrokerConfig by_file = *make_broker_config({{kKey, "6"}});
  const auto of_this_broker = describe_broker({by_cores, {}, {{kKey, "5"}}}, {});
  EXPECT_EQ(find(of_this_broker, kKey).value, "7");
  EXPECT_EQ(find(of_this_broker, kKey).source, dynamic_broker) << "tools have to find what they can remove";
  EXPECT_EQ(find(of_this_broker, kKey).synonyms, (Synonyms{{kKey, "5", dynamic_broker}, {kKey, "7", default_value}}));
  const auto of_all = describe_broker({by_file, {{kKey, "5"}}, {}}, {});
  EXPECT_EQ(find(of_all, kKey).value, "6");
  EXPECT_EQ(find(of_all, kKey).source, dynamic_default_broker);
}

TEST(ConfigDescription, WhatIsSetWinsOverWhatWouldHold) {
  const BrokerConfig config = *make_broker_config({{"default.replication.factor", "1"}, {"min.insync.replicas", "4"}});
  const auto described = describe_broker({config, {}, {}}, {.brokers = 3});
  EXPECT_EQ(find(described, "default.replication.factor").value, "1");
  EXPECT_EQ(find(described, "min.insync.replicas").value, "4");
}

TEST(ConfigDescription, ListenersAreShownAsTheyAreOpen) {
  const BrokerConfig config = *make_broker_config({{"listeners", "127.0.0.1:0"}});
  const BrokerFacts facts{.listeners = "PLAINTEXT://127.0.0.1:9999", .advertised_listeners = "PLAINTEXT://host:9999"};
  const auto described = describe_broker({config, {}, {}}, facts);
  EXPECT_EQ(find(described, "listeners").value, "PLAINTEXT://127.0.0.1:9999");
  EXPECT_EQ(find(described, "listeners").source, static_broker);
  EXPECT_EQ(find(described, "listeners").synonyms.front(),
            (DescribedSynonym{"listeners", "PLAINTEXT://127.0.0.1:9999", static_broker}));
  EXPECT_EQ(find(described, "advertised.listeners").value, "PLAINTEXT://host:9999");
}

TEST(ConfigDescription, AKeyWithTwoNamesIsThereUnderBoth) {
  const BrokerConfig config = *make_broker_config({{"node.id", "7"}});
  const auto described = describe_broker({config, {}, {}}, {});
  for (const char* name : {"node.id", "broker.id"}) {
    EXPECT_EQ(find(described, name).value, "7");
    EXPECT_EQ(find(described, name).synonyms.front(), (DescribedSynonym{name, "7", static_broker}));
  }
}

// So that read-modify-write by AlterConfigs, which cannot send a null, works.
TEST(ConfigDescription, NoKeyOfATopicOrAGroupIsWithoutAValue) {
  const BrokerConfig config = *make_broker_config({});
  for (const DescribedConfig& described : describe_topic({config, {}, {}}, {}, 3)) {
    ASSERT_TRUE(described.value) << described.name;
    EXPECT_TRUE(validate_topic_config(described.name, *described.value).ok()) << described.name;
  }
  for (const DescribedConfig& described : describe_group({config, {}, {}}, {})) {
    ASSERT_TRUE(described.value) << described.name;
    EXPECT_TRUE(validate_group_config(described.name, *described.value).ok()) << described.name;
  }
}

TEST(ConfigDescription, WhatABrokerShowsAsChangeableItAlsoAccepts) {
  const BrokerConfig config = *make_broker_config({});
  for (const DescribedConfig& described : describe_broker({config, {}, {}}, {})) {
    if (described.read_only || !described.value) continue;
    const Status status = validate_dynamic_config(described.name, *described.value);
    EXPECT_TRUE(status.ok()) << status.message();
  }
}

TEST(ConfigDescription, InternalAndLegacyKeysAreThereOnlyWhenTheyAreSet) {
  const BrokerConfig config = *make_broker_config({{"log.initial.task.delay.ms", "5"}});
  const auto has = [](const auto& described, std::string_view name) {
    return std::ranges::any_of(described, [name](const auto& entry) { return entry.name == name; });
  };
  const auto broker = describe_broker({config, {}, {}}, {});
  EXPECT_TRUE(has(broker, "log.initial.task.delay.ms"));
  EXPECT_FALSE(has(broker, "unclean.leader.election.interval.ms"));
  EXPECT_FALSE(has(describe_topic({config, {}, {}}, {}, 1), "message.format.version"));
  EXPECT_TRUE(has(describe_topic({config, {}, {}}, {{"message.format.version", "2.8"}}, 1), "message.format.version"));
}

TEST(ConfigDescription, PasswordsAreSensitive) {
  const BrokerConfig config = *make_broker_config({});
  const auto described = describe_broker({config, {}, {}}, {});
  EXPECT_TRUE(find(described, "ssl.keystore.password").is_sensitive());
  EXPECT_EQ(std::ranges::count_if(described, &DescribedConfig::is_sensitive), 10);
}

TEST(ConfigDescription, SubscriptionsToMetricsShowWhatIsSet) {
  const auto described = describe_client_metrics({{"interval.ms", "5000"}});
  EXPECT_EQ(find(described, "interval.ms").value, "5000");
  EXPECT_EQ(find(described, "interval.ms").source, client_metrics);
  EXPECT_EQ(find(described, "match").value, "");
  EXPECT_EQ(find(described, "match").synonyms, Synonyms());
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

std::string dynamic_refusal(std::string_view key, std::string_view value, bool for_all_brokers = false) {
  const Status status = validate_dynamic_config(key, value, for_all_brokers);
  EXPECT_EQ(status.code(), status.ok() ? ErrorCode::none : ErrorCode::invalid_request);
  return status.message();
}

TEST(DynamicConfig, KeysAreChangedWhereKafkaChangesThem) {
  EXPECT_EQ(dynamic_refusal("log.cleaner.threads", "2"), "");
  EXPECT_EQ(dynamic_refusal("num.io.threads", "4", true), "");
  EXPECT_EQ(dynamic_refusal("background.threads", "20", true), "") << "to no effect";
  EXPECT_EQ(dynamic_refusal("num.network.threads", "4"), "") << "to no effect";
  EXPECT_EQ(dynamic_refusal("log.cleaner.io.max.bytes.per.second", "0"),
            "log.cleaner.io.max.bytes.per.second cannot be '0': a rate is more than 0");
  EXPECT_EQ(dynamic_refusal("log.retention.hours", "4"),
            "log.retention.hours cannot be changed while the broker runs: set it in its configuration file");
  EXPECT_EQ(dynamic_refusal("ssl.client.auth", "none"), "");
  EXPECT_EQ(dynamic_refusal("ssl.client.auth", "none", true),
            "ssl.client.auth cannot be set for all brokers: set it for each of them");
  EXPECT_EQ(dynamic_refusal("background.threads", "0"),
            "background.threads must be an integer from 1 to 2147483647, not '0'");
}

TEST(DynamicConfig, PromisesThatAreNotKeptAreRefused) {
  EXPECT_EQ(dynamic_refusal("max.connection.creation.rate", "10", true),
            "max.connection.creation.rate cannot be set to anything but '2147483647': The rate of new connections is "
            "not limited; max.connections and max.connections.per.ip limit their number.");
  EXPECT_EQ(dynamic_refusal("ssl.truststore.location", "/x"),
            "ssl.truststore.location cannot be set: There is no TLS yet: listeners are PLAINTEXT only, and this would "
            "pretend that they are protected.");
}

TEST(DynamicConfig, RetentionThatAnEarlierVersionLetChangeStillHolds) {
  const BrokerConfig config = *make_broker_config({});
  const BrokerConfig effective = effective_config({config, {{"log.retention.hours", "9"}}, {}});
  EXPECT_EQ(effective.values.string("log.retention.hours"), "9");
}

TEST(DynamicConfig, WhatIsObeyedAtOnceIsInTheTypedForm) {
  const BrokerConfig config = *make_broker_config({});
  const ConfigOverrides all{{"log.cleaner.threads", "3"},
                            {"log.cleaner.backoff.ms", "7"},
                            {"log.cleaner.dedupe.buffer.size", "2048"},
                            {"log.cleaner.io.max.bytes.per.second", "1e6"},
                            {"num.io.threads", "5"}};
  const BrokerConfig effective = effective_config({config, all, {}});
  EXPECT_EQ(effective.log_cleaner_threads, 3);
  EXPECT_EQ(effective.log_cleaner_backoff, 7ms);
  EXPECT_EQ(effective.log_cleaner_dedupe_buffer_bytes, 2048U);
  EXPECT_EQ(effective.log_cleaner_io_bytes_per_second, 1e6);
  EXPECT_EQ(effective.num_io_threads, 5);
}

TEST(ClientMetricsConfig, PatternsNameWhatTheyMatch) {
  for (const char* good : {"", "client_id=x", "client_id=a.*,client_software_version=4.0"}) {
    EXPECT_TRUE(validate_client_metrics_config("match", good).ok()) << good;
  }
  for (const char* bad : {"x", "client=x", "client_id=", "client_id=a,,"}) {
    EXPECT_EQ(validate_client_metrics_config("match", bad).code(), ErrorCode::invalid_config) << bad;
  }
}

std::string pattern_refusal(std::string_view patterns) {
  const Status status = validate_client_metrics_config("match", patterns);
  EXPECT_EQ(status.code(), status.ok() ? ErrorCode::none : ErrorCode::invalid_config) << patterns;
  return status.message();
}

TEST(ClientMetricsConfig, PatternsAreExpressionsThatCompile) {
  EXPECT_EQ(pattern_refusal("client_id=[a-z]+,client_source_port=(80|443)"), "");
  for (const char* bad : {"client_id=[", "client_id=a,client_source_port=(", "client_id=(?=x)", "client_id=a=b",
                          "client_id=((a{100}){100}){100}"}) {
    EXPECT_NE(pattern_refusal(bad), "") << bad;
  }
  EXPECT_EQ(pattern_refusal("client_id=["),
            "match cannot be 'client_id=[': the expression [ is not valid: missing ]: [");
}

TEST(ClientMetricsConfig, ThereAreNoMorePatternsThanCanBeCompiledInNoTime) {
  const auto patterns = [](size_t count) {
    std::string all = "client_id=a";
    for (size_t i = 1; i < count; ++i) all += ",client_id=a";
    return all;
  };
  EXPECT_EQ(pattern_refusal(patterns(16)), "");
  EXPECT_NE(pattern_refusal(patterns(17)).find("there are 17 patterns, more than 16"), std::string::npos);
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
