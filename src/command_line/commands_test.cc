// The commands as a person types them, against a real broker in a simulated world.
#include <gtest/gtest.h>

#include "command_line/commands_testing.h"

namespace naru::command_line {
namespace {

TEST_F(CommandsTest, TopicsFromCreationToDeletion) {
  EXPECT_EQ(naru({"topic", "list"}).output, "there are no topics; `naru topic create NAME` creates one\n");
  EXPECT_EQ(naru({"topic", "create", "orders", "--partitions", "3"}).output,
            "created topic orders: 3 partitions, 1 replica\n");
  EXPECT_EQ(naru({"topic", "list"}).output,
            "TOPIC   PARTITIONS  REPLICAS  HEALTH\n"
            "orders           3         1  ok\n");
  const Outcome again = naru({"topic", "create", "orders"});
  EXPECT_EQ(again.exit_code, 1);
  EXPECT_NE(again.error.find("TOPIC_ALREADY_EXISTS"), std::string::npos);
  const Outcome deleted = naru({"topic", "delete", "orders", "nothing"});
  EXPECT_EQ(deleted.exit_code, 1);
  EXPECT_EQ(deleted.output, "deleted topic orders\n");
  EXPECT_NE(deleted.error.find("nothing"), std::string::npos);
  EXPECT_EQ(naru({"topic", "list", "--json"}).output, "[]\n");
}

TEST_F(CommandsTest, MorePartitions) {
  naru({"topic", "create", "t", "--partitions", "1"});
  EXPECT_TRUE(naru({"topic", "set-partitions", "t", "3"}).output.starts_with("topic t has 3 partitions now"));
  const Outcome fewer = naru({"topic", "set-partitions", "t", "2"});
  EXPECT_EQ(fewer.exit_code, 1);
  EXPECT_NE(fewer.error.find("INVALID_PARTITIONS"), std::string::npos) << fewer.error;
  EXPECT_EQ(naru({"topic", "set-partitions", "nope", "2"}).exit_code, 1);
}

TEST_F(CommandsTest, ConfigurationOfATopic) {
  naru({"topic", "create", "t", "--config", "retention.ms=1000000"});
  EXPECT_EQ(naru({"topic", "config", "t"}).output,
            "KEY           VALUE    SOURCE\n"
            "retention.ms  1000000  topic\n");
  EXPECT_EQ(naru({"topic", "config", "t", "--delete", "retention.ms", "--set", "segment.bytes=2000000"}).output,
            "KEY            VALUE    SOURCE\n"
            "segment.bytes  2000000  topic\n");
  EXPECT_NE(naru({"topic", "describe", "t"}).output.find("\nsegment.bytes=2000000\n"), std::string::npos);
  const std::string all = naru({"topic", "config", "t", "--all"}).output;
  EXPECT_NE(all.find("retention.ms"), std::string::npos) << all;
  const Outcome wrong = naru({"topic", "config", "t", "--set", "segment.bytes=-1", "--delete", "segment.bytes"});
  EXPECT_EQ(wrong.exit_code, 1);
  EXPECT_NE(naru({"topic", "config", "t", "--set", "no.such=1"}).error.find("INVALID_CONFIG"), std::string::npos);
  EXPECT_NE(naru({"topic", "config", "nope"}).error.find("no such topic"), std::string::npos);
  EXPECT_EQ(naru({"topic", "config", "t", "--delete", "segment.bytes"}).output,
            "nothing is set for topic t; --all shows what counts\n");
}

TEST_F(CommandsTest, TheDoctorSeesAClockThatIsWrong) {
  node_.clock().step_wall(1h);
  const Outcome late = naru({"doctor"});
  EXPECT_EQ(late.exit_code, 0);
  EXPECT_NE(late.output.find("warn  clock of broker 1"), std::string::npos) << late.output;
}

TEST_F(CommandsTest, ProducedLinesAreConsumed) {
  naru({"topic", "create", "t", "--partitions", "1"});
  EXPECT_EQ(naru({"produce", "t"}, "one\ntwo\nthree").output, "produced 3 records (11 B) to t\n");
  EXPECT_EQ(naru({"consume", "t"}).output, "one\ntwo\nthree\n");
  EXPECT_EQ(naru({"consume", "t", "--from", "-1"}).output, "three\n");
  EXPECT_EQ(naru({"consume", "t", "--from", "1", "--count", "1"}).output, "two\n");
  EXPECT_EQ(naru({"consume", "t", "--from", "end"}).output, "");
  EXPECT_EQ(naru({"consume", "t", "--from", "1h", "--offsets"}).output, "0\t0\tone\n0\t1\ttwo\n0\t2\tthree\n");
}

TEST_F(CommandsTest, KeysDecideThePartition) {
  naru({"topic", "create", "t", "--partitions", "12"});
  naru({"produce", "t", "--key-separator", "=", "--header", "a=b"}, "foobar=1\n21=2\na=3\n");
  const std::string all = naru({"consume", "t", "--format", "{partition} {key} {value} {headers}"}).output;
  for (const char* line : {"6 foobar 1 a=b\n", "0 21 2 a=b\n", "4 a 3 a=b\n"})
    EXPECT_NE(all.find(line), std::string::npos) << all;
  EXPECT_EQ(naru({"consume", "t", "--partition", "4,0"}).output.size(), 4u);
  const Outcome no_key = naru({"produce", "t", "--key-separator", "="}, "k=v\nnothing\n");
  EXPECT_EQ(no_key.exit_code, 1);
  EXPECT_NE(no_key.error.find("line 2 has no '='"), std::string::npos) << no_key.error;
}

TEST_F(CommandsTest, GeneratedLoadAndItsRate) {
  const MonotonicTime begun = world_.now();
  const Outcome made = naru({"produce", "load", "--count", "100", "--size", "20", "--rate", "50", "--json"});
  EXPECT_EQ(made.exit_code, 0) << made.error;
  EXPECT_NE(made.output.find("\"records\": 100,"), std::string::npos) << made.output;
  EXPECT_NE(made.output.find("\"bytes\": 2000,"), std::string::npos) << made.output;
  EXPECT_GE(world_.now() - begun, 1900ms) << "99 intervals of 20 ms";
  const std::string lines = naru({"consume", "load"}).output;
  EXPECT_EQ(std::ranges::count(lines, '\n'), 100);
}

TEST_F(CommandsTest, FollowingEndsWithCtrlC) {
  naru({"produce", "t"}, "one\n");
  const Outcome followed = naru({"consume", "t", "--follow"}, "", 3s);
  EXPECT_EQ(followed.exit_code, 0) << followed.error;
  EXPECT_EQ(followed.output, "one\n");
}

TEST_F(CommandsTest, AClosedPipeIsNotAnError) {
  naru({"produce", "t"}, "one\ntwo\n");
  terminal_.output_closed = true;
  const Outcome unread = naru({"consume", "t", "--follow"});
  EXPECT_EQ(unread.exit_code, 0);
  EXPECT_EQ(unread.error, "");
}

TEST_F(CommandsTest, WhatDoesNotExistIsNamed) {
  for (const auto& words : {std::vector<std::string>{"consume", "nope"}, {"topic", "describe", "nope"}}) {
    const Outcome missing = naru(words);
    EXPECT_EQ(missing.exit_code, 1);
    EXPECT_NE(missing.error.find("topic nope: there is no such topic"), std::string::npos) << missing.error;
  }
  naru({"topic", "create", "t", "--partitions", "2"});
  EXPECT_NE(naru({"consume", "t", "--partition", "7"}).error.find("topic t has no partition 7: it has 0 to 1"),
            std::string::npos);
  EXPECT_NE(naru({"produce", "t", "--partition", "7"}, "x\n").error.find("topic t has no partition 7"),
            std::string::npos);
  EXPECT_NE(naru({"produce", "a b"}, "x\n").error.find("INVALID_TOPIC_EXCEPTION"), std::string::npos);
  EXPECT_NE(naru({"produce", "t", "--file", "/nowhere"}).error.find("/nowhere"), std::string::npos);
  EXPECT_EQ(naru({"consume", "t", "--format", "{vlaue}"}).exit_code, 2);
}

TEST_F(CommandsTest, WithJsonErrorsAreJson) {
  const Outcome missing = naru({"consume", "nope", "--json"});
  EXPECT_TRUE(
      missing.error.starts_with("{\"error\":{\"code\":\"UNKNOWN_TOPIC_OR_PARTITION\",\"message\":\"topic nope:"))
      << missing.error;
}

TEST_F(CommandsTest, TheStateOfTheCluster) {
  naru({"topic", "create", "t", "--partitions", "2"});
  const std::string status = naru({"cluster", "status"}).output;
  EXPECT_NE(status.find("1 broker, 1 topic, 2 partitions; all partitions are in order"), std::string::npos) << status;
  EXPECT_NE(status.find("broker:9092"), std::string::npos) << status;
  const std::string json = naru({"cluster", "status", "--json"}).output;
  EXPECT_NE(json.find("\"offline_partitions\": 0"), std::string::npos) << json;
}

TEST_F(CommandsTest, TheDoctorFindsAHealthyBroker) {
  ASSERT_TRUE(seams().files.create_directories("/trial").ok());
  const Outcome healthy = naru({"doctor", "--data", "/trial"});
  EXPECT_EQ(healthy.exit_code, 0) << healthy.output;
  for (const char* line : {"ok    reach broker:9092", "ok    protocol", "ok    broker 1 at broker:9092",
                           "ok    sync in /trial", "ok    space in /trial", "ok    open files"})
    EXPECT_NE(healthy.output.find(line), std::string::npos) << healthy.output;
  EXPECT_TRUE(seams().files.list("/trial")->empty()) << "it tidies up";
  EXPECT_EQ(naru({"doctor", "--data", "/missing"}).exit_code, 1);
}

TEST_F(CommandsTest, WithoutABrokerTheMessageSaysWhatToDo) {
  world_.network().options.refuse_one_in = 1;
  const Outcome refused = naru({"topic", "list"});
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_NE(refused.error.find("Is a broker running there?"), std::string::npos) << refused.error;
  EXPECT_EQ(naru({"doctor"}).exit_code, 1);
  world_.network().options.refuse_one_in = 0;
}

TEST_F(CommandsTest, ConsumingGoesOnWhereAConnectionBroke) {
  std::string lines;
  for (int i = 0; i < 2000; ++i) lines += std::to_string(i) + "\n";
  naru({"topic", "create", "t", "--partitions", "1"});
  EXPECT_EQ(naru({"produce", "t"}, lines).exit_code, 0);
  int whole = 0, complaints = 0;
  for (int i = 0; i < 30; ++i) {
    world_.network().options.cut_one_in = 20;
    const Outcome read = naru({"consume", "t"});
    world_.network().options.cut_one_in = 0;
    if (read.exit_code != 0) continue;  // cut before it had begun
    EXPECT_EQ(read.output, lines);
    ++whole;
    if (read.error.find("trying again") != std::string::npos) ++complaints;
  }
  EXPECT_GT(whole, 0);
  EXPECT_GT(complaints, 0) << "no connection was cut while it read: the test tests nothing";
}

}  // namespace
}  // namespace naru::command_line
