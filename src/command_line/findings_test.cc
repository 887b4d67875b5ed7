#include "command_line/findings.h"

#include <gtest/gtest.h>

namespace naru::command_line {
namespace {

const std::vector<Endpoint> kHere{{"127.0.0.1", 9092}};
const std::vector<Endpoint> kElsewhere{{"kafka.example", 9092}};

client::BrokerInfo broker(std::string host) {
  return {.id = BrokerId(1), .address = {std::move(host), 9092}, .rack = {}};
}

TEST(Findings, AnAddressThatNobodyListensAt) {
  const Finding refused = judge_bootstrap({"h", 1}, error(ErrorCode::network_exception, "Connection refused"), 1ms);
  EXPECT_EQ(refused.verdict, Verdict::fail);
  EXPECT_NE(refused.advice.find("naru server"), std::string::npos);
  EXPECT_EQ(judge_bootstrap({"h", 1}, {}, 1ms).verdict, Verdict::ok);
}

TEST(Findings, WhatABrokerAdvertises) {
  EXPECT_EQ(judge_advertised(broker("127.0.0.1"), {}, 1ms, kHere).verdict, Verdict::ok);
  EXPECT_EQ(judge_advertised(broker("kafka.example"), {}, 1ms, kElsewhere).verdict, Verdict::ok);
  const Finding local = judge_advertised(broker("localhost"), {}, 1ms, kElsewhere);
  EXPECT_EQ(local.verdict, Verdict::fail) << "it works by accident, from this machine only";
  EXPECT_NE(local.advice.find("--advertise"), std::string::npos);
  EXPECT_EQ(judge_advertised(broker("0.0.0.0"), {}, 1ms, kElsewhere).verdict, Verdict::fail);
  EXPECT_EQ(judge_advertised(broker("x"), Status(ErrorCode::network_exception, "no"), 1ms, kHere).verdict,
            Verdict::fail);
}

TEST(Findings, ABrokerThatLacksApis) {
  const Finding finding = judge_versions(client::ApiVersions());
  EXPECT_EQ(finding.verdict, Verdict::warn);
  EXPECT_NE(finding.found.find("Fetch"), std::string::npos);
}

TEST(Findings, Clocks) {
  EXPECT_EQ(judge_clock(broker("b"), {.broker = 105, .before = 100, .after = 110}).found, "as here");
  EXPECT_EQ(judge_clock(broker("b"), {.broker = 300, .before = 100, .after = 110}).verdict, Verdict::ok);
  const Finding ahead = judge_clock(broker("b"), {.broker = 30'110, .before = 100, .after = 110});
  EXPECT_EQ(ahead.verdict, Verdict::warn);
  EXPECT_EQ(ahead.found, "30 s ahead of ours");
  EXPECT_EQ(judge_clock(broker("b"), {.broker = 100, .before = 5'100, .after = 5'110}).found, "5.0 s behind ours");
}

TEST(Findings, ListenersThatClientsAndBrokersShare) {
  const auto judge = [](std::string listeners, std::optional<std::string> between_brokers = {}) {
    return judge_listeners(broker("b"), {.listeners = std::move(listeners), .between_brokers = between_brokers});
  };
  EXPECT_EQ(judge("PLAINTEXT://127.0.0.1:9092").verdict, Verdict::ok);
  EXPECT_EQ(judge("PLAINTEXT://0.0.0.0:9092").verdict, Verdict::warn);
  EXPECT_EQ(judge("PLAINTEXT://10.0.0.1:9092", "PLAINTEXT").verdict, Verdict::warn) << "there is no other";
  EXPECT_EQ(judge("A://10.0.0.1:9092,B://10.0.0.1:9093").verdict, Verdict::warn) << "brokers use the first";
  const Finding apart = judge("A://10.0.0.1:9092,B://10.0.0.1:9093", "B");
  EXPECT_EQ(apart.verdict, Verdict::ok);
  EXPECT_EQ(apart.found, "B is for brokers alone");
}

TEST(Findings, FoldersOfABroker) {
  constexpr uint64_t kGiB = 1ull << 30;
  const Findings findings =
      judge_folders(broker("b"), {{.path = "/fine", .total_bytes = 100 * kGiB, .free_bytes = 50 * kGiB},
                                  {.path = "/full", .total_bytes = 100 * kGiB, .free_bytes = 1},
                                  {.path = "/silent"},
                                  {.path = "/broken", .error = ErrorCode::kafka_storage_error}});
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findings[0].check, "space in /full of broker 1");
  EXPECT_EQ(findings[1].verdict, Verdict::fail);
}

TEST(Findings, PartitionsThatAreOffline) {
  client::ClusterMetadata metadata;
  metadata.topics = {{.name = "fine", .partitions = {{.leader = BrokerId(1)}}},
                     {.name = "gone", .partitions = {{.leader = kNoBroker}}},
                     {.name = "thin", .partitions = {{.leader = BrokerId(1), .replicas = {BrokerId(1), BrokerId(2)}}}}};
  const Findings findings = judge_partitions(metadata);
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findings[0].verdict, Verdict::fail);
  EXPECT_EQ(findings[0].found, "1 offline");
  EXPECT_EQ(findings[1].verdict, Verdict::warn);
  EXPECT_EQ(judge_partitions({}).at(0).verdict, Verdict::ok);
}

TEST(Findings, LimitsOfTheSystem) {
  EXPECT_TRUE(judge_system({}).empty()) << "what is unknown is not judged";
  const SystemFacts generous{
      .open_files = UINT64_MAX, .open_files_max = UINT64_MAX, .memory_maps = 65530, .dirty_bytes = 1 << 30};
  for (const Finding& finding : judge_system(generous)) EXPECT_EQ(finding.verdict, Verdict::ok) << finding.check;
  const SystemFacts poor{
      .open_files = 1024, .open_files_max = 4096, .memory_maps = 1000, .dirty_bytes = uint64_t{64} << 30};
  for (const Finding& finding : judge_system(poor)) {
    EXPECT_EQ(finding.verdict, Verdict::warn) << finding.check;
    EXPECT_NE(finding.advice, "") << finding.check;
  }
}

TEST(Findings, TheHardLimitOfDescriptorsCounts) {
  const Findings findings = judge_system({.open_files = 1024, .open_files_max = 1 << 20});
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].verdict, Verdict::ok) << "the broker raises its own";
}

TEST(Findings, Disks) {
  EXPECT_EQ(judge_sync_speed("/d", std::vector<Duration>{1ms, 2ms, 90ms}).verdict, Verdict::ok);
  EXPECT_EQ(judge_sync_speed("/d", std::vector<Duration>{50ms, 60ms, 70ms}).verdict, Verdict::warn);
  EXPECT_EQ(judge_sync_speed("/d", failure(ErrorCode::io_error, "read-only")).verdict, Verdict::fail);
  constexpr uint64_t kGiB = 1ull << 30;
  EXPECT_EQ(judge_space("/d", DiskSpace{100 * kGiB, 50 * kGiB}).verdict, Verdict::ok);
  EXPECT_EQ(judge_space("/d", DiskSpace{100 * kGiB, 5 * kGiB}).verdict, Verdict::warn);
  EXPECT_EQ(judge_space("/d", DiskSpace{100 * kGiB, 1000}).verdict, Verdict::fail);
}

}  // namespace
}  // namespace naru::command_line
