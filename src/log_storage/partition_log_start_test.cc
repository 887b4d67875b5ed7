// Moving the start of a log: what readers see, what is removed, and what a crash at any moment leaves.
#include <gtest/gtest.h>

#include <set>

#include "log_storage/log_storage_testing.h"

namespace naru {
namespace {

// A log of 9 batches of two records each, in segments of at most five batches.
std::unique_ptr<PartitionLog> filled(LogOnDisk& disk) {
  auto log = disk.must_open();
  for (int i = 0; i < 9; ++i) EXPECT_TRUE(append(*log, numbered_batch(i, 2, LeaderEpoch(i / 2))).has_value());
  EXPECT_TRUE(sync(*log).ok());
  EXPECT_GT(log->segment_count(), 1U);
  return log;
}

TEST(LogStart, ReadersGetNothingFromBeforeIt) {
  LogOnDisk disk(1);
  const auto log = filled(disk);
  ASSERT_TRUE(move_start(*log, Offset(5)).ok());
  EXPECT_EQ(log->start_offset(), Offset(5));
  EXPECT_EQ(log->read(Offset(4), Offset(18), 1000, true).error(), ErrorCode::offset_out_of_range);
  const auto slice = log->read(Offset(5), Offset(18), 1000, true);
  ASSERT_TRUE(slice.has_value());
  EXPECT_EQ(slice->base_offset, Offset(4)) << "the batch that holds it";
}

TEST(LogStart, IsSeenOnlyWhenItIsDurable) {
  LogOnDisk disk(2);
  const auto log = filled(disk);
  const auto noted = log->note_start(Offset(6));
  ASSERT_TRUE(noted.has_value());
  EXPECT_EQ(log->start_offset(), Offset(0));
  EXPECT_EQ(log->truncate_to(Offset(4)), ErrorCode::offset_out_of_range) << "it may be on the disk already";
  EXPECT_EQ(log->start_synced(*noted, Status(ErrorCode::io_error)), ErrorCode::log_offline);
  EXPECT_EQ(log->adopt_start(Offset(6)), ErrorCode::log_offline);
  EXPECT_EQ(log->start_offset(), Offset(0));
}

// Records are synced, and the checkpoint notes it, while the start is on its way into the same checkpoint.
TEST(LogStart, SurvivesAPowerCutAlthoughSyncsWroteToTheCheckpointMeanwhile) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    LogOnDisk disk(seed);
    auto log = filled(disk);
    int number = 9;
    const auto append_and_sync = [&] {
      ASSERT_TRUE(append(*log, numbered_batch(number++, 2, LeaderEpoch(9))).has_value());
      ASSERT_TRUE(sync(*log).ok());
    };
    const Offset start = log->segment_facts().back().base_offset;
    for (int note = 0; note < PartitionLog::kStartNotes || !log->start_is_safe(start); ++note) {
      ASSERT_LT(note, 5);
      const auto noted = log->note_start(start);
      ASSERT_TRUE(noted.has_value());
      append_and_sync();
      ASSERT_TRUE(log->start_synced(*noted, noted->checkpoint->sync_data()).ok());
    }
    ASSERT_TRUE(log->adopt_start(start).ok());
    ASSERT_TRUE(log->take_segments_below_start().remove_files().ok());
    append_and_sync();
    log = nullptr;
    disk.crash(Unsynced::mixed);
    const auto opened = disk.open();
    ASSERT_TRUE(opened.has_value()) << opened.error().to_string();
    EXPECT_EQ(opened->log->start_offset(), start);
  }
}

TEST(LogStart, NeverGoesBack) {
  LogOnDisk disk(3);
  const auto log = filled(disk);
  ASSERT_TRUE(log->note_start(Offset(8)).has_value());
  ASSERT_TRUE(log->note_start(Offset(3)).has_value());
  ASSERT_TRUE(log->adopt_start(Offset(8)).ok());
  ASSERT_TRUE(log->adopt_start(Offset(3)).ok());
  EXPECT_EQ(log->start_offset(), Offset(8));
}

