#include "broker/partition_keeper.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "cluster_control/create_topics.h"
#include "cluster_control/metadata_bench.h"
#include "coordination_store/simulated/run_in_world.h"
#include "foundation/canary_testing.h"
#include "platform/simulated/simulated_world.h"
#include "record_format/batch_builder.h"

namespace naru {
namespace {

class NoProposals final : public IsrProposals {
 public:
  void propose(std::shared_ptr<Partition>, IsrProposal) override {}
};
class NoObserver final : public OfflineLogObserver {
 public:
  void offline_logs_changed() override {}
};

// A broker with data in /data, from its start to its end: what it has besides partitions does not matter here.
class Life {
 public:
  Life(SimulatedWorld& world, SimulatedNode& node, const BrokerConfig& config)
      : world_(world), process_(node.start()), config_(config), open_files_(process_->seams().files, 100) {
    std::vector<std::unique_ptr<LogDirectory>> directories;
    const Seams seams = process_->seams();
    directories.push_back(LogDirectory::open(seams.files, "/data", config.node_id, seams.random).value());
    was_clean_ = directories.front()->was_clean_shutdown();
    keeper_ =
        std::make_unique<PartitionKeeper>(seams, config_, live_config_, metrics_, open_files_, unsynced_logs_, hosted_,
                                          std::move(directories), ProducerRules(), proposals_, contact_, observer_);
    EXPECT_TRUE(run_in(world_, keeper_->recover_folders()).ok());
  }

  void take_roles(MetadataImagePtr image, bool may) { world_.run_task(keeper_->take_roles(std::move(image), may)); }
  void follow(MetadataImagePtr image) {
    [[maybe_unused]] const auto deleted = run_in(world_, keeper_->follow(std::move(image)));
  }
  void start(const MetadataImagePtr& image) {
    take_roles(image, true);
    follow(image);
    world_.run_task(keeper_->begin_journals());
  }
  Status close() { return run_in(world_, keeper_->close()); }

  PartitionKeeper& keeper() { return *keeper_; }
  bool was_clean() const { return was_clean_; }
  HostedPartition partition(int index) { return hosted_.find("orders", PartitionIndex(index)); }
  bool leads(int index) { return partition(index).partition->is_leader(); }
  int64_t end_of(int index) {
    int64_t end = -1;
    world_.run_task(look(*partition(index).partition, end));
    return end;
  }
  void append(int index, Acks acks = Acks::all_in_sync) {
    BatchBuilder builder;
    builder.add(1000, std::nullopt, "value");
    SharedBytes batch(builder.build().value());
    auto validated = validate_produced_batch(batch.view(), {}, 1000);
    const auto group = std::make_shared<AppendGroup>(1);
    partition(index).partition->append({std::move(batch), std::move(*validated), acks}, group, 0);
    EXPECT_TRUE(world_.run_until([&group] { return group->finished(); }, 10s));
    EXPECT_TRUE(group->result(0).status.ok()) << group->result(0).status.to_string();
  }

  // There is no room for what the truncation writes first.
  void truncate_on_full_disk(int index, SimulatedFileSystem& disk) {
    disk.fail_nth(FileOperation::write, 1, fmt::format("orders-{}/checkpoint", index), ErrorCode::disk_full);
    world_.run_task(truncate(*partition(index).partition));
    EXPECT_TRUE(partition(index).partition->offline()) << "the fault was not met";
  }

 private:
  static Task<void> truncate(Partition& partition) {
    const auto truncated = co_await partition.with_log([](const LogAccess& access) -> Result<Unit> {
      NARU_TRY(access.log.truncate_to(access.log.end_offset() - 1));
      return Unit{};
    });
    EXPECT_FALSE(truncated.has_value());
  }
  static Task<void> look(Partition& partition, int64_t& end) {
    const auto found = co_await partition.with_log(
        [](const LogAccess& access) -> Result<int64_t> { return access.log.end_offset().value(); });
    end = found ? *found : -1;
  }

