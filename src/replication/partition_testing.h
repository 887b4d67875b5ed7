// For tests of partitions: syncs that happen when the test says so.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "log_storage/durability_service.h"
#include "log_storage/partition_log.h"
#include "log_storage/sync_work.h"
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

}  // namespace naru
