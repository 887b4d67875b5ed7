#include "log_storage/file_sync_service.h"

#include <gtest/gtest.h>

#include <deque>

#include "log_storage/log_storage_testing.h"

namespace naru {
namespace {

TEST(GroupCommit, OneSyncRunsAndTheNextCoversWhatCameMeanwhile) {
  GroupCommit commit;
  EXPECT_TRUE(commit.want(Offset(10)));
  EXPECT_FALSE(commit.want(Offset(12)));
  EXPECT_FALSE(commit.want(Offset(11)));
  EXPECT_TRUE(commit.sync_ended(Offset(10), Offset(12)));
  EXPECT_FALSE(commit.sync_ended(Offset(12), Offset(12)));
  EXPECT_FALSE(commit.running());
  EXPECT_TRUE(commit.want(Offset(13)));
}

TEST(GroupCommit, DoesNotSyncForEverForWhatATruncationTookAway) {
  GroupCommit commit;
  EXPECT_TRUE(commit.want(Offset(10)));
  EXPECT_TRUE(commit.sync_ended(Offset(4), Offset(6))) << "the truncated log has grown again";
  EXPECT_FALSE(commit.sync_ended(Offset(6), Offset(6)));
}

TEST(GroupCommit, TellsOfAFailureOnlyIfSomebodyWaits) {
  GroupCommit commit;
  EXPECT_TRUE(commit.want_lazily(Offset(10)));
  EXPECT_FALSE(commit.sync_failed());
  EXPECT_TRUE(commit.want_lazily(Offset(10)));
  EXPECT_FALSE(commit.want(Offset(11)));
  EXPECT_TRUE(commit.sync_ended(Offset(10), Offset(11)));
  EXPECT_TRUE(commit.sync_failed());
  EXPECT_TRUE(commit.want(Offset(10)));
  EXPECT_FALSE(commit.want_lazily(Offset(12)));
  EXPECT_TRUE(commit.sync_ended(Offset(10), Offset(12)));
  EXPECT_FALSE(commit.sync_failed()) << "the one who waited has been told";
}

TEST(GroupCommit, AfterAFailureNothingIsWantedAnyMore) {
  GroupCommit commit;
  EXPECT_TRUE(commit.want(Offset(10)));
  commit.sync_failed();
  EXPECT_TRUE(commit.want(Offset(3)));
  EXPECT_FALSE(commit.sync_ended(Offset(3), Offset(20)));
}

// Blocking work waits here until the test lets it run.
class HandScheduler final : public Scheduler {
 public:
  void post(UniqueFunction<void()>) override { FAIL(); }
  void run_blocking(UniqueFunction<void()> work) override { blocking.push_back(std::move(work)); }
  TimerId start_timer(MonotonicTime, UniqueFunction<void()>) override { return 0; }
  bool cancel_timer(TimerId) override { return false; }

  void run_one() {
    auto work = std::move(blocking.front());
    blocking.pop_front();
    work();
  }
  std::deque<UniqueFunction<void()>> blocking;
};

class TestPartition final : public DurableLog {
 public:
  explicit TestPartition(std::unique_ptr<PartitionLog> log) : log_(std::move(log)) {}
  LogId id() const override { return {kTestTopic, PartitionIndex(0)}; }
  void run_in_strand(UniqueFunction<void()> event) override { event(); }
  PartitionLog& log() override { return *log_; }
  void on_durable(Offset end) override { durable.push_back(end.value()); }
  void on_sync_failed(const Status& reason) override { failures.push_back(reason); }

  std::vector<int64_t> durable;
  std::vector<Status> failures;

 private:
  std::unique_ptr<PartitionLog> log_;
};

class FileSync : public testing::Test {
 protected:
  FileSync() : partition(std::make_shared<TestPartition>(disk.must_open())) {}
  void append_and_ask() {
    ASSERT_TRUE(append(partition->log(), numbered_batch(number++)).has_value());
    service.make_durable(partition, partition->log().end_offset());
  }

  LogOnDisk disk{1};
  HandScheduler scheduler;
  FileSyncService service{scheduler};
  std::shared_ptr<TestPartition> partition;
  int number = 0;
  const QuietLog quiet_;
};

TEST_F(FileSync, AppendsDuringASyncShareTheNextOne) {
  append_and_ask();
  append_and_ask();
  append_and_ask();
  ASSERT_EQ(scheduler.blocking.size(), 1u);
  scheduler.run_one();
  EXPECT_EQ(partition->durable, (std::vector<int64_t>{2})) << "only what was there when the sync began";
  ASSERT_EQ(scheduler.blocking.size(), 1u);
  scheduler.run_one();
  EXPECT_EQ(partition->durable, (std::vector<int64_t>{2, 6}));
  EXPECT_TRUE(scheduler.blocking.empty());
  service.make_durable(partition, Offset(5));
  EXPECT_EQ(partition->durable.size(), 3u) << "known to be durable: answered at once";
}

TEST_F(FileSync, ATruncationDuringASyncDoesNotLoseTheWaiters) {
  append_and_ask();
  append_and_ask();
  ASSERT_TRUE(partition->log().truncate_to(Offset(2)).ok());
  append_and_ask();
  scheduler.run_one();
  ASSERT_EQ(scheduler.blocking.size(), 1u);
  scheduler.run_one();
  EXPECT_EQ(partition->durable.back(), 4);
  EXPECT_TRUE(scheduler.blocking.empty());
}

TEST_F(FileSync, AFailedSyncIsToldToAllWhoWaitAndToAllWhoComeLater) {
  append_and_ask();
  append_and_ask();
  disk.files().fail_nth(FileOperation::sync_data, 1, ".log");
  scheduler.run_one();
  EXPECT_TRUE(partition->durable.empty());
  ASSERT_EQ(partition->failures.size(), 1u);
  EXPECT_EQ(partition->failures[0], ErrorCode::log_offline);
  service.make_durable(partition, Offset(2));
  EXPECT_EQ(partition->failures.size(), 2u);
  EXPECT_TRUE(scheduler.blocking.empty());
}

TEST_F(FileSync, AfterATemporaryFailureTheNextRequestTriesAgain) {
  append_and_ask();
  disk.files().fail_nth(FileOperation::create, 1, "leader-epoch-checkpoint", ErrorCode::disk_full);
  scheduler.run_one();
  ASSERT_EQ(partition->failures.size(), 1u);
  EXPECT_EQ(partition->failures[0], ErrorCode::disk_full);
  append_and_ask();
  ASSERT_EQ(scheduler.blocking.size(), 1u);
  scheduler.run_one();
  EXPECT_EQ(partition->durable, (std::vector<int64_t>{4}));
}

}  // namespace
}  // namespace naru
