// What compaction may count on: with the loose rule, a power cut takes what is not synced.
#include "replication/partition_compaction.h"

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <string>

#include "foundation/canary_testing.h"
#include "log_storage/compaction_testing.h"
#include "platform/simulated/simulated_world.h"
#include "replication/partition_testing.h"

namespace naru {
namespace {

class PartitionCompaction : public testing::Test {
 protected:
  void open() {
    partition_ = open_test_partition(
        node_.disk(), open_files_.emplace_back(node_.disk(), 4),
        {process_->seams().clock, process_->seams().scheduler, durabilities_.emplace_back(), unsynced_logs_},
        {{"cleanup.policy", "compact"},
         {"segment.bytes", "150"},
         {"min.cleanable.dirty.ratio", "0"},
         {"flush.messages", "1000000"}});
    ASSERT_NE(partition_, nullptr);
    ASSERT_TRUE(node_.disk().sync_directory("/").ok());
  }
  void put(std::string_view key, std::string_view value) {
    BatchBuilder builder;
    builder.add(1000, key, value);
    SharedBytes batch(builder.build().value());
    auto validated = validate_produced_batch(batch.view(), {}, 1000);
    const auto group = std::make_shared<AppendGroup>(1);
    partition_->append({std::move(batch), *validated, Acks::leader}, group, 0);
    ASSERT_TRUE(group->finished() && group->result(0).status.ok());
  }
  void sync() {
    durabilities_.back().make_durable(partition_, partition_->log().end_offset());
    durabilities_.back().sync();
  }
  void compact() {
    const auto task = [this]() -> Task<void> {
      const auto done = co_await compact_partition(partition_, {.clock = process_->seams().clock,
                                                                .scheduler = process_->seams().scheduler,
                                                                .hash_key = {1, 2},
                                                                .map_bytes = 1 << 16,
                                                                .stopped = {}});
      EXPECT_TRUE(done.has_value()) << done.error().to_string();
    };
    world_.run_task(task());
  }
  // "k" has a value that is synced and a newer one that is not; power is cut after a compaction. Each is in a segment
  // of its own, because what is written anew together with others is synced by that.
  std::map<std::string, std::string> left_after_power_cut() {
    open();
    put("k", "synced");
    sync();
    for (const std::string_view key : {"k", "x", "y"}) put(key, std::string(200, '-'));
    compact();
    node_.disk().crash(Unsynced::lost);
    partition_ = nullptr;
    open();
    return replay(read_records(partition_->log()).value());
  }

  SimulatedWorld world_{1};
  SimulatedNode& node_ = world_.add_node("broker");
  std::unique_ptr<SimulatedProcess> process_ = node_.start();
  std::deque<OpenFiles> open_files_;
  std::deque<ManualDurability> durabilities_;
  MetricsRegistry metrics_;
  UnsyncedLogs unsynced_logs_{{.sync_beyond = 100, .full = 200}, metrics_};
  std::shared_ptr<Partition> partition_;
};

TEST_F(PartitionCompaction, RemovesNothingForTheSakeOfRecordsThatAreNotSynced) {
  EXPECT_EQ(left_after_power_cut().at("k"), "synced");
}

TEST_F(PartitionCompaction, ThatCountsOnWhatIsNotSyncedIsNoticed) {
  const PlantedCanary planted(Canary::compacts_unsynced);
  EXPECT_TRUE(left_after_power_cut().empty());
}

TEST_F(PartitionCompaction, GoesAsFarAsIsSynced) {
  open();
  for (int i = 0; i < 6; ++i) put("k", "v");
  compact();
  EXPECT_EQ(read_records(partition_->log())->size(), 6u);
  sync();
  compact();
  EXPECT_LT(read_records(partition_->log())->size(), 4u);
}

}  // namespace
}  // namespace naru
