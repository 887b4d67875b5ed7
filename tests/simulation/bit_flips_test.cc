// Bits that flip on a disk after they were written: they are found, and come back from another replica, if there is
// one.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "broker/hosted_partitions.h"
#include "client/offsets.h"
#include "client/producer.h"
#include "foundation/canary_testing.h"
#include "simulation/cluster_scenario.h"

namespace naru::simulation {
namespace {

const std::string kTopic = "orders";
constexpr int kKeys = 20;
constexpr uint64_t kFirstRecord = 66;         // behind the header of a segment's first batch
constexpr uint64_t kLengthOfFirstBatch = 10;  // which the CRC does not cover
constexpr uint64_t kEpochOfFirstBatch = 15;   // likewise

class BitFlips : public testing::Test {
 protected:
  PartitionState state() { return scenario_->stored(kTopic); }
  BrokerId follower() {
    const PartitionState now = state();
    return *std::ranges::find_if(now.replicas, [&now](BrokerId id) { return id != now.leader; });
  }
  SimulatedFileSystem& disk(BrokerId id) { return scenario_->broker(id).node().disk(); }
  std::vector<std::string> segments(BrokerId id) {
    auto paths = disk(id).files_below("/data/orders-0");
    std::erase_if(paths, [](const std::string& path) { return !path.ends_with(".log"); });
    return paths;
  }
  Bytes content(BrokerId id) {
    Bytes all;
    for (const std::string& path : segments(id)) append_bytes(all, disk(id).content(path));
    return all;
  }
  bool are_equal() {
    const Bytes one = content(BrokerId(1));
    return content(BrokerId(2)) == one && content(BrokerId(3)) == one;
  }
  // In the third of its segments.
  void flip(BrokerId id, uint64_t position = kFirstRecord) { disk(id).flip_bit(segments(id).at(2), position, 1); }
  Task<bool> all_in_sync() {
    co_return co_await scenario_->comes_true([&] { return state().isr.size() == 3; }, 30s);
  }
  Task<bool> repaired() {
    const bool equal = co_await scenario_->comes_true([&] { return are_equal(); }, 30s);
    co_return co_await all_in_sync() && equal;
  }
  Task<void> produce_for(Duration length) {
    scenario_->start_producing(kTopic);
    co_await scenario_->pause(length);
    co_await scenario_->stop_producing();
    co_await scenario_->pause(1s);
  }
  Task<size_t> readable() {
    const client::TopicPartition name{kTopic, PartitionIndex(0)};
    // Finds the leader.
    [[maybe_unused]] const auto ends = co_await client::list_offsets(scenario_->client(), {name}, client::kLatest);
    co_return (co_await scenario_->read_all(kTopic)).size();
  }
  // Values from one number to another. The result: how many were acknowledged.
  Task<int> produce_keys(int from, int to) {
    int delivered = 0;
    client::Producer producer(scenario_->client(), {.batches = {.linger = 0ms}},
                              [&delivered](const client::Delivery& delivery) {
                                if (delivery.status.ok()) delivered += delivery.records;
                              });
    for (int i = from; i < to; ++i) {
      const std::string key = std::to_string(i % kKeys);
      const std::string value = std::to_string(i);
      EXPECT_TRUE(
          (co_await producer.send(
               kTopic, PartitionIndex(0),
               {.timestamp = scenario_->seams().clock.wall_now_ms(), .key = as_bytes(key), .value = as_bytes(value)}))
              .ok());
      co_await scenario_->pause(10ms);
    }
    co_await producer.flush();
    co_await producer.close();
    co_return delivered;
  }
  std::string metric(BrokerId id, const std::string& name) {
    const std::string page = scenario_->broker(id).broker().metrics().render_prometheus();
    const size_t line = page.find("\n" + name + " ");
    if (line == std::string::npos) return "";
    const size_t value = line + name.size() + 2;
    return page.substr(value, page.find('\n', value) - value);
  }
  // Tells the story with segments of a dozen records. The result: acknowledged records that cannot be read.
  size_t lost_by(std::function<Task<void>()> story, Canary canary = Canary::none) {
    const PlantedCanary planted(canary);
    scenario_.emplace(1);
    size_t lost = 0;
    scenario_->run([&]() -> Task<void> {
      co_await scenario_->create_topic(kTopic, 1, {{"segment.bytes", "1000"}});
      co_await story();
      EXPECT_EQ(scenario_->failed(), 0);
      lost = static_cast<size_t>(scenario_->delivered()) - co_await readable();
    });
    return lost;
  }