TEST(LogStart, SegmentsBelowItGoAndReadersKeepTheirFiles) {
  LogOnDisk disk(4);
  const auto log = filled(disk);
  const auto held = log->read(Offset(0), Offset(18), 1000, true);
  ASSERT_TRUE(held.has_value());
  ASSERT_TRUE(move_start(*log, Offset(18)).ok());
  const RemovedSegments removed = log->take_segments_below_start();
  EXPECT_GE(removed.segments, 1U);
  EXPECT_EQ(log->segment_count(), 1U) << "the active one stays";
  ASSERT_TRUE(removed.remove_files().ok());
  EXPECT_FALSE(*disk.files().exists(LogOnDisk::segment(0)));
  EXPECT_TRUE(decode_slice(*held).has_value());
  EXPECT_EQ(log->size_bytes(),
            *disk.files()
                 .open(LogOnDisk::segment(log->segment_facts().back().base_offset.value()), OpenMode::read)
                 .value()
                 ->size());
}

TEST(LogStart, TheEpochsBeforeItAreForgotten) {
  LogOnDisk disk(5);
  {
    const auto log = filled(disk);
    ASSERT_TRUE(move_start(*log, Offset(7)).ok());
    EXPECT_EQ(log->end_offset_for_epoch(LeaderEpoch(1)), (EpochEnd{LeaderEpoch(1), Offset(8)}));
    EXPECT_EQ(log->end_offset_for_epoch(LeaderEpoch(0)), (EpochEnd{LeaderEpoch(0), Offset(7)}))
        << "of which nothing is left";
    ASSERT_TRUE(log->close().ok());
  }
  const auto log = disk.must_open(true);
  EXPECT_EQ(log->end_offset_for_epoch(LeaderEpoch(0)), (EpochEnd{LeaderEpoch(0), Offset(7)}));
  EXPECT_EQ(log->end_offset_for_epoch(LeaderEpoch(3)), (EpochEnd{LeaderEpoch(3), Offset(16)}));
}

TEST(LogStart, ALaterEpochMayBeginWhereEverythingWasDeleted) {
  LogOnDisk disk(5);
  auto log = filled(disk);
  ASSERT_TRUE(move_start(*log, Offset(18)).ok());
  ASSERT_TRUE(append(*log, numbered_batch(50, 2, LeaderEpoch(9))).has_value());
  EXPECT_EQ(log->end_offset_for_epoch(LeaderEpoch(4)), (EpochEnd{LeaderEpoch(4), Offset(18)}));
  EXPECT_EQ(log->end_offset_for_epoch(LeaderEpoch(9)), (EpochEnd{LeaderEpoch(9), Offset(20)}));
  ASSERT_TRUE(log->close().ok());
  log = nullptr;
  log = disk.must_open(true);
  EXPECT_EQ(log->latest_epoch(), LeaderEpoch(9));
}

TEST(LogStart, LookupsByTimeRespectIt) {
  LogOnDisk disk(6);
  auto log = disk.must_open();
  ASSERT_TRUE(append(*log, {.records = {{900, "a"}, {100, "b"}}}).has_value());
  ASSERT_TRUE(append(*log, {.records = {{200, "c"}, {800, "d"}, {300, "e"}}}).has_value());
  ASSERT_TRUE(append(*log, {.records = {{400, "f"}}}).has_value());
  const auto latest = [&log] { return log->find_max_timestamp(log->end_offset()).value(); };
  EXPECT_EQ(latest(), (OffsetAndTimestamp{Offset(0), 900, LeaderEpoch(0)}));
  ASSERT_TRUE(sync(*log).ok());
  ASSERT_TRUE(move_start(*log, Offset(1)).ok());
  EXPECT_EQ(latest(), (OffsetAndTimestamp{Offset(3), 800, LeaderEpoch(0)})) << "inside of the first batch";
  EXPECT_EQ(log->find_first_at_or_after(850, Offset(6)).value(), std::nullopt);
  ASSERT_TRUE(move_start(*log, Offset(4)).ok());
  EXPECT_EQ(latest(), (OffsetAndTimestamp{Offset(5), 400, LeaderEpoch(0)}));
  EXPECT_EQ(log->find_first_at_or_after(250, Offset(6)).value(), (OffsetAndTimestamp{Offset(4), 300, LeaderEpoch(0)}));
  ASSERT_TRUE(move_start(*log, Offset(6)).ok());
  EXPECT_EQ(latest(), std::nullopt);
}