  SimulatedWorld& world_;
  std::unique_ptr<SimulatedProcess> process_;
  const BrokerConfig& config_;
  LiveConfig live_config_{config_};
  MetricsRegistry metrics_;
  OpenFiles open_files_;
  UnsyncedLogs unsynced_logs_{{.sync_beyond = 100, .full = 200}, metrics_};
  HostedPartitions hosted_;
  NoProposals proposals_;
  NoObserver observer_;
  ClusterContact contact_{1000s, process_->seams().clock.now()};
  std::unique_ptr<PartitionKeeper> keeper_;
  bool was_clean_ = false;
};

class PartitionKeeperTest : public testing::Test {
 protected:
  PartitionKeeperTest() {
    CreateTopicsPlanner planner({{{.name = "orders", .partition_count = 2, .replication_factor = 1}}, false}, config_,
                                0);
    bench_.run(planner);
  }
  MetadataImagePtr image() { return *bench_.rebuild(); }
  std::unique_ptr<Life> live() { return std::make_unique<Life>(world_, node_, config_); }
  // The power fails; nothing that was not synced is left.
  void die(std::unique_ptr<Life>& life) {
    node_.crash(Unsynced::lost);
    ignore(life->close());
    life.reset();
  }

  SimulatedWorld world_{1};
  SimulatedNode& node_ = world_.add_node("broker");
  const BrokerConfig config_ = *make_broker_config({{"node.id", "0"}, {"log.dirs", "/data"}});
  MetadataBench bench_{1};
};

// An earlier incarnation of this broker may be what the image means.
TEST_F(PartitionKeeperTest, GivesNoRolesBeforeTheRegistrationIsSettled) {
  auto life = live();
  life->follow(image());
  life->take_roles(image(), false);
  EXPECT_FALSE(life->leads(0));
  life->take_roles(image(), true);
  EXPECT_TRUE(life->leads(0));
  EXPECT_TRUE(life->close().ok());
}

TEST_F(PartitionKeeperTest, OpensPartitionsWithoutRolesBeforeTheRegistrationIsSettled) {
  auto life = live();
  life->take_roles(image(), false);
  life->follow(image());
  EXPECT_FALSE(life->leads(0));
  life->take_roles(image(), true);
  EXPECT_TRUE(life->leads(0));
  EXPECT_TRUE(life->close().ok());
}

// The journal is emptied when every log has been opened with what it holds, and not earlier.
TEST_F(PartitionKeeperTest, KeepsTheJournalForALogThatCannotBeOpened) {
  auto life = live();
  life->start(image());
  life->append(0);  // the journal is made
  world_.run_for(1s);
  for (int i = 0; i < 3; ++i) life->append(0);
  die(life);

  node_.disk().fail_nth(FileOperation::read, 1, "orders-0/checkpoint");
  life = live();
  EXPECT_EQ(life->keeper().unusable().size(), 1u);
  life->start(image());
  EXPECT_FALSE(life->partition(0));
  die(life);

  life = live();
  life->start(image());
  EXPECT_EQ(life->end_of(0), 4);
  EXPECT_TRUE(life->close().ok());
}

TEST_F(PartitionKeeperTest, LeavesNoMarkOfACleanShutdownBesideALogThatItCouldNotOpen) {
  auto life = live();
  life->start(image());
  life->append(0);
  die(life);

  node_.disk().fail_nth(FileOperation::read, 1, "orders-0/checkpoint");
  life = live();
  EXPECT_FALSE(life->was_clean());
  life->start(image());
  EXPECT_FALSE(life->partition(0));
  EXPECT_TRUE(life->close().ok());
  life.reset();

  life = live();
  EXPECT_FALSE(life->was_clean()) << "the next start has to look at every batch of that log";
  life->start(image());
  EXPECT_TRUE(life->close().ok());
  life.reset();
  life = live();
  EXPECT_TRUE(life->was_clean());
  EXPECT_TRUE(life->close().ok());
}

TEST_F(PartitionKeeperTest, KeepsAPartitionOfflineWhoseFolderIsMissing) {
  auto life = live();
  life->start(image());
  life->append(0);
  EXPECT_TRUE(life->close().ok());
  life.reset();
  ASSERT_TRUE(remove_recursively(node_.disk(), "/data/orders-0").ok());

  life = live();
  EXPECT_EQ(life->keeper().unusable().size(), 1u);
  life->start(image());
  EXPECT_FALSE(life->partition(0)) << "it is the only replica";
  EXPECT_NE(life->partition(0).offline_reason.message().find("/data/orders-0 is missing"), std::string::npos);
  EXPECT_TRUE(life->partition(1));
  life->follow(image());
  EXPECT_FALSE(life->partition(0)) << "nothing has changed";
  EXPECT_FALSE(node_.disk().exists("/data/orders-0").value());
  EXPECT_TRUE(life->close().ok());
  life.reset();

  // The way out that the message names.
  const std::string manifest(as_text(node_.disk().content("/data/partition-folders")));
  const size_t line = manifest.find(" 0 orders\n");
  const size_t begin = manifest.rfind('\n', line) + 1;
  const std::string without = manifest.substr(0, begin) + manifest.substr(manifest.find('\n', line) + 1);
  const auto file = node_.disk().open("/data/partition-folders", OpenMode::write).value();
  ASSERT_TRUE(file->truncate(0).ok() && file->write_at(0, as_bytes(without)).ok());
  life = live();
  life->start(image());
  EXPECT_EQ(life->end_of(0), 0);
  EXPECT_TRUE(life->close().ok());
}

TEST_F(PartitionKeeperTest, KeepsALogOfflineThatEndsBeforeWhatWasNoted) {
  auto life = live();
  life->start(image());
  life->append(0);
  world_.run_for(1s);
  const Bytes checkpoint = node_.disk().content("/data/orders-0/checkpoint");
  const Bytes segment = node_.disk().content("/data/orders-0/00000000000000000000.log");
  life->keeper().start_noting();
  life->append(0);
  life->append(0);
  world_.run_for(3s);
  EXPECT_TRUE(life->close().ok());
  life.reset();
  for (const auto& [name, content] : {std::pair("checkpoint", checkpoint), {"00000000000000000000.log", segment}}) {
    const auto file = node_.disk().open(fmt::format("/data/orders-0/{}", name), OpenMode::write).value();
    ASSERT_TRUE(file->truncate(0).ok() && file->write_at(0, content).ok() && file->sync_data().ok());
  }
  life = live();
  EXPECT_EQ(life->keeper().unusable().size(), 1u);
  life->start(image());
  EXPECT_FALSE(life->partition(0));
  EXPECT_NE(life->partition(0).offline_reason.message().find("was durable up to offset 3"), std::string::npos)
      << life->partition(0).offline_reason.to_string();
  EXPECT_TRUE(life->partition(1));
  EXPECT_TRUE(life->close().ok());
}

TEST_F(PartitionKeeperTest, OpensALogAgainThatWentOfflineBecauseTheDiskWasFull) {
  auto life = live();
  life->start(image());
  for (int i = 0; i < 3; ++i) life->append(0);
  life->truncate_on_full_disk(0, node_.disk());
  EXPECT_TRUE(life->keeper().wants_another_try());
  life->follow(image());
  EXPECT_FALSE(life->keeper().wants_another_try());
  EXPECT_EQ(life->keeper().take_reopened().size(), 1u);
  ASSERT_TRUE(life->partition(0));
  EXPECT_TRUE(life->leads(0));
  EXPECT_EQ(life->end_of(0), 3);
  life->append(0);
  die(life);
  life = live();
  life->start(image());
  EXPECT_EQ(life->end_of(0), 4) << "what was acknowledged, before and after";
  EXPECT_TRUE(life->close().ok());
}

TEST_F(PartitionKeeperTest, TriesALogAgainUntilThereIsRoomAndLeavesNoMarkOfACleanShutdownMeanwhile) {
  auto life = live();
  life->start(image());
  EXPECT_TRUE(life->close().ok());
  life.reset();
  life = live();
  EXPECT_TRUE(life->was_clean());
  life->start(image());
  for (int i = 0; i < 3; ++i) life->append(0);
  life->truncate_on_full_disk(0, node_.disk());
  for (int i = 0; i < 2; ++i) {
    node_.disk().fail_nth(FileOperation::open, 1, "orders-0", ErrorCode::too_many_open_files);
    life->follow(image());
    EXPECT_FALSE(life->partition(0));
    EXPECT_TRUE(life->keeper().wants_another_try());
  }
  EXPECT_TRUE(life->close().ok());
  life.reset();
  life = live();
  EXPECT_FALSE(life->was_clean()) << "that log was written to, and not closed in order";
  life->start(image());
  EXPECT_EQ(life->end_of(0), 3);
  EXPECT_TRUE(life->close().ok());
}

TEST_F(PartitionKeeperTest, LeavesALogOfflineWhoseFilesCannotBeSynced) {
  auto life = live();
  life->start(image());
  life->append(0);
  life->truncate_on_full_disk(0, node_.disk());
  node_.disk().fail_nth(FileOperation::sync_directory, 1, "orders-0", ErrorCode::disk_full);
  life->follow(image());
  EXPECT_TRUE(life->partition(0) && life->partition(0).partition->offline());
  EXPECT_FALSE(life->keeper().wants_another_try()) << "nobody knows what is on the disk";
  EXPECT_FALSE(life->close().ok());
}

// A leader that began anew in its epoch would not know what it has proposed.
class ReplicatedKeeperTest : public PartitionKeeperTest {
 protected:
  ReplicatedKeeperTest() {
    CreateTopicsPlanner planner({{{.name = "orders", .assignments = {{0, {BrokerId(0), BrokerId(1)}}}}}, false},
                                config_, 0);
    pair_.run(planner);
  }
  MetadataImagePtr image() { return *pair_.rebuild(); }
  // Whether it is served again although the controller does not know that it was offline.
  bool reopens_unreported(Life& life) {
    life.start(image());
    for (int i = 0; i < 3; ++i) life.append(0, Acks::leader);
    life.truncate_on_full_disk(0, node_.disk());
    life.follow(image());
    return life.partition(0) && !life.partition(0).partition->offline();
  }

  MetadataBench pair_{2};
};

TEST_F(ReplicatedKeeperTest, OpensALogAgainAfterTheControllerHasHeardThatItWasOffline) {
  auto life = live();
  EXPECT_FALSE(reopens_unreported(*life));
  EXPECT_TRUE(life->keeper().wants_another_try());
  pair_.tell_offline(BrokerId(0), {{image()->find_topic("orders")->id, PartitionIndex(0)}});
  pair_.settle();
  EXPECT_EQ(image()->find_topic("orders")->partition(PartitionIndex(0))->leader, BrokerId(1));
  life->take_roles(image(), true);
  life->follow(image());
  ASSERT_TRUE(life->partition(0));
  EXPECT_FALSE(life->partition(0).partition->offline());
  EXPECT_FALSE(life->leads(0));
  EXPECT_EQ(life->end_of(0), 3);
  EXPECT_TRUE(life->close().ok());
}

TEST_F(ReplicatedKeeperTest, NoticesOneThatIsOpenedAgainUnreported) {
  const PlantedCanary planted(Canary::reopened_unreported);
  auto life = live();
  EXPECT_TRUE(reopens_unreported(*life));
  EXPECT_TRUE(life->close().ok());
}

}  // namespace
}  // namespace naru