  std::optional<ClusterScenario> scenario_;
};

TEST_F(BitFlips, OfAFollowerAreRepairedFromTheLeader) {
  const auto story = [this]() -> Task<void> {
    co_await produce_for(2s);
    const BrokerId damaged = follower();
    const BrokerId leader = state().leader;
    flip(damaged);
    EXPECT_TRUE(co_await repaired());
    EXPECT_EQ(state().leader, leader);
    EXPECT_EQ(metric(damaged, "naru_log_damaged_segments_total"), "1");
    EXPECT_EQ(metric(leader, "naru_log_damaged_segments_total"), "0");
    EXPECT_TRUE(
        co_await scenario_->comes_true([&] { return metric(damaged, "naru_log_damaged_partitions") == "0"; }, 10s));
  };
  EXPECT_EQ(lost_by(story), 0U);
}

TEST_F(BitFlips, OfTheLeaderMakeAnotherOneLeadWhileRecordsAreWritten) {
  const auto story = [this]() -> Task<void> {
    scenario_->start_producing(kTopic);
    co_await scenario_->pause(1s);
    const BrokerId damaged = state().leader;
    flip(damaged);
    EXPECT_TRUE(co_await scenario_->comes_true([&] { return state().leader != damaged; }, 10s));
    co_await scenario_->pause(5s);
    co_await scenario_->stop_producing();
    EXPECT_TRUE(co_await repaired());
  };
  EXPECT_EQ(lost_by(story), 0U);
}

TEST_F(BitFlips, InWhatTheCrcDoesNotCoverAreRepairedToo) {
  for (const uint64_t position : {kLengthOfFirstBatch, kEpochOfFirstBatch}) {
    const auto story = [this, position]() -> Task<void> {
      co_await produce_for(2s);
      flip(follower(), position);
      EXPECT_TRUE(co_await repaired()) << position;
      flip(state().leader, position);
      EXPECT_TRUE(co_await repaired()) << position;
    };
    EXPECT_EQ(lost_by(story), 0U);
  }
}

TEST_F(BitFlips, WhileABrokerIsDownAreFoundWhenItIsBack) {
  const auto story = [this]() -> Task<void> {
    co_await produce_for(2s);
    const BrokerId damaged = follower();
    scenario_->broker(damaged).cut_power();
    flip(damaged);
    co_await scenario_->broker(damaged).start();
    EXPECT_TRUE(co_await repaired());
  };
  EXPECT_EQ(lost_by(story), 0U);
}

// The last segment is read after a power cut: what was promised is damaged, so the log is refused, and not elected.
TEST_F(BitFlips, ThatRecoveryFindsAreRepairedWithoutAPerson) {
  const auto story = [this]() -> Task<void> {
    co_await produce_for(2s);
    const BrokerId damaged = state().leader;
    scenario_->broker(damaged).cut_power();
    disk(damaged).flip_bit(segments(damaged).back(), kFirstRecord, 1);
    co_await scenario_->broker(damaged).start();
    EXPECT_TRUE(co_await repaired());
  };
  EXPECT_EQ(lost_by(story), 0U);
}

TEST_F(BitFlips, InTheOnlyCopyThatIsInSyncWaitForAnotherOne) {
  const auto story = [this]() -> Task<void> {
    co_await produce_for(2s);
    const BrokerId damaged = state().leader;
    for (const auto& broker : scenario_->cluster().brokers()) {
      if (broker->id() != damaged) EXPECT_TRUE((co_await broker->stop_cleanly()).ok());
    }
    EXPECT_TRUE(co_await scenario_->comes_true([&] { return state().isr.size() == 1; }, 30s));
    flip(damaged);
    EXPECT_TRUE(
        co_await scenario_->comes_true([&] { return metric(damaged, "naru_log_damaged_partitions") == "1"; }, 10s));
    const Bytes before = content(damaged);
    co_await scenario_->pause(20s);
    EXPECT_TRUE(scenario_->leads(damaged, kTopic)) << "it goes on";
    EXPECT_TRUE(content(damaged) == before);
    // What is whole is read, and what is not is refused.
    const auto partition = scenario_->broker(damaged).broker().partitions().find(kTopic, PartitionIndex(0)).partition;
    Offset from{0};
    PartitionView view;
    for (;;) {
      view = co_await partition->read({.from = from, .max_bytes = 1 << 20, .at_least_one_batch = true});
      if (!view.status.ok() || view.slice.empty()) break;
      from = view.slice.next_offset;
    }
    EXPECT_EQ(view.status.code(), ErrorCode::corrupt_message);
    EXPECT_GT(from, Offset(10));
    while (!view.status.ok() && from < partition->log().end_offset()) {
      EXPECT_EQ(view.status.code(), ErrorCode::corrupt_message);
      from = from + 1;
      view = co_await partition->read({.from = from, .max_bytes = 1 << 20, .at_least_one_batch = true});
    }
    EXPECT_TRUE(view.status.ok()) << "what is behind the damaged batch can be read";
    EXPECT_FALSE(view.slice.empty());
    co_await scenario_->cluster().start_all();
    EXPECT_TRUE(co_await repaired());
  };
  EXPECT_EQ(lost_by(story), 0U);
}

// The others end just when damage is found, so that the controller does not elect any of them: what is left here is the
// only copy that can be used.
TEST_F(BitFlips, AreCutOffOnlyWhenAnotherInSyncReplicaLeads) {
  const auto segments_lost_with = [this](Canary canary) {
    size_t lost = 0;
    const auto story = [this, &lost]() -> Task<void> {
      co_await produce_for(2s);
      const PartitionState now = state();
      const BrokerId damaged =
          *std::ranges::find_if(now.replicas, [this](BrokerId id) { return id != scenario_->controller(); });
      const size_t before = segments(damaged).size();
      for (const auto& broker : scenario_->cluster().brokers()) {
        if (broker->id() != damaged) broker->cut_power();
      }
      flip(damaged);
      co_await scenario_->pause(30s);
      lost = before - std::min(before, segments(damaged).size());
      EXPECT_TRUE(scenario_->leads(damaged, kTopic));
      co_await scenario_->cluster().start_all();
      EXPECT_TRUE(co_await repaired());
    };
    lost_by(story, canary);
    return lost;
  };
  EXPECT_EQ(segments_lost_with(Canary::none), 0U);
  EXPECT_GT(segments_lost_with(Canary::damage_cut_unasked), 5U);
}

// Compaction fails on a damaged batch; then it is repaired, and goes on.
TEST_F(BitFlips, InACompactedTopicAreRepaired) {
  scenario_.emplace(1);
  scenario_->run([&]() -> Task<void> {
    co_await scenario_->create_topic(kTopic, 1, {{"segment.bytes", "1000"}, {"cleanup.policy", "compact"}});
    EXPECT_EQ(co_await produce_keys(0, 100), 100);
    flip(follower());
    EXPECT_TRUE(co_await scenario_->comes_true([&] { return state().isr.size() == 2; }, 20s));
    EXPECT_TRUE(co_await all_in_sync());
    EXPECT_EQ(co_await produce_keys(100, 200), 100);
    const BrokerId leader = state().leader;
    flip(leader);
    EXPECT_TRUE(co_await scenario_->comes_true([&] { return state().leader != leader; }, 20s));
    EXPECT_TRUE(co_await all_in_sync());
    co_await scenario_->pause(5s);
    std::set<std::string> values;
    const client::TopicPartition name{kTopic, PartitionIndex(0)};
    [[maybe_unused]] const auto ends = co_await client::list_offsets(scenario_->client(), {name}, client::kLatest);
    for (const std::string& value : co_await scenario_->read_all(kTopic)) values.insert(value);
    for (int i = 200 - kKeys; i < 200; ++i) EXPECT_TRUE(values.contains(std::to_string(i))) << i;
    EXPECT_LT(values.size(), 150U) << "it is compacted";
  });
}

}  // namespace
}  // namespace naru::simulation
