// For tests of partitions: one on a simulated disk, and syncs that happen when the test says so.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "log_storage/durability_service.h"
#include "log_storage/partition_folder.h"
#include "log_storage/partition_log.h"
#include "log_storage/sync_work.h"
#include "replication/partition.h"
#include "replication/partition_assignment.h"

namespace naru {

// The only replica leads.
inline PartitionAssignment leads_alone(BrokerId self, LeaderEpoch epoch = LeaderEpoch(0)) {
  return {.leader = self, .leader_epoch = epoch, .partition_epoch = 0, .replicas = {self}, .isr = {self}};
}

// Keeps what was asked for until the test lets it happen.
class ManualDurability final : public DurabilityService {
 public:
  void make_durable(std::shared_ptr<DurableLog> log, Offset) override {
    ++asked;
    log_ = std::move(log);
  }
  void make_durable(std::shared_ptr<DurableLog> log, const StoredBatch& batch) override {
    make_durable(std::move(log), batch.end_offset);
  }
  bool sync_lazily(std::shared_ptr<DurableLog>) override { return false; }
  void closed(DurableLog&) override {}
  void sync() {
    SyncWork work = log_->log().begin_sync();
    const Status performed = work.perform();
    ASSERT_TRUE(log_->log().finish_sync(std::move(work), performed).ok());
    log_->on_file_sync_ended(true);
    log_->on_durable(log_->log().durable_end());
  }
  void fail() { log_->on_sync_failed(Status(ErrorCode::disk_full)); }

  int asked = 0;

 private:
  std::shared_ptr<DurableLog> log_;
};

// Partition 0 of topic "t" in the folder /t-0, which is made if it is not there: opened again, it is another life of
// the same log. nullptr, and a failed test, if it cannot be opened.
inline std::shared_ptr<Partition> open_test_partition(
    FileSystem& disk, OpenFiles& open_files, PartitionServices services, const ConfigOverrides& overrides = {},
    const PartitionAssignment& assignment = leads_alone(BrokerId(1))) {
  constexpr Uuid kTopic{3, 4};
  const TopicConfig config = resolve_topic_config(*make_broker_config({}), overrides);
  if (!*disk.exists("/t-0")) {
    EXPECT_TRUE(disk.create_directories("/t-0").ok());
    EXPECT_TRUE(fill_new_partition_folder(disk, "/t-0", kTopic).ok());
  }
  auto opened = PartitionLog::open(disk, open_files, "/t-0", log_config_of(config),
                                   {.topic_id = kTopic, .now = services.clock.wall_now_ms()});
  EXPECT_TRUE(opened.has_value()) << opened.error().to_string();
  if (!opened.has_value()) return nullptr;
  auto partition = std::make_shared<Partition>(PartitionIdentity{"t", kTopic, PartitionIndex(0)},
                                               std::move(opened->log), BrokerId(1), config, services);
  partition->assign(assignment);
  return partition;
}

}  // namespace naru
