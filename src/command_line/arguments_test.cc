#include "command_line/arguments.h"

#include <gtest/gtest.h>

namespace naru::command_line {
namespace {

using Words = std::vector<std::string>;

std::expected<Arguments, EarlyExit> parse(const Words& words, const Environment& environment = {}) {
  return parse_arguments(words, environment, "1.2.3");
}

template <class Flags>
Flags flags(const Words& words) {
  const auto arguments = parse(words);
  EXPECT_TRUE(arguments) << arguments.error().error;
  if (!arguments) return {};
  const auto* found = std::get_if<Flags>(&arguments->command);
  EXPECT_NE(found, nullptr);
  return found == nullptr ? Flags{} : *found;
}

std::string refusal(const Words& words, const Environment& environment = {}) {
  const auto arguments = parse(words, environment);
  EXPECT_FALSE(arguments);
  if (arguments) return "";
  EXPECT_EQ(arguments.error().code, 2);
  EXPECT_EQ(arguments.error().output, "");
  return arguments.error().error;
}

TEST(Arguments, TopicCommands) {
  const auto create = flags<TopicCreateFlags>(
      {"topic", "create", "orders", "--partitions", "12", "--replicas", "3", "--config", "a=b", "--config", "c=d=e"});
  EXPECT_EQ(create.name, "orders");
  EXPECT_EQ(create.partitions, 12);
  EXPECT_EQ(create.replicas, 3);
  EXPECT_EQ(create.configs, (std::vector<KeyValue>{{"a", "b"}, {"c", "d=e"}}));
  EXPECT_EQ(flags<TopicCreateFlags>({"topic", "create", "x"}).partitions, -1);
  EXPECT_EQ(flags<TopicDeleteFlags>({"topic", "delete", "a", "b"}).names, (Words{"a", "b"}));
  flags<TopicListFlags>({"topic", "list", "--json"});
}

TEST(Arguments, GroupCommands) {
  EXPECT_EQ(flags<GroupListFlags>({"group", "list", "--state", "Stable,Empty"}).states, (Words{"Stable", "Empty"}));
  EXPECT_EQ(flags<GroupDescribeFlags>({"group", "describe", "g"}).name, "g");
  EXPECT_EQ(flags<GroupDeleteFlags>({"group", "delete", "a", "b"}).names, (Words{"a", "b"}));
  EXPECT_EQ(flags<GroupWhyFlags>({"group", "why", "g"}).watch, Duration(6s));
  EXPECT_EQ(flags<GroupWhyFlags>({"group", "why", "g", "--watch", "1s"}).watch, Duration(1s));
}

TEST(Arguments, TransactionCommands) {
  EXPECT_EQ(flags<TxnListFlags>({"txn", "list", "--state", "Ongoing,PrepareAbort"}).states,
            (Words{"Ongoing", "PrepareAbort"}));
  EXPECT_FALSE(flags<TxnListFlags>({"txn", "list"}).stuck);
  EXPECT_TRUE(flags<TxnListFlags>({"txn", "list", "--stuck"}).stuck);
  EXPECT_EQ(flags<TxnDescribeFlags>({"txn", "describe", "copier"}).id, "copier");
  EXPECT_TRUE(flags<TxnAbortFlags>({"txn", "abort", "copier", "--fence"}).fence);
  EXPECT_EQ(flags<TxnAbortFlags>({"txn", "abort", "--", "-copier"}).id, "-copier");
  const auto hanging =
      flags<TxnAbortFlags>({"txn", "abort", "--topic", "orders", "--partition", "3", "--producer-id", "4000"});
  EXPECT_EQ(hanging.id, "");
  EXPECT_EQ(hanging.topic, "orders");
  EXPECT_EQ(hanging.partition, PartitionIndex(3));
  EXPECT_EQ(hanging.producer_id, ProducerId(4000));
  const std::string either =
      "naru: give the ID of a transaction, or else all of --topic, --partition and --producer-id\n";
  EXPECT_EQ(refusal({"txn", "abort"}), either);
  EXPECT_EQ(refusal({"txn", "abort", "copier", "--topic", "orders"}), either);
  EXPECT_EQ(refusal({"txn", "abort", "--topic", "orders", "--producer-id", "1"}), either);
  EXPECT_EQ(refusal({"txn", "abort", "--topic", "t", "--partition", "0", "--producer-id", "1", "--fence"}), either);
  EXPECT_NE(refusal({"txn", "abort", "--producer-id", "x"}).find("--producer-id: "), std::string::npos);
  EXPECT_NE(refusal({"txn", "list", "--stuck", "--state", "Ongoing"}).find("without --state"), std::string::npos);
}

TEST(Arguments, WhereToResetAGroupTo) {
  using Kind = StartAt::Kind;
  const auto target = [](const Words& to) {
    Words words{"group", "reset", "--to"};
    words.insert(words.end(), to.begin(), to.end());
    words.insert(words.end(), {"g", "--topic", "t", "--partition", "0,2"});
    const auto reset = flags<GroupResetFlags>(words);
    EXPECT_EQ(reset.name, "g");
    EXPECT_EQ(reset.topic, "t");
    EXPECT_EQ(reset.partitions.size(), 2u);
    return reset.to;
  };
  EXPECT_EQ(target({"earliest"}).kind, Kind::beginning);
  EXPECT_EQ(target({"latest"}).kind, Kind::end);
  EXPECT_EQ(target({"offset", "42"}).offset, 42);
  EXPECT_EQ(target({"offset", "-10"}).offset, -10);
  EXPECT_EQ(target({"offset 42"}).kind, Kind::offset) << "quoted";
  EXPECT_EQ(target({"time", "-2h"}).ago, Duration(2h));
  EXPECT_EQ(target({"time", "15m"}).ago, Duration(15min));
  EXPECT_EQ(target({"time", "2023-11-14T22:13:20Z"}).time, 1'700'000'000'000);
  EXPECT_EQ(target({"time", "@5"}).time, 5);
  for (const Words& wrong : {Words{"beginning"}, {"offset", "x"}, {"offset"}, {"time", "42"}, {"time", "--dry-run"}}) {
    Words words{"group", "reset", "g", "--topic", "t", "--to"};
    words.insert(words.end(), wrong.begin(), wrong.end());
    EXPECT_NE(refusal(words).find("is not earliest, latest, offset N, or time T"), std::string::npos);
  }
  EXPECT_NE(refusal({"group", "reset", "g", "--to", "latest"}).find("--topic"), std::string::npos);
}

TEST(Arguments, TheBootstrapListComesFromTheFlagThenTheEnvironmentThenTheDefault) {
  EXPECT_EQ(parse({"topic", "list"})->common.bootstrap, (std::vector<Endpoint>{{"127.0.0.1", 9092}}));
  const Environment environment{{"NARU_BOOTSTRAP", "a:1,b:2"}};
  EXPECT_EQ(parse({"topic", "list"}, environment)->common.bootstrap, (std::vector<Endpoint>{{"a", 1}, {"b", 2}}));
  EXPECT_EQ(parse({"topic", "list", "--bootstrap", "[::1]:3"}, environment)->common.bootstrap,
            (std::vector<Endpoint>{{"::1", 3}}));
  EXPECT_EQ(refusal({"topic", "list"}, {{"NARU_BOOTSTRAP", "nonsense"}}),
            "naru: NARU_BOOTSTRAP: 'nonsense' is not HOST:PORT\n");
}

TEST(Arguments, Produce) {
  const auto produce = flags<ProduceFlags>({"produce", "t", "--acks", "1", "--rate", "500/s", "--count", "10", "--size",
                                            "1KiB", "--header", "a=b", "--partition", "3", "--compression", "zstd"});
  EXPECT_EQ(produce.acks, Acks::leader);
  EXPECT_EQ(produce.rate, 500);
  EXPECT_EQ(produce.count, 10u);
  EXPECT_EQ(produce.size, 1024u);
  EXPECT_EQ(produce.partition, PartitionIndex(3));
  EXPECT_EQ(produce.compression, Compression::zstd);
  EXPECT_EQ(produce.headers, (std::vector<KeyValue>{{"a", "b"}}));
}

TEST(Arguments, Consume) {
  const auto consume =
      flags<ConsumeFlags>({"consume", "t", "--from", "-10", "--partition", "0,2", "--follow", "--count", "5"});
  EXPECT_EQ(consume.from.kind, StartAt::Kind::offset);
  EXPECT_EQ(consume.from.offset, -10);
  EXPECT_EQ(consume.partitions, (std::vector{PartitionIndex(0), PartitionIndex(2)}));
  EXPECT_TRUE(consume.follow);
  EXPECT_EQ(consume.count, 5u);
  EXPECT_EQ(consume.isolation, client::Isolation::read_committed);
  EXPECT_EQ(flags<ConsumeFlags>({"consume", "t", "--isolation-level", "read_uncommitted"}).isolation,
            client::Isolation::read_uncommitted);
}

TEST(Arguments, WhereToBegin) {
  EXPECT_EQ(parse_start("end")->kind, StartAt::Kind::end);
  EXPECT_EQ(parse_start("15m")->ago, Duration(15min));
  EXPECT_EQ(parse_start("2023-11-14T22:13:20Z")->time, 1'700'000'000'000);
  EXPECT_EQ(parse_start("@1700000000000")->time, 1'700'000'000'000);
  for (const char* wrong : {"", "middle", "@", "@-1", "1x"}) EXPECT_FALSE(parse_start(wrong)) << wrong;
}

TEST(Arguments, WhatIsWrongIsNamed) {
  EXPECT_EQ(
      refusal({"tpoic"}),
      "naru: there is no command 'tpoic'; there are server, topic, produce, consume, group, txn, cluster, doctor, "
      "version and "
      "help\n");
  EXPECT_EQ(refusal({"topic", "create", "x", "--config", "nonsense"}), "naru: --config nonsense: expected key=value\n");
  EXPECT_EQ(refusal({"produce", "x", "--acks", "2"}), "naru: --acks: '2' is not all, 1 or 0\n");
  EXPECT_EQ(refusal({"produce", "x", "--size", "10"}),
            "naru: --size is the size of generated records: it needs --count\n");
  EXPECT_EQ(refusal({"consume", "x", "--isolation-level", "committed"}),
            "naru: --isolation-level: 'committed' is not read_committed or read_uncommitted\n");
  EXPECT_EQ(refusal({"consume", "x", "--partition", "-1"}),
            "naru: --partition: '-1' is not the number of a partition\n");
  EXPECT_NE(refusal({"topic", "create"}).find("NAME"), std::string::npos);
  EXPECT_NE(refusal({"topic", "create", "x", "--partitions", "0"}).find("--partitions"), std::string::npos);
  EXPECT_NE(refusal({"topic", "list", "--jsno"}).find("--jsno"), std::string::npos);
  EXPECT_NE(refusal({"topic", "list", "--timeout", "soon"}).find("30s"), std::string::npos);
}

TEST(Arguments, HelpIsOutputAndNotAnError) {
  for (const Words& words : {Words{}, Words{"--help"}, Words{"help"}, Words{"help", "topic", "create"},
                             Words{"consume", "--help"}, Words{"--version"}}) {
    const auto arguments = parse(words);
    ASSERT_FALSE(arguments);
    EXPECT_EQ(arguments.error().code, 0);
    EXPECT_EQ(arguments.error().error, "");
    EXPECT_NE(arguments.error().output, "");
  }
  EXPECT_NE(parse({"help", "topic", "create"}).error().output.find("--partitions"), std::string::npos);
  const std::string help = parse({"--help"}).error().output;
  EXPECT_LT(help.find("Broker"), help.find("Topics"));
  EXPECT_LT(help.find("Topics"), help.find("Records"));
  EXPECT_NE(parse({"--version"}).error().output.find("naru 1.2.3"), std::string::npos);
}

}  // namespace
}  // namespace naru::command_line