TEST(LogStart, RemovalMayHaveHappenedInAnyOrderBeforeACrash) {
  for (const int64_t survivor : {0, 10}) {
    LogOnDisk disk(
        7, {.segment_bytes = 200, .segment_ms = 1'000'000, .index_interval_bytes = 150, .segment_index_bytes = 4096});
    std::vector<Offset> bases;
    {
      const auto log = filled(disk);
      for (const SegmentFacts& facts : log->segment_facts()) bases.push_back(facts.base_offset);
      ASSERT_GE(bases.size(), 4U);
      ASSERT_TRUE(move_start(*log, bases[3]).ok());
    }
    const size_t removed = survivor == 0 ? 1 : 0;
    ASSERT_TRUE(disk.files().remove_file(LogOnDisk::segment(bases[removed].value())).ok());
    ASSERT_TRUE(disk.files().sync_directory(kTestFolder).ok());
    disk.crash(Unsynced::lost);
    const auto opened = disk.open();
    ASSERT_TRUE(opened.has_value()) << opened.error().to_string();
    EXPECT_EQ(opened->log->start_offset(), bases[3]);
    EXPECT_EQ(opened->log->end_offset(), Offset(18));
    for (size_t i = 0; i < 3; ++i) EXPECT_FALSE(*disk.files().exists(LogOnDisk::segment(bases[i].value())));
  }
}

// With the loose rule (no sync before an acknowledgement) records may be deleted before they are durable.
TEST(LogStart, BehindEverythingThatSurvivedTheLogIsEmptyAndBeginsThere) {
  LogOnDisk disk(8);
  {
    const auto log = disk.must_open();
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(append(*log, numbered_batch(i, 2)).has_value());
    ASSERT_TRUE(sync(*log).ok());
    for (int i = 3; i < 9; ++i) ASSERT_TRUE(append(*log, numbered_batch(i, 2)).has_value());
    ASSERT_TRUE(move_start(*log, Offset(14)).ok());
  }
  disk.crash(Unsynced::lost);
  const auto log = disk.must_open();
  ASSERT_NE(log, nullptr);
  EXPECT_EQ(log->start_offset(), Offset(14));
  EXPECT_EQ(log->end_offset(), Offset(14));
  ASSERT_TRUE(append(*log, numbered_batch(50)).has_value());
  EXPECT_EQ(log->end_offset(), Offset(16));
}

