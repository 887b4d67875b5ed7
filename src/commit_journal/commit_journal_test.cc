#include "commit_journal/commit_journal.h"

#include <gtest/gtest.h>

#include "commit_journal/commit_journal_testing.h"
#include "commit_journal/journal_reader.h"
#include "platform/simulated/simulated_file_system.h"
#include "platform/simulated/simulated_random.h"

namespace naru {
namespace {

constexpr size_t kLogs = 3;

class Journal : public testing::Test {
 protected:
  Journal() {
    set_log_level(LogLevel::error);
    JournaledLogs::create(disk, kLogs);
  }

  void start(const JournalSettings& settings = kTinyJournal, bool clean_shutdown = false) {
    run.reset();
    run.emplace(disk, random, settings);
    const Status opened = run->open(kLogs, clean_shutdown);
    ASSERT_TRUE(opened.ok()) << opened.to_string();
  }
  // With the journal in use, and nothing in flight.
  void start_with_journal(const JournalSettings& settings = kTinyJournal) {
    start(settings);
    append(0);
    run->scheduler.run_all();
    ASSERT_EQ(run->fallbacks("not_ready"), 1u);
  }
  void append(size_t log, int records = 1) { ASSERT_TRUE(run->append(log, numbered_batch(next_++, records))); }
  void restart_after_crash(Unsynced unsynced = Unsynced::lost) {
    run.reset();
    disk.crash(unsynced);
    start();
  }
  Offset promised(size_t log) { return run->logs[log]->promised; }
  PartitionLog& log(size_t number) { return run->logs[number]->log(); }
  std::shared_ptr<File> file() { return disk.open("/commit-journal", OpenMode::write).value(); }

