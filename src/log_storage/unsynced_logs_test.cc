#include "log_storage/unsynced_logs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <vector>

#include "async/task_group.h"

namespace naru {
namespace {

// Counts how often it is asked for a sync; the test says when one has ended.
class CountedLog final : public DurableLog, public std::enable_shared_from_this<CountedLog> {
 public:
  explicit CountedLog(UnsyncedLogs& logs) : logs_(logs) {}
  LogId id() const override { return {}; }
  void run_in_strand(UniqueFunction<void()> event) override { event(); }
  PartitionLog& log() override { std::abort(); }
  void on_durable(Offset) override {}
  void on_sync_failed(const Status&) override {}
  bool sync_lazily() override {
    ++asked;
    return can_sync;
  }

  void hold(size_t files) { logs_.holds(shared_from_this(), files); }
  void end_sync(size_t files_left = 0, bool well = true) {
    hold(files_left);
    logs_.sync_ended(*this, well);
  }

  int asked = 0;
  bool can_sync = true;

 private:
  UnsyncedLogs& logs_;
};

class UnsyncedLogsTest : public testing::Test {
 protected:
  ~UnsyncedLogsTest() override {
    for (const auto& log : made_) log->hold(0);
    EXPECT_EQ(logs.files(), 0U);
    TaskGroup end;
    end.spawn(appends.join());
  }
  std::shared_ptr<CountedLog> make(size_t files) {
    made_.push_back(std::make_shared<CountedLog>(logs));
    made_.back()->hold(files);
    return made_.back();
  }
  // True while it waits.
  bool append_waits() { return appends.running() > 0; }
  void begin_append() { appends.spawn(logs.some_room()); }

  MetricsRegistry metrics;
  UnsyncedLogs logs{{.sync_beyond = 3, .full = 6}, metrics};
  TaskGroup appends;

 private:
  std::vector<std::shared_ptr<CountedLog>> made_;
};

TEST_F(UnsyncedLogsTest, BeyondTheBoundTheOneThatHasWaitedForLongestIsSynced) {
  const auto first = make(1);
  const auto second = make(1);
  make(1);
  EXPECT_EQ(first->asked, 0);
  make(1);
  EXPECT_EQ(first->asked, 1);
  EXPECT_EQ(second->asked, 0);
  first->end_sync();
  EXPECT_EQ(logs.files(), 3U);
  EXPECT_EQ(second->asked, 0);
  first->hold(1);
  EXPECT_EQ(first->asked, 1) << "it is the newest now";
  EXPECT_EQ(second->asked, 1);
}

TEST_F(UnsyncedLogsTest, ALogThatWasAppendedToDuringItsSyncIsAskedAgainAfterTheOthers) {
  const auto first = make(1);
  const auto second = make(1);
  make(2);
  ASSERT_EQ(first->asked, 1);
  first->end_sync(1);
  EXPECT_EQ(first->asked, 1);
  EXPECT_EQ(second->asked, 1);
}

TEST_F(UnsyncedLogsTest, OnlyAFewAreSyncedAtOnce) {
  std::vector<std::shared_ptr<CountedLog>> many;
  for (int i = 0; i < 20; ++i) many.push_back(make(1));
  const auto asked = [&] { return std::ranges::count(many, 1, &CountedLog::asked); };
  EXPECT_EQ(asked(), 4);
  many[2]->end_sync();
  EXPECT_EQ(asked(), 5);
  EXPECT_EQ(many[4]->asked, 1);
}

TEST_F(UnsyncedLogsTest, ALogThatCannotBeSyncedIsNotTriedForEver) {
  const auto stuck = make(3);
  stuck->can_sync = false;
  const auto well = make(1);
  EXPECT_EQ(stuck->asked, 1);
  EXPECT_EQ(well->asked, 1);
  stuck->hold(9);
  EXPECT_LE(stuck->asked, 5);
}

TEST_F(UnsyncedLogsTest, WhenItIsFullAppendsWaitForASyncToEnd) {
  const auto large = make(5);
  begin_append();
  EXPECT_FALSE(append_waits()) << "there is room";
  make(1);
  ASSERT_TRUE(logs.full());
  begin_append();
  EXPECT_TRUE(append_waits());
  large->end_sync();
  EXPECT_FALSE(append_waits());
}

TEST_F(UnsyncedLogsTest, AnAppendDoesNotWaitForWhatCannotComeTrue) {
  const auto stuck = make(6);
  begin_append();
  EXPECT_TRUE(append_waits());
  stuck->end_sync(6, false);
  EXPECT_FALSE(append_waits()) << "it may try its luck";
  stuck->can_sync = false;
  begin_append();
  EXPECT_FALSE(append_waits());
}

TEST_F(UnsyncedLogsTest, ALogThatGoesLeavesNothingBehind) {
  const auto gone = make(6);
  EXPECT_EQ(gone->asked, 1);
  gone->hold(0);
  EXPECT_EQ(logs.files(), 0U);
  EXPECT_EQ(gone.use_count(), 2) << "this test alone";
  const auto next = make(4);
  EXPECT_EQ(next->asked, 1);
}

}  // namespace
}  // namespace naru
