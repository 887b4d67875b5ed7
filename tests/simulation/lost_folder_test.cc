// Replicas whose data was lost, or replaced by an older copy, while nobody looked: power fails everywhere, the one that
// has lost data is back first, and the others must not lose what they have by following it.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "broker/hosted_partitions.h"
#include "client/offsets.h"
#include "foundation/canary_testing.h"
#include "simulation/cluster_scenario.h"

namespace naru::simulation {
namespace {

const std::string kTopic = "orders";

// The durable contents of a folder.
class Snapshot {
 public:
  Snapshot(SimulatedFileSystem& disk, std::string folder) : folder_(std::move(folder)) { take(disk, folder_); }

  // The folder becomes what it was.
  void restore(SimulatedFileSystem& disk) const {
    if (disk.exists(folder_).value()) EXPECT_TRUE(remove_recursively(disk, folder_).ok());
    for (const std::string& path : folders_) EXPECT_TRUE(disk.create_directories(path).ok());
    for (const auto& [path, content] : files_) {
      const auto file = disk.open(path, OpenMode::create_new);
      EXPECT_TRUE(file && (*file)->write_at(0, content).ok() && (*file)->sync_data().ok());
    }
    for (const std::string& path : folders_) EXPECT_TRUE(disk.sync_directory(path).ok());
    EXPECT_TRUE(disk.sync_directory(parent()).ok());
  }

 private:
  void take(SimulatedFileSystem& disk, const std::string& folder) {
    folders_.push_back(folder);
    for (const DirectoryEntry& entry : disk.list(folder).value()) {
      const std::string path = folder + "/" + entry.name;
      if (entry.is_directory) {
        take(disk, path);
      } else {
        files_.emplace(path, disk.durable_content(path));
      }
    }
  }
  std::string parent() const {
    const size_t slash = folder_.rfind('/');
    return slash == 0 ? "/" : folder_.substr(0, slash);
  }

  std::string folder_;
  std::vector<std::string> folders_;
  std::map<std::string, Bytes> files_;
};

class LostFolder : public testing::Test {
 protected:
  PartitionState state() { return scenario_->stored(kTopic); }
  // A member of the in-sync set that does not lead.
  BrokerId victim() {
    const PartitionState now = state();
    return *std::ranges::find_if(now.replicas, [&now](BrokerId id) { return id != now.leader; });
  }
  Task<bool> all_in_sync() {
    co_return co_await scenario_->comes_true([&] { return state().isr.size() == 3; }, 30s);
  }
  // While records are produced.
  Task<void> restart(BrokerId id) {
    EXPECT_TRUE((co_await scenario_->broker(id).stop_cleanly()).ok());
    co_await scenario_->broker(id).start();
    EXPECT_TRUE(co_await all_in_sync());
    co_await scenario_->pause(1s);
  }
  SimulatedFileSystem& disk(BrokerId id) { return scenario_->broker(id).node().disk(); }
  void cut_power_everywhere() {
    for (const auto& broker : scenario_->cluster().brokers()) broker->cut_power();
  }
  Task<void> produce_for(Duration length) {
    scenario_->start_producing(kTopic);
    co_await scenario_->pause(length);
    co_await scenario_->stop_producing();
  }
  // The victim has a long time to do harm before the others are there.
  Task<void> return_with(BrokerId first) {
    co_await scenario_->pause(5s);  // the sessions end
    co_await scenario_->broker(first).start();
    led_alone_ = co_await scenario_->comes_true([&] { return scenario_->leads(first, kTopic); }, 10s);
    co_await scenario_->cluster().start_all();
    all_in_sync_ = co_await all_in_sync();
    co_await scenario_->pause(5s);
  }
  Task<size_t> readable() {
    const client::TopicPartition name{kTopic, PartitionIndex(0)};
    // Finds the leader.
    [[maybe_unused]] const auto ends = co_await client::list_offsets(scenario_->client(), {name}, client::kLatest);
    co_return (co_await scenario_->read_all(kTopic)).size();
  }

