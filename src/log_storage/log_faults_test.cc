// Disks that are full, fail, or run out of descriptors while a log is in use.
#include <gtest/gtest.h>

#include "log_storage/log_storage_testing.h"

namespace naru {
namespace {

class LogFaults : public testing::Test {
 protected:
  LogFaults() : log(disk.must_open()) {}

  Status try_append() {
    batches.push_back(numbered_batch(static_cast<int>(batches.size())));
    const auto outcome = append(*log, batches.back());
    if (outcome) return Status();
    batches.pop_back();
    return outcome.error();
  }
  void append_many(int count) {
    for (int i = 0; i < count; ++i) ASSERT_TRUE(try_append().ok());
  }
  void expect_log_holds_the_batches() {
    const auto found = read_all(*log);
    ASSERT_TRUE(found.has_value()) << found.error().to_string();
    ASSERT_EQ(found->size(), batches.size());
    ASSERT_TRUE(is_prefix(*found, batches));
  }
  void restart_and_expect_the_batches() {
    log = nullptr;
    disk.kill();
    log = disk.must_open();
    expect_log_holds_the_batches();
  }

  LogOnDisk disk{3};
  std::unique_ptr<PartitionLog> log;
  std::vector<TestBatch> batches;
  const QuietLog quiet_;
};

TEST_F(LogFaults, AFullDiskRefusesAppendsAndKeepsTheLogUsable) {
  disk.config.segment_bytes = 1 << 20;
  log->set_config(disk.config);
  append_many(5);
  disk.files().set_capacity(16 * 1024);
  Status status;
  while (status.ok()) status = try_append();
  EXPECT_EQ(status, ErrorCode::disk_full);
  EXPECT_EQ(try_append(), ErrorCode::disk_full);
  EXPECT_FALSE(log->offline());
  expect_log_holds_the_batches();
  disk.files().set_capacity(1 << 30);
  append_many(5);
  ASSERT_TRUE(sync(*log).ok());
  restart_and_expect_the_batches();
}

TEST_F(LogFaults, NothingOfAFailedAppendStaysBehind) {
  append_many(3);
  const size_t size = disk.files().content(LogOnDisk::segment(0)).size();
  for (int i = 0; i < 20; ++i) {
    disk.files().fail_nth(FileOperation::write, 1, ".log", ErrorCode::disk_full);
    EXPECT_EQ(try_append(), ErrorCode::disk_full);
    EXPECT_EQ(disk.files().content(LogOnDisk::segment(0)).size(), size) << "the failed write left a prefix";
  }
}

TEST_F(LogFaults, TemporaryErrorsAtEveryCallOfAnAppendAndARollDoNoHarm) {
  for (const ErrorCode code : {ErrorCode::disk_full, ErrorCode::too_many_open_files}) {
    for (const FileOperation operation : {FileOperation::write, FileOperation::open, FileOperation::create}) {
      for (uint64_t nth = 1; nth <= 12; ++nth) {
        SCOPED_TRACE(fmt::format("{} operation {} nth {}", static_cast<int>(code), static_cast<int>(operation), nth));
        disk.files().fail_nth(operation, nth, "", code);
        for (int i = 0; i < 8; ++i) {
          const Status status = try_append();
          ASSERT_TRUE(status.ok() || status == code) << status.to_string();
        }
        disk.files().clear_faults();
        ASSERT_FALSE(log->offline()) << log->offline_reason().to_string();
      }
    }
  }
  expect_log_holds_the_batches();
  ASSERT_TRUE(sync(*log).ok());
  restart_and_expect_the_batches();
}

TEST_F(LogFaults, AnyOtherFailedWriteIsFinal) {
  append_many(3);
  ASSERT_TRUE(sync(*log).ok());
  disk.files().fail_nth(FileOperation::write, 1, ".log");
  EXPECT_EQ(try_append(), ErrorCode::log_offline);
  EXPECT_TRUE(log->offline());
  EXPECT_EQ(log->offline_reason(), ErrorCode::io_error);
  EXPECT_EQ(try_append(), ErrorCode::log_offline) << "also when the disk would do it now";
  EXPECT_EQ(log->truncate_to(Offset(0)), ErrorCode::log_offline);
  EXPECT_EQ(log->maybe_roll_by_time(1), ErrorCode::log_offline);
  EXPECT_EQ(log->close(), ErrorCode::log_offline);
  expect_log_holds_the_batches();
  restart_and_expect_the_batches();
  append_many(3);
}

TEST_F(LogFaults, AFailedSyncIsFinalWhateverItsReason) {
  append_many(3);
  ASSERT_TRUE(sync(*log).ok());
  append_many(3);
  disk.files().fail_nth(FileOperation::sync_data, 1, ".log", ErrorCode::disk_full);
  EXPECT_EQ(sync(*log), ErrorCode::log_offline);
  EXPECT_EQ(log->durable_end(), Offset(6)) << "the promise of before";
  EXPECT_EQ(try_append(), ErrorCode::log_offline);
  restart_and_expect_the_batches();
}

TEST_F(LogFaults, AFullDiskBeforeTheSyncIsNotFinal) {
  append_many(3);
  disk.files().fail_nth(FileOperation::create, 1, "leader-epoch-checkpoint", ErrorCode::disk_full);
  EXPECT_EQ(sync(*log), ErrorCode::disk_full);
  EXPECT_FALSE(log->offline());
  EXPECT_EQ(log->durable_end(), Offset(0));
  ASSERT_TRUE(sync(*log).ok());
  EXPECT_EQ(log->durable_end(), Offset(6));
  log = nullptr;
  disk.crash(Unsynced::lost);
  log = disk.must_open();
  expect_log_holds_the_batches();
  EXPECT_EQ(log->latest_epoch(), LeaderEpoch(0));
}

TEST_F(LogFaults, AFailedTruncationIsFinalAndRecoverable) {
  append_many(12);
  ASSERT_TRUE(sync(*log).ok());
  for (uint64_t nth = 1; nth <= 3; ++nth) {
    LogOnDisk copy = disk.copy(nth);
    auto other = copy.must_open();
    copy.files().fail_nth(FileOperation::sync_data, nth);
    EXPECT_EQ(other->truncate_to(Offset(6)), ErrorCode::log_offline);
    other = nullptr;
    copy.crash();
    copy.files().clear_faults();
    other = copy.must_open();
    ASSERT_NE(other, nullptr);
    const auto found = read_all(*other);
    ASSERT_TRUE(found.has_value());
    EXPECT_TRUE(is_prefix(*found, batches));
    EXPECT_GE(other->end_offset(), Offset(6));
  }
}

}  // namespace
}  // namespace naru
