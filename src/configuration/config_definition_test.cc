#include "configuration/config_definition.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "configuration/broker_config.h"

namespace naru {
namespace {

// log.retention.ms has no value of its own because log.retention.hours has one.
bool is_one_of_several_units(const ConfigDefinition& definition) {
  return std::ranges::any_of(topic_config_definitions(), [&](const ConfigDefinition& topic) {
    const auto rows = topic.synonyms.view();
    return rows.size() > 1 && std::ranges::find(rows, definition.name, &ConfigSynonym::broker_key) != rows.end();
  });
}

void expect_sound(std::span<const ConfigDefinition> definitions) {
  std::set<std::string_view> names;
  std::set<std::string> variables;
  for (const ConfigDefinition& definition : definitions) {
    EXPECT_TRUE(names.insert(definition.name).second) << definition.name;
    EXPECT_TRUE(variables.insert(environment_name(definition.name)).second) << definition.name;
    if (!definition.alias.empty()) EXPECT_TRUE(names.insert(definition.alias).second) << definition.alias;
    EXPECT_TRUE(definition.help.ends_with('.')) << definition.name;
    if (definition.default_text) {
      EXPECT_TRUE(validate_value(definition, *definition.default_text).ok()) << definition.name;
      EXPECT_TRUE(check_not_refused(definition, *definition.default_text).ok()) << definition.name;
    } else if (!is_one_of_several_units(definition) && !is_without_effect(definition)) {
      EXPECT_NE(definition.help.find("Not set:"), std::string_view::npos)
          << definition.name << ": the help must say what happens without a value";
    }
  }
}

TEST(ConfigDefinitions, EveryKeyHasAValidDefaultAndHelpAndIsThereOnce) {
  expect_sound(broker_config_definitions());
  expect_sound(topic_config_definitions());
  expect_sound(group_config_definitions());
  expect_sound(client_metrics_config_definitions());
}

TEST(ConfigDefinitions, EverySynonymIsABrokerKeyWithTheSameDefault) {
  for (const ConfigDefinition& topic : topic_config_definitions()) {
    if (topic.synonyms.count == 0) continue;
    for (const ConfigSynonym& synonym : topic.synonyms.view()) {
      ASSERT_NE(find_broker_config(synonym.broker_key), nullptr) << synonym.broker_key;
    }
    const ConfigSynonym& coarsest = topic.synonyms.view().back();
    const ConfigDefinition& broker = *find_broker_config(coarsest.broker_key);
    if (coarsest.multiplier == 1) {
      EXPECT_EQ(broker.default_text, topic.default_text) << topic.name;
    } else {
      EXPECT_EQ(parse_config_integer(*broker.default_text).value() * coarsest.multiplier,
                parse_config_integer(*topic.default_text).value())
          << topic.name;
    }
  }
}

TEST(ConfigDefinitions, DefaultsThatDifferFromKafkas) {
  EXPECT_EQ(find_broker_config("log.retention.hours")->default_text, "336");
  EXPECT_EQ(find_topic_config("flush.messages")->default_text, "1");
  EXPECT_EQ(find_broker_config("num.partitions")->default_text, "4");
  EXPECT_EQ(find_broker_config("default.replication.factor")->default_text, std::nullopt);
  EXPECT_EQ(find_topic_config("min.insync.replicas")->default_text, std::nullopt);
  EXPECT_EQ(find_topic_config("unclean.leader.election.enable")->default_text, "false");
}

std::string refusal(std::string_view key, std::string_view value) {
  const Status status = validate_topic_config(key, value);
  EXPECT_EQ(status.ok() ? ErrorCode::invalid_config : status.code(), ErrorCode::invalid_config);
  return status.message();
}

TEST(TopicConfigValidation, AcceptsWhatClientsAndToolsSet) {
  const std::pair<const char*, const char*> accepted[] = {
      {"cleanup.policy", "compact"},
      {"cleanup.policy", "delete, compact"},
      {"compression.type", "zstd"},
      {"compression.gzip.level", "-1"},
      {"retention.ms", "-1"},
      {"retention.ms", " 1000 "},
      {"segment.bytes", "100"},
      {"preallocate", "TRUE"},
      {"min.cleanable.dirty.ratio", "0.25"},
      {"message.timestamp.type", "LogAppendTime"},
      {"message.format.version", "2.8"},
      {"message.downconversion.enable", "false"},
      {"leader.replication.throttled.replicas", "0:1,1:2"},
      {"follower.replication.throttled.replicas", "*"},
      {"leader.replication.throttled.replicas", ""},
      {"remote.storage.enable", "false"},
      {"remote.storage.enable", "False"},
      {"message.timestamp.difference.max.ms", "9223372036854775807"},
  };
  for (const auto& [key, value] : accepted) EXPECT_EQ(refusal(key, value), "") << key << "=" << value;
}

TEST(TopicConfigValidation, RefusesWithASentence) {
  EXPECT_EQ(refusal("segment.bytes", "13"), "segment.bytes must be an integer from 14 to 2147483647, not '13'");
  EXPECT_EQ(refusal("segment.bytes", "1e6"), "segment.bytes must be an integer from 14 to 2147483647, not '1e6'");
  EXPECT_EQ(refusal("segment.bytes", "99999999999999999999"),
            "segment.bytes must be an integer from 14 to 2147483647, not '99999999999999999999'");
  EXPECT_EQ(refusal("segment.bytes", ""), "segment.bytes must be an integer from 14 to 2147483647, not ''");
  EXPECT_EQ(refusal("cleanup.policy", "compact,shred"),
            "cleanup.policy must be a list of delete, compact, not 'compact,shred'");
  EXPECT_EQ(refusal("cleanup.policy", ""), "cleanup.policy must be a list of delete, compact, not ''");
  EXPECT_EQ(refusal("preallocate", "yes"), "preallocate must be true or false, not 'yes'");
  EXPECT_EQ(
      refusal("remote.storage.enable", "true"),
      "remote.storage.enable cannot be set to anything but 'false': There is no remote storage yet, so it cannot be "
      "switched on.");
  EXPECT_EQ(refusal("compression.gzip.level", "0"), "compression.gzip.level cannot be '0': 0 is not a level");
  EXPECT_EQ(refusal("min.cleanable.dirty.ratio", "nan"),
            "min.cleanable.dirty.ratio must be a number from 0 to 1, not 'nan'");
  EXPECT_EQ(refusal("leader.replication.throttled.replicas", "0:1,x"),
            "leader.replication.throttled.replicas cannot be '0:1,x': 'x' is not PARTITION:BROKER");
  EXPECT_EQ(refusal("message.format.version", "a\nb"),
            "the value of message.format.version contains a control character");
  EXPECT_EQ(refusal("message.format.version", std::string(kMaxConfigValueBytes + 1, 'x')),
            "the value of message.format.version has 32769 bytes, more than 32768");
}

TEST(TopicConfigValidation, AnUnknownKeyNamesTheNearestOne) {
  EXPECT_EQ(refusal("retention.mss", "1"),
            "unknown topic configuration key 'retention.mss'; did you mean retention.ms?");
  EXPECT_EQ(refusal("dummy.doesntexist", "1"), "unknown topic configuration key 'dummy.doesntexist'");
  EXPECT_EQ(refusal("", "1"), "unknown topic configuration key ''");
  EXPECT_LT(refusal(std::string(1 << 20, 'r'), "1").size(), 200u) << "a hostile name is not repeated in full";
}

TEST(ConfigLists, SplitAtCommasWithoutTheBlanks) {
  EXPECT_EQ(parse_config_list(" a ,b,, c"), (std::vector<std::string_view>{"a", "b", "", "c"}));
  EXPECT_TRUE(parse_config_list("  ").empty());
}

}  // namespace
}  // namespace naru