  SimulatedRandom random{1};
  SimulatedFileSystem disk{random};
  std::optional<JournaledLogs> run;
  int next_ = 0;
  const QuietLog quiet_;
};

TEST_F(Journal, IsMadeAtTheFirstUseWhileTheFirstBatchesAreSyncedByTheirFiles) {
  start();
  EXPECT_FALSE(*disk.exists("/commit-journal"));
  append(0);
  EXPECT_EQ(promised(0), Offset(0));
  run->scheduler.run_all();
  EXPECT_EQ(promised(0), Offset(1));
  EXPECT_EQ(log(0).synced_end(), Offset(1));
  EXPECT_EQ(*file()->size(), kTinyJournal.bytes + 2 * kJournalBlock);
}

TEST_F(Journal, OneSyncMakesBatchesOfManyLogsDurable) {
  start_with_journal();
  append(1);
  append(2);
  append(1);
  ASSERT_EQ(run->scheduler.jobs.size(), 1u);
  uint64_t syncs = 0;
  disk.set_trace([&](FileOperation operation, const std::string&, uint64_t) {
    syncs += operation == FileOperation::sync_data ? 1 : 0;
  });
  run->scheduler.run_one();
  disk.set_trace(nullptr);
  EXPECT_EQ(syncs, 1u);
  EXPECT_EQ(promised(1), Offset(2));
  EXPECT_EQ(promised(2), Offset(1));
  EXPECT_EQ(log(1).synced_end(), Offset(0)) << "its own files can wait";
  EXPECT_TRUE(run->scheduler.jobs.empty());
  restart_after_crash();
  EXPECT_EQ(log(1).end_offset(), Offset(2));
  EXPECT_EQ(log(2).end_offset(), Offset(1));
}

TEST_F(Journal, WhatArrivesWhileARoundIsWrittenGoesIntoTheNext) {
  start_with_journal();
  append(1);
  bool appended = false;
  disk.set_trace([&](FileOperation operation, const std::string&, uint64_t) {
    if (operation != FileOperation::sync_data || std::exchange(appended, true)) return;
    append(2);
    append(1);
  });
  run->scheduler.run_one();
  EXPECT_EQ(promised(1), Offset(1));
  EXPECT_EQ(promised(2), Offset(0));
  ASSERT_EQ(run->scheduler.jobs.size(), 1u);
  run->scheduler.run_one();
  EXPECT_EQ(promised(1), Offset(2));
  EXPECT_EQ(promised(2), Offset(1));
  disk.set_trace(nullptr);
}

TEST_F(Journal, ALargeBatchGoesPastItAndTheNextSmallOneWaitsForIt) {
  start_with_journal();
  append(1, 20);
  append(1);
  ASSERT_EQ(run->scheduler.jobs.size(), 2u);
  run->scheduler.run_one(1);
  EXPECT_EQ(promised(1), Offset(0)) << "the round is durable, the sync of the file is not";
  run->scheduler.run_one(0);
  EXPECT_EQ(promised(1), Offset(21));
  EXPECT_EQ(log(1).synced_end(), Offset(20));
}

TEST_F(Journal, FreesItsSpaceBySyncingLogsInTheBackground) {
  start_with_journal();
  for (int i = 0; i < 100; ++i) {
    append(static_cast<size_t>(i) % kLogs);
    run->scheduler.run_all();
  }
  EXPECT_EQ(run->fallbacks("full"), 0u);
  EXPECT_GE(run->rounds(), 100u) << "eight laps of the ring";
  EXPECT_GT(run->metric("naru_journal_freeing_syncs_total"), 5u);
  EXPECT_LT(run->metric("naru_journal_freeing_syncs_total"), 100u);
}

TEST_F(Journal, AFullOneLeavesBatchesToTheirFiles) {
  start_with_journal();
  const auto append_in_new_epoch = [&] {
    const int number = next_++;
    ASSERT_TRUE(run->append(1, numbered_batch(number, 1, LeaderEpoch(number))));
    run->scheduler.run_all();
  };
  while (run->fallbacks("full") == 0) {
    // No log can be synced while a file that is part of it cannot be written.
    for (uint64_t nth = 1; nth <= 4; ++nth) {
      disk.fail_nth(FileOperation::create, nth, "leader-epoch-checkpoint", ErrorCode::disk_full);
    }
    append_in_new_epoch();
    ASSERT_LT(next_, 100);
  }
  const Offset end = log(1).end_offset();
  EXPECT_EQ(promised(1), end - 1) << "all but the last one are in the journal";
  EXPECT_EQ(run->logs[1]->failures.size(), 1u) << "who waits for the last one is told to ask again";
  disk.clear_faults();
  append_in_new_epoch();
  EXPECT_EQ(promised(1), end + 1);
  const uint64_t before = run->fallbacks("full");
  append_in_new_epoch();
  EXPECT_EQ(run->fallbacks("full"), before) << "and it is in use again";
  EXPECT_EQ(promised(1), end + 2);
}

TEST_F(Journal, TooMuchThatWaitsGoesPastIt) {
  start_with_journal();
  for (int i = 0; i < 200; ++i) append(static_cast<size_t>(i) % kLogs);
  EXPECT_GT(run->fallbacks("busy"), 0u);
  run->scheduler.run_all();
  int64_t all = 0;
  for (size_t i = 0; i < kLogs; ++i) all += promised(i).value();
  EXPECT_EQ(all, 201);
}

TEST_F(Journal, AFailedSyncPutsItOutOfUseAndTheLogsGoOnByThemselves) {
  start_with_journal();
  append(1);
  run->scheduler.run_all();
  append(1);
  append(2);
  disk.fail_nth(FileOperation::sync_data, 1, "commit-journal");
  run->scheduler.run_all();
  EXPECT_EQ(promised(1), Offset(2));
  EXPECT_EQ(promised(2), Offset(1));
  EXPECT_EQ(log(1).synced_end(), Offset(2));
  EXPECT_EQ(run->fallbacks("failed"), 2u);
  append(2);
  run->scheduler.run_all();
  EXPECT_EQ(promised(2), Offset(2));
  EXPECT_EQ(run->fallbacks("not_ready"), 2u);
  restart_after_crash(Unsynced::mixed);
  EXPECT_EQ(log(1).end_offset(), Offset(2));
  EXPECT_EQ(log(2).end_offset(), Offset(2));
}

TEST_F(Journal, WithoutSpaceForItTheLogsGoOnByThemselves) {
  start();
  disk.set_capacity(40 * 1024);
  append(0);
  run->scheduler.run_all();
  append(0);
  run->scheduler.run_all();
  EXPECT_EQ(promised(0), Offset(2));
  EXPECT_EQ(run->fallbacks("not_ready"), 2u);
  EXPECT_FALSE(*disk.exists("/commit-journal"));
  EXPECT_FALSE(*disk.exists("/commit-journal.tmp"));
}

TEST_F(Journal, ALogThatWasTruncatedWhileItsBatchWasOnTheWayStillHearsOfWhatIsLeft) {
  start_with_journal();
  append(1);
  append(1);
  append(1);
  ASSERT_TRUE(run->logs[1]->truncate(Offset(2)));
  EXPECT_EQ(promised(1), Offset(0));
  run->scheduler.run_all();
  EXPECT_EQ(promised(1), Offset(2));
  append(1);
  run->scheduler.run_all();
  EXPECT_EQ(promised(1), Offset(3));
  restart_after_crash();
  EXPECT_EQ(log(1).end_offset(), Offset(3));
  EXPECT_EQ(log(1).truncations(), 1u);
}

TEST_F(Journal, AnotherTopicOfTheSameNameGetsNothing) {
  start_with_journal();
  append(1);
  run->scheduler.run_all();
  run.reset();
  ASSERT_TRUE(remove_recursively(disk, JournaledLogs::folder_of(1)).ok());
  ASSERT_TRUE(disk.create_directories(JournaledLogs::folder_of(1)).ok());
  ASSERT_TRUE(fill_new_partition_folder(disk, JournaledLogs::folder_of(1), Uuid{99, 99}).ok());
  disk.kill();
  const auto contents = read_journal(file());
  ASSERT_TRUE(contents.has_value());
  EXPECT_TRUE(contents->logs.contains(JournaledLogs::id_of(1)));
  EXPECT_FALSE(contents->logs.contains(LogId{Uuid{99, 99}, PartitionIndex(0)}));
}

TEST_F(Journal, ACleanShutdownLeavesItEmptyAndTheNextStartDoesNotReadIt) {
  start_with_journal();
  append(1);
  ASSERT_TRUE(run->close().ok());
  run.reset();
  disk.kill();
  {
    const auto contents = read_journal(file());
    ASSERT_TRUE(contents.has_value());
    EXPECT_EQ(contents->rounds, 0u);
  }
  uint64_t read_bytes = 0;
  disk.set_trace([&](FileOperation operation, const std::string& path, uint64_t bytes) {
    if (operation == FileOperation::read && path.ends_with("commit-journal")) read_bytes += bytes;
  });
  start(kTinyJournal, true);
  disk.set_trace(nullptr);
  EXPECT_LE(read_bytes, 2 * kJournalSlotBytes);
  append(1);
  run->scheduler.run_all();
  append(1);
  run->scheduler.run_all();
  EXPECT_EQ(run->rounds(), 1u) << "the file is used again";
  EXPECT_EQ(promised(1), Offset(3));
}

TEST_F(Journal, AnotherSizeOrNoneTakesEffectWhenEverythingIsRecovered) {
  start_with_journal();
  append(1);
  run->scheduler.run_all();
  JournalSettings larger = kTinyJournal;
  larger.bytes *= 2;
  run.reset();
  disk.crash(Unsynced::lost);
  start(larger);
  EXPECT_EQ(log(1).end_offset(), Offset(1));
  EXPECT_FALSE(*disk.exists("/commit-journal"));
  append(1);
  run->scheduler.run_all();
  EXPECT_EQ(*file()->size(), larger.bytes + 2 * kJournalBlock);
  append(1);
  run->scheduler.run_all();
  JournalSettings none = kTinyJournal;
  none.enabled = false;
  run.reset();
  disk.crash(Unsynced::lost);
  start(none);
  EXPECT_EQ(log(1).end_offset(), Offset(3));
  EXPECT_FALSE(*disk.exists("/commit-journal"));
  append(1);
  run->scheduler.run_all();
  EXPECT_EQ(promised(1), Offset(4));
}

TEST_F(Journal, IsKeptAsItIsWhenALogThatItHoldsBatchesOfCouldNotBeOpened) {
  start_with_journal();
  append(1);
  run->scheduler.run_all();
  run.reset();
  disk.crash(Unsynced::lost);
  const Bytes before = disk.content("/commit-journal");
  {
    JournaledLogs other(disk, random);
    ASSERT_TRUE(other.journal->read(false).has_value());
    other.journal->begin(false);
  }
  EXPECT_EQ(disk.content("/commit-journal"), before);
  start();
  EXPECT_EQ(log(1).end_offset(), Offset(1));
}

}  // namespace
}  // namespace naru
