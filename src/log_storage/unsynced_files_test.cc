// Which files a log keeps open, and why: what was not synced yet, so that no failed write-back goes unheard.
#include <gtest/gtest.h>

#include "log_storage/log_storage_testing.h"

namespace naru {
namespace {

class UnsyncedFiles : public testing::Test {
 protected:
  UnsyncedFiles() : log(disk.must_open()) {}

  void append_one() { ASSERT_TRUE(append(*log, numbered_batch(number_++)).has_value()); }
  // Other files push those of the log out of the cache.
  void press() {
    for (int i = 0; i < 8; ++i) {
      ASSERT_TRUE(disk.open_files().open(fmt::format("/other{}", i), OpenMode::create).has_value());
    }
    for (int i = 0; i < 8; ++i) disk.open_files().forget(fmt::format("/other{}", i));
  }
  uint64_t open_under_pressure() {
    press();
    return disk.files().open_files();
  }

  LogOnDisk disk{5};
  std::unique_ptr<PartitionLog> log;
  const QuietLog quiet_;

 private:
  int number_ = 0;
};

TEST_F(UnsyncedFiles, ALogWithNothingNewHoldsNoDescriptor) {
  EXPECT_EQ(open_under_pressure(), 0U);
  append_one();
  ASSERT_TRUE(sync(*log).ok());
  EXPECT_EQ(log->unsynced_files(), 0U);
  EXPECT_EQ(open_under_pressure(), 0U);
  EXPECT_EQ(read_all(*log)->size(), 1U);
}

TEST_F(UnsyncedFiles, AFileWithUnsyncedBytesStaysOpenUntilItIsSynced) {
  append_one();
  EXPECT_EQ(log->unsynced_files(), 1U);
  EXPECT_EQ(open_under_pressure(), 1U);
  ASSERT_TRUE(sync(*log).ok());
  EXPECT_EQ(open_under_pressure(), 0U);
}

TEST_F(UnsyncedFiles, AnAppendDuringASyncKeepsTheFileOpen) {
  append_one();
  SyncWork work = log->begin_sync();
  append_one();
  const Status performed = work.perform();
  ASSERT_TRUE(log->finish_sync(std::move(work), performed).ok());
  EXPECT_EQ(open_under_pressure(), 1U);
  disk.files().fail_write_back(LogOnDisk::segment(0));
  EXPECT_EQ(sync(*log), ErrorCode::log_offline);
}

TEST_F(UnsyncedFiles, AFailedWriteBackIsHeardOfInSpiteOfPressure) {
  append_one();
  press();
  disk.files().fail_write_back(LogOnDisk::segment(0));
  press();
  EXPECT_EQ(sync(*log), ErrorCode::log_offline);
  EXPECT_EQ(log->durable_end(), Offset(0));
  EXPECT_EQ(open_under_pressure(), 0U) << "an offline log has nothing to wait for";
}

TEST_F(UnsyncedFiles, AFailedWriteBackIsHeardOfAfterTheFileWasClosedAndOpenedAgain) {
  append_one();
  ASSERT_TRUE(sync(*log).ok());
  ASSERT_EQ(open_under_pressure(), 0U);
  append_one();
  press();
  disk.files().fail_write_back(LogOnDisk::segment(0));
  EXPECT_EQ(sync(*log), ErrorCode::log_offline);
  EXPECT_EQ(log->durable_end(), Offset(2));
}

TEST_F(UnsyncedFiles, AFailedWriteBackOfASealedSegmentIsHeardOf) {
  while (log->segment_count() == 1) append_one();
  press();
  disk.files().fail_write_back(LogOnDisk::segment(0));
  EXPECT_EQ(sync(*log), ErrorCode::log_offline);
}

TEST_F(UnsyncedFiles, ASegmentThatIsSealedDuringASyncIsSyncedOnceMore) {
  append_one();
  SyncWork work = log->begin_sync();
  const Status performed = work.perform();
  while (log->segment_count() == 1) append_one();
  ASSERT_TRUE(log->finish_sync(std::move(work), performed).ok());
  press();
  disk.files().fail_write_back(LogOnDisk::segment(0));
  EXPECT_EQ(sync(*log), ErrorCode::log_offline);
}

TEST_F(UnsyncedFiles, WithoutADescriptorForItsFileTheLogStaysAsItWas) {
  append_one();
  ASSERT_TRUE(sync(*log).ok());
  press();
  disk.files().set_open_file_limit(0);
  EXPECT_EQ(append(*log, numbered_batch(7)).error(), ErrorCode::too_many_open_files);
  EXPECT_EQ(read_all(*log).error(), ErrorCode::too_many_open_files);
  EXPECT_FALSE(log->offline());
  disk.files().set_open_file_limit(100);
  append_one();
  ASSERT_TRUE(sync(*log).ok());
  EXPECT_EQ(read_all(*log)->size(), 2U);
}

TEST_F(UnsyncedFiles, ClosingALogWithNothingNewSyncsNothing) {
  append_one();
  ASSERT_TRUE(log->close().ok());
  log = disk.must_open(true);
  const uint64_t before = disk.files().mutations();
  ASSERT_TRUE(log->close().ok());
  EXPECT_EQ(disk.files().mutations(), before);
  log = nullptr;
  disk.crash(Unsynced::lost);
  log = disk.must_open(true);
  EXPECT_EQ(read_all(*log)->size(), 1U);
}

// A topic is deleted and made again while somebody still has the old log.
TEST_F(UnsyncedFiles, AnAbandonedLogLeavesNoFileToItsSuccessor) {
  append_one();
  log->abandon();
  const auto old = std::move(log);
  EXPECT_EQ(disk.open_files().size(), 0U);
  EXPECT_EQ(disk.files().open_files(), 0U);
  ASSERT_TRUE(disk.files().rename(kTestFolder, "/t-0.deleted").ok());
  ASSERT_TRUE(disk.files().create_directories(kTestFolder).ok());
  ASSERT_TRUE(fill_new_partition_folder(disk.files(), kTestFolder, kTestTopic).ok());
  log = disk.must_open();
  EXPECT_EQ(log->end_offset(), Offset(0));
  append_one();
  EXPECT_GT(disk.files().content(LogOnDisk::segment(0)).size(), 0U);
}

TEST_F(UnsyncedFiles, ALogThatCouldNotBeOpenedLeavesNoFileToItsSuccessor) {
  append_one();
  ASSERT_TRUE(log->close().ok());
  log = nullptr;
  disk.files().flip_bit(LogOnDisk::segment(0), 70, 0);
  ASSERT_EQ(disk.open(false).error(), ErrorCode::corrupt_data);
  EXPECT_EQ(disk.open_files().size(), 0U);
}

}  // namespace
}  // namespace naru