TEST(LogStart, TheTimeOfTheLastAppendSurvivesARestartAndARepair) {
  LogOnDisk disk(9);
  {
    const auto log = disk.must_open();
    ASSERT_TRUE(append(*log, numbered_batch(1), 12'345).has_value());
    EXPECT_EQ(log->segment_facts().back().last_append, 12'345);
    auto file = disk.files().open(LogOnDisk::segment(0), OpenMode::write).value();
    ASSERT_TRUE(file->set_modified_ms(12'345).ok());  // what the clock of a real disk does
    ASSERT_TRUE(sync(*log).ok());
  }
  for (int restart = 0; restart < 2; ++restart) {
    disk.crash(Unsynced::lost);
    const auto log = disk.must_open();
    EXPECT_EQ(log->segment_facts().back().last_append, 12'345);
  }
}

TEST(LogStart, SegmentsRollByTimeEarlierByTheirShareOfTheJitter) {
  LogConfig config = LogOnDisk::small_segments();
  config.segment_ms = 1000;
  config.segment_jitter_ms = 600;
  LogOnDisk disk(10, config);
  const auto log = disk.must_open();
  std::set<WallTimeMs> ages;
  WallTimeMs now = 1'000'000;
  for (int round = 0; round < 20; ++round) {
    ASSERT_TRUE(append(*log, numbered_batch(round), now).has_value());
    const size_t segments = log->segment_count();
    WallTimeMs age = 0;
    while (log->segment_count() == segments) ASSERT_TRUE(log->maybe_roll_by_time(now + ++age).ok());
    EXPECT_GE(age, 400);
    EXPECT_LE(age, 1000);
    ages.insert(age);
    now += 10'000;
  }
  EXPECT_GT(ages.size(), 10U);
}

// The machine dies at every step of a life with retention.
TEST(LogStart, ACrashAtAnyStepLeavesTheOldOrTheNewStartAndEverythingBehindIt) {
  const QuietLog quiet;
  const uint64_t recoveries_before = LogOnDisk::recoveries;
  std::vector<TestBatch> batches;
  for (int i = 0; i < 20; ++i) batches.push_back(numbered_batch(i, 2, LeaderEpoch(i / 6)));

  struct Life {
    Offset adopted{0};  // somebody may have seen this start
    Offset noted{0};
    Offset durable{0};
  };
  const auto live = [&batches](LogOnDisk& disk, Life& life) {
    auto opened = disk.open();
    if (!opened) return false;
    PartitionLog& log = *opened->log;
    for (size_t i = 0; i < batches.size(); ++i) {
      if (!append(log, batches[i])) return false;
      if (i % 4 != 3) continue;
      if (!sync(log).ok()) return false;
      life.durable = log.durable_end();
      const Offset start(static_cast<int64_t>(i) * 2 - 3);
      life.noted = start;
      if (!move_start(log, start).ok()) return false;
      life.adopted = start;
      if (i == 11 && !log.roll_active(0).ok()) return false;
      const RemovedSegments removed = log.take_segments_below_start();
      if (!removed.remove_files().ok()) return false;
    }
    return true;
  };

  uint64_t mutations = 0;
  {
    LogOnDisk disk(1);
    Life life;
    const uint64_t before = disk.files().mutations();
    ASSERT_TRUE(live(disk, life));
    mutations = disk.files().mutations() - before;
  }
  for (uint64_t step = 0; step <= mutations; ++step) {
    LogOnDisk disk(1);
    Life life;
    disk.files().die_after(step);
    ASSERT_EQ(live(disk, life), step == mutations);
    for (uint64_t outcome = 0; outcome < 40; ++outcome) {
      SCOPED_TRACE(fmt::format("step {} of {}, outcome {}", step, mutations, outcome));
      LogOnDisk after = disk.copy(outcome);
      after.crash(outcome == 0 ? Unsynced::lost : outcome == 1 ? Unsynced::kept : Unsynced::mixed);
      auto opened = after.open();
      ASSERT_TRUE(opened.has_value()) << opened.error().to_string();
      PartitionLog& log = *opened->log;
      ASSERT_GE(log.start_offset(), life.adopted);
      ASSERT_LE(log.start_offset(), life.noted);
      ASSERT_GE(log.end_offset(), life.durable);
      const auto found = read_all(log);
      ASSERT_TRUE(found.has_value()) << found.error().to_string();
      const size_t first = static_cast<size_t>(log.start_offset().value()) / 2;
      for (size_t i = 0; i < found->size(); ++i) ASSERT_TRUE((*found)[i].same_content(batches[first + i]));
      ASSERT_EQ(log.end_offset(), Offset(static_cast<int64_t>(2 * (first + found->size()))));
    }
  }
  EXPECT_GE(LogOnDisk::recoveries - recoveries_before, 2'000U);
}

}  // namespace
}  // namespace naru
