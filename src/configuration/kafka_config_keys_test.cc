// That the tables know every key that Kafka lists (kafka_config_keys.tsv), with its type and with where it can be
// changed.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "configuration/config_definition.h"

namespace naru {
namespace {

struct KafkaKey {
  std::string scope, name, type, default_text, change, described, fallbacks;
};

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(separator, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

std::vector<KafkaKey> read_list() {
  std::ifstream file(NARU_SOURCE_FOLDER "/src/configuration/kafka_config_keys.tsv");
  std::vector<KafkaKey> keys;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    const auto cells = split(line, '\t');
    EXPECT_EQ(cells.size(), 7U) << line;
    keys.push_back({cells[0], cells[1], cells[2], cells[3], cells[4], cells[5], cells[6]});
  }
  EXPECT_GT(keys.size(), 400U);
  return keys;
}

const std::vector<KafkaKey>& kafkas_keys() {
  static const std::vector<KafkaKey> keys = read_list();
  return keys;
}

struct Table {
  std::span<const ConfigDefinition> definitions;
  const ConfigDefinition* (*find)(std::string_view name);
};

Table table_of(const std::string& scope) {
  if (scope == "broker") return {broker_config_definitions(), find_broker_config};
  if (scope == "topic") return {topic_config_definitions(), find_topic_config};
  if (scope == "group") return {group_config_definitions(), find_group_config};
  return {client_metrics_config_definitions(), find_client_metrics_config};
}

std::string type_word(ConfigType type) {
  static const std::map<ConfigType, std::string> kWords{
      {ConfigType::boolean, "boolean"}, {ConfigType::string, "string"},    {ConfigType::int32, "int"},
      {ConfigType::int16, "short"},     {ConfigType::int64, "long"},       {ConfigType::floating, "double"},
      {ConfigType::list, "list"},       {ConfigType::class_name, "class"}, {ConfigType::password, "password"}};
  return kWords.at(type);
}

std::string mode_word(ConfigMode mode) {
  switch (mode) {
    case ConfigMode::read_only:
      return "read-only";
    case ConfigMode::per_broker:
      return "per-broker";
    case ConfigMode::cluster_wide:
      return "cluster-wide";
  }
  return {};
}

TEST(KafkaConfigKeys, EachIsInATableWithKafkasTypeAndModeAndVisibility) {
  const std::set<std::string_view> read_only_here{"listeners", "listener.security.protocol.map",
                                                  "producer.id.expiration.ms"};
  for (const KafkaKey& key : kafkas_keys()) {
    const ConfigDefinition* definition = table_of(key.scope).find(key.name);
    ASSERT_NE(definition, nullptr) << key.scope << " " << key.name;
    EXPECT_TRUE(definition->is_kafkas) << key.name;
    EXPECT_EQ(type_word(definition->type), key.type) << key.name;
    EXPECT_EQ(definition->shown_if_set, key.described == "if set") << key.name;
    if (key.scope != "broker") continue;
    EXPECT_EQ(mode_word(definition->mode), read_only_here.contains(key.name) ? "read-only" : key.change) << key.name;
  }
}

TEST(KafkaConfigKeys, NoOtherKeyIsSaidToBeKafkas) {
  std::set<std::pair<std::string, std::string>> kafkas;
  for (const KafkaKey& key : kafkas_keys()) kafkas.emplace(key.scope, key.name);
  for (const std::string scope : {"broker", "topic", "group", "client-metrics"}) {
    for (const ConfigDefinition& definition : table_of(scope).definitions) {
      EXPECT_EQ(definition.is_kafkas, kafkas.contains({scope, std::string(definition.name)})) << definition.name;
      if (!definition.alias.empty()) EXPECT_TRUE(kafkas.contains({scope, std::string(definition.alias)}));
    }
  }
}

// What holds without a configuration is a decision of its own where it is not Kafka's.
TEST(KafkaConfigKeys, DefaultsAreKafkasButForThese) {
  const std::set<std::string> ours{"broker.id",                   // of the same key as node.id
                                   "controller.listener.names",   // required there
                                   "default.replication.factor",  // by the number of brokers
                                   "flush.messages",              // acknowledged is durable
                                   "group.coordinator.rebalance.protocols",
                                   "listener.security.protocol.map",
                                   "listeners",  // reached from this machine only
                                   "log.cleaner.dedupe.buffer.size",
                                   "log.dir",
                                   "log.dirs",
                                   "log.flush.interval.messages",
                                   "log.retention.hours",  // two weeks
                                   "min.insync.replicas",  // by the number of replicas
                                   "node.id",              // required there
                                   "num.network.threads",  // by the number of cores
                                   "num.partitions",
                                   "offsets.retention.minutes",
                                   "offsets.topic.replication.factor",
                                   "process.roles",           // required there
                                   "replica.selector.class",  // the nearest replica
                                   "retention.ms",
                                   "transaction.state.log.min.isr",
                                   "transaction.state.log.replication.factor"};
  std::set<std::string> different;
  for (const KafkaKey& key : kafkas_keys()) {
    const ConfigDefinition* definition = table_of(key.scope).find(key.name);
    ASSERT_NE(definition, nullptr);
    const auto& text = definition->default_text;
    if ((text ? "'" + std::string(*text) + "'" : "null") != key.default_text) different.insert(key.name);
  }
  EXPECT_EQ(different, ours);
}

TEST(KafkaConfigKeys, TopicsAndGroupsFallBackToTheSameBrokerKeys) {
  for (const KafkaKey& key : kafkas_keys()) {
    if (key.scope == "broker" || key.scope == "client-metrics") continue;
    std::vector<std::string> ours;
    for (const ConfigSynonym& synonym : table_of(key.scope).find(key.name)->synonyms.view()) {
      ours.emplace_back(synonym.broker_key);
    }
    EXPECT_EQ(ours, key.fallbacks == "-" ? std::vector<std::string>() : split(key.fallbacks, ',')) << key.name;
  }
}

}  // namespace
}  // namespace naru