  // Runs the story, which ends with return_with(), with a planted bug or none. The result: acknowledged records that
  // cannot be read any more.
  size_t lost_by(std::function<Task<void>()> story, Canary canary = Canary::none, int data_folders = 1) {
    const PlantedCanary planted(canary);
    scenario_.emplace(1, data_folders);
    size_t lost = 0;
    scenario_->run([&]() -> Task<void> {
      co_await scenario_->create_topic(kTopic, 1);
      co_await story();
      EXPECT_EQ(scenario_->failed(), 0);
      lost = static_cast<size_t>(scenario_->delivered()) - co_await readable();
    });
    return lost;
  }
  void expect_self_healed() const {
    EXPECT_FALSE(led_alone_);
    EXPECT_TRUE(all_in_sync_);
  }

  std::optional<ClusterScenario> scenario_;
  bool led_alone_ = false;
  bool all_in_sync_ = false;
};

TEST_F(LostFolder, OfOneReplicaDoesNotEmptyTheOthers) {
  const auto story = [this]() -> Task<void> {
    co_await produce_for(2s);
    const BrokerId lost = victim();
    cut_power_everywhere();
    EXPECT_TRUE(remove_recursively(disk(lost), "/data/orders-0").ok());
    EXPECT_TRUE(disk(lost).sync_directory("/data").ok());
    co_await return_with(lost);
  };
  EXPECT_EQ(lost_by(story), 0u);
  expect_self_healed();
  EXPECT_GT(lost_by(story, Canary::lost_folder_begins_empty), 100u);
}

TEST_F(LostFolder, OfAllReplicasKeepsThePartitionOfflineUntilAnOperatorDecides) {
  const auto story = [this]() -> Task<void> {
    co_await produce_for(1s);
    const Snapshot snapshot(disk(BrokerId(2)), "/data/orders-0");
    cut_power_everywhere();
    for (const auto& broker : scenario_->cluster().brokers()) {
      EXPECT_TRUE(remove_recursively(broker->node().disk(), "/data/orders-0").ok());
      EXPECT_TRUE(broker->node().disk().sync_directory("/data").ok());
    }
    co_await scenario_->pause(5s);
    co_await scenario_->cluster().start_all();
    co_await scenario_->pause(20s);
    EXPECT_EQ(state().leader, kNoBroker);
    const HostedPartitions& hosted = scenario_->broker(BrokerId(2)).broker().partitions();
    const Status why = hosted.find(kTopic, PartitionIndex(0)).offline_reason;
    EXPECT_NE(why.message().find("the folder /data/orders-0 is missing"), std::string::npos) << why.to_string();
    // One of them is restored.
    scenario_->broker(BrokerId(2)).kill();
    snapshot.restore(disk(BrokerId(2)));
    EXPECT_TRUE(disk(BrokerId(2)).sync_directory("/data").ok());
    co_await scenario_->broker(BrokerId(2)).start();
    EXPECT_TRUE(co_await all_in_sync());
    co_await scenario_->pause(5s);
  };
  EXPECT_EQ(lost_by(story), 0u);
}

TEST_F(LostFolder, RestoredFromASnapshotDoesNotCutBackTheOthers) {
  const auto story = [this]() -> Task<void> {
    scenario_->start_producing(kTopic);
    co_await scenario_->pause(1s);
    const BrokerId restored = victim();
    const Snapshot snapshot(disk(restored), "/data/orders-0");
    co_await scenario_->pause(2s);
    co_await scenario_->stop_producing();
    cut_power_everywhere();
    snapshot.restore(disk(restored));
    co_await return_with(restored);
  };
  EXPECT_EQ(lost_by(story), 0u);
  expect_self_healed();
  EXPECT_GT(lost_by(story, Canary::shorter_log_counts), 50u);
}

// The whole machine, or its data folder, is restored as it was before the broker was started the last time.
TEST_F(LostFolder, ThatIsAWholeOlderCopyCountsForNothing) {
  const auto story = [this]() -> Task<void> {
    scenario_->start_producing(kTopic);
    co_await scenario_->pause(1s);
    const BrokerId restored = victim();
    const Snapshot snapshot(disk(restored), "/data");
    co_await restart(restored);
    co_await scenario_->stop_producing();
    cut_power_everywhere();
    snapshot.restore(disk(restored));
    co_await return_with(restored);
  };
  EXPECT_EQ(lost_by(story), 0u);
  expect_self_healed();
  EXPECT_GT(lost_by(story, Canary::older_copy_counts), 50u);
}

TEST_F(LostFolder, ThatIsOneOfSeveralAndAnOlderCopyCountsForNothing) {
  const auto story = [this]() -> Task<void> {
    scenario_->start_producing(kTopic);
    co_await scenario_->pause(1s);
    const BrokerId restored = victim();
    const std::string folder = disk(restored).exists("/data/orders-0").value() ? "/data" : "/data2";
    const Snapshot snapshot(disk(restored), folder);
    co_await restart(restored);
    co_await scenario_->stop_producing();
    cut_power_everywhere();
    snapshot.restore(disk(restored));
    co_await return_with(restored);
  };
  EXPECT_EQ(lost_by(story, Canary::none, 2), 0u);
  expect_self_healed();
  EXPECT_GT(lost_by(story, Canary::older_copy_counts, 2), 50u);
}

// All brokers register, and crash before their new epochs are durable in their data folders. Nothing is lost by that.
TEST_F(LostFolder, IsNotSuspectedAfterACrashBetweenRegistrationAndConfirmation) {
  const auto story = [this]() -> Task<void> {
    co_await produce_for(1s);
    const BrokerId first = victim();
    cut_power_everywhere();
    co_await scenario_->pause(5s);
    for (const auto& broker : scenario_->cluster().brokers()) {
      broker->node().disk().fail_nth(FileOperation::write, 1, "naru.properties.tmp");
    }
    co_await scenario_->cluster().start_all();
    const MetadataImage unconfirmed = scenario_->stored();
    for (const auto& [id, known] : unconfirmed.known_brokers()) {
      EXPECT_LT(known.confirmed.at(0).epoch, known.registered_epoch);
    }
    EXPECT_TRUE(co_await all_in_sync());
    cut_power_everywhere();
    co_await scenario_->pause(5s);
    co_await scenario_->broker(first).start();
    EXPECT_TRUE(co_await scenario_->comes_true([&] { return scenario_->leads(first, kTopic); }, 10s));
    const MetadataImage returned = scenario_->stored();
    for (const auto& [id, known] : returned.known_brokers()) EXPECT_TRUE(known.rolled_back.empty());
    co_await scenario_->cluster().start_all();
    EXPECT_TRUE(co_await all_in_sync());
    co_await scenario_->pause(5s);
  };
  EXPECT_EQ(lost_by(story), 0u);
}

// A log that goes bad is told to the controller, which dies; the next one must not elect that replica.
TEST_F(LostFolder, IsKnownToTheNextControllerToo) {
  const auto story = [this]() -> Task<void> {
    co_await produce_for(1s);
    const BrokerId lost = victim();
    cut_power_everywhere();
    EXPECT_TRUE(remove_recursively(disk(lost), "/data/orders-0").ok());
    EXPECT_TRUE(disk(lost).sync_directory("/data").ok());
    co_await scenario_->pause(5s);
    co_await scenario_->broker(lost).start();
    const KnownBroker known = scenario_->stored().known_broker(lost);
    EXPECT_TRUE(known.offline && !known.offline->partitions.empty());
    EXPECT_FALSE(co_await scenario_->comes_true([&] { return scenario_->leads(lost, kTopic); }, 5s));
    // Its session, and with it its office, ends: the same broker becomes another controller.
    scenario_->cluster().coordination().expire(scenario_->broker(lost).node().host());
    co_await scenario_->pause(10s);
    EXPECT_EQ(state().leader, kNoBroker);
    co_await scenario_->cluster().start_all();
    EXPECT_TRUE(co_await all_in_sync());
    co_await scenario_->pause(5s);
  };
  EXPECT_EQ(lost_by(story), 0u);
}

}  // namespace
}  // namespace naru::simulation
