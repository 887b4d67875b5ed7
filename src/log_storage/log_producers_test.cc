// Producer state across rolls, syncs, truncation and every kind of death: what a log knows of its producers is what
// reading all of it would tell.
#include "log_storage/log_producers.h"

#include <gtest/gtest.h>

#include <map>

#include "foundation/canary_testing.h"
#include "log_storage/log_storage_testing.h"

namespace naru {
namespace {

std::vector<std::string> snapshots_of(LogOnDisk& disk) {
  std::vector<std::string> names;
  for (const DirectoryEntry& entry : disk.files().list(kTestFolder).value()) {
    if (entry.name.ends_with(kProducerSnapshotSuffix)) names.push_back(LogOnDisk::path(entry.name));
  }
  return names;
}

// As if there had never been a snapshot. Times are not compared: those are not in the log.
ProducerState rebuilt_from_log(const LogOnDisk& disk, uint64_t seed) {
  LogOnDisk copy = disk.copy(seed);
  for (const std::string& path : snapshots_of(copy)) EXPECT_TRUE(copy.files().remove_file(path).ok());
  const auto log = copy.must_open();
  ProducerState state(copy.producers.limits);
  for (const Producer& producer : log->producers().producers()) state.restore(producer);
  return state;
}

std::string without_times(const ProducerState& state) {
  std::string text;
  for (const Producer& producer : state.producers()) {
    text += fmt::format("{}/{}:", producer.id, producer.epoch);
    for (size_t i = 0; i < producer.batch_count; ++i) {
      text += fmt::format(" {}+{}@{}", producer.batches[i].first_sequence, producer.batches[i].last_offset_delta,
                          producer.batches[i].base_offset);
    }
    text += '\n';
  }
  return text;
}

TestBatch batch_of(ProducerId producer, int32_t sequence, int records = 1) {
  TestBatch batch = numbered_batch(sequence, records);
  batch.producer = producer;
  batch.sequence = sequence;
  return batch;
}

TEST(LogProducers, ASnapshotIsTakenWhenASegmentIsSealedAndOnlyAFewAreKept) {
  LogOnDisk disk(1);
  const auto log = disk.must_open();
  for (int i = 0; i < 60; ++i) {
    ASSERT_TRUE(append(*log, batch_of(ProducerId(1), i)).has_value());
    ASSERT_TRUE(sync(*log).ok());
  }
  EXPECT_GT(log->segment_count(), 8u);
  EXPECT_EQ(snapshots_of(disk).size(), ProducerSnapshotFiles::kKept);
}

TEST(LogProducers, LogsWithoutProducersHaveNoSnapshots) {
  LogOnDisk disk(1);
  const auto log = disk.must_open();
  for (int i = 0; i < 60; ++i) ASSERT_TRUE(append(*log, numbered_batch(i)).has_value());
  ASSERT_TRUE(sync(*log).ok());
  ASSERT_TRUE(log->close().ok());
  EXPECT_TRUE(snapshots_of(disk).empty());
}

TEST(LogProducers, ACleanStartKnowsTheProducersWithoutReadingTheLog) {
  LogOnDisk disk(2, {.segment_bytes = 1 << 20,
                     .segment_ms = 1'000'000'000,
                     .index_interval_bytes = 4096,
                     .segment_index_bytes = 1 << 20});
  std::string before;
  {
    const auto log = disk.must_open();
    for (int i = 0; i < 2000; ++i) ASSERT_TRUE(append(*log, batch_of(ProducerId(i % 7), i / 7)).has_value());
    before = without_times(log->producers());
    ASSERT_TRUE(log->close().ok());
  }
  uint64_t read = 0;
  disk.files().set_trace([&](FileOperation operation, const std::string& path, uint64_t bytes) {
    if (operation == FileOperation::read && path.ends_with(".log")) read += bytes;
  });
  const auto log = disk.must_open(true);
  EXPECT_EQ(without_times(log->producers()), before);
  EXPECT_LT(read, 20'000u) << "of " << log->size_bytes();
}

TEST(LogProducers, AfterAKillOnlyTheLogBehindTheLastSnapshotIsReplayed) {
  HandClock clock;
  LogOnDisk disk(3);
  disk.producers.clock = &clock;
  {
    const auto log = disk.must_open();
    for (int i = 0; i < 40; ++i) ASSERT_TRUE(append(*log, batch_of(ProducerId(i % 3), i / 3)).has_value());
    clock.running += 500ms;
    ASSERT_TRUE(sync(*log).ok());
    ASSERT_TRUE(append(*log, batch_of(ProducerId(0), 14)).has_value());
  }
  disk.kill();
  clock.running = 60ms;  // another process
  const auto log = disk.must_open();
  EXPECT_EQ(log->producers().find(ProducerId(1))->last_append_ms, 60 - 500) << "from the snapshot: idle for 0.5 s";
  EXPECT_EQ(log->producers().find(ProducerId(0))->last_append_ms, 60) << "replayed: the time of opening";
}

TEST(LogProducers, ADamagedSnapshotIsRemovedAndAnEarlierOneOrTheLogUsed) {
  LogOnDisk disk(4);
  {
    const auto log = disk.must_open();
    for (int i = 0; i < 60; ++i) {
      ASSERT_TRUE(append(*log, batch_of(ProducerId(i % 3), i / 3)).has_value());
      ASSERT_TRUE(sync(*log).ok());
    }
    ASSERT_TRUE(log->close().ok());
  }
  const std::string expected = without_times(rebuilt_from_log(disk, 1));
  const auto names = snapshots_of(disk);
  ASSERT_EQ(names.size(), ProducerSnapshotFiles::kKept);
  for (size_t damaged = 0; damaged <= names.size(); ++damaged) {
    LogOnDisk copy = disk.copy(9);
    for (size_t i = 0; i < damaged; ++i) copy.files().flip_bit(names[names.size() - 1 - i], 30 + i, 3);
    const auto log = copy.must_open(true);
    EXPECT_EQ(without_times(log->producers()), expected) << damaged;
    EXPECT_EQ(snapshots_of(copy).size(), names.size() - damaged);
  }
}

TEST(LogProducers, ASnapshotThatCannotBeReadIsNotTakenForADamagedOne) {
  LogOnDisk disk(5);
  {
    const auto log = disk.must_open();
    ASSERT_TRUE(append(*log, batch_of(ProducerId(1), 0)).has_value());
    ASSERT_TRUE(log->close().ok());
  }
  const QuietLog quiet;
  disk.files().fail_nth(FileOperation::read, 1, std::string(kProducerSnapshotSuffix));
  EXPECT_FALSE(disk.open(true).has_value());
  EXPECT_EQ(snapshots_of(disk).size(), 1u);
}

TEST(LogProducers, AFailureToStoreASnapshotHarmsNobody) {
  const QuietLog quiet;
  for (const FileOperation operation : {FileOperation::create, FileOperation::write, FileOperation::sync_data,
                                        FileOperation::rename, FileOperation::truncate}) {
    LogOnDisk disk(6);
    const auto log = disk.must_open();
    disk.files().fail_nth(operation, 1, std::string(kProducerSnapshotSuffix));
    for (int i = 0; i < 30; ++i) ASSERT_TRUE(append(*log, batch_of(ProducerId(1), i)).has_value());
    EXPECT_TRUE(sync(*log).ok());
    EXPECT_FALSE(log->offline());
    EXPECT_EQ(log->durable_end(), log->end_offset());
    for (int i = 30; i < 60; ++i) ASSERT_TRUE(append(*log, batch_of(ProducerId(1), i)).has_value());
    EXPECT_TRUE(sync(*log).ok());
    EXPECT_FALSE(snapshots_of(disk).empty()) << "the next one is stored";
  }
}

// The worker writes a snapshot of batches that the strand cuts away meanwhile.
TEST(LogProducers, ATruncationDuringASyncLeavesNoSnapshotOfWhatWasCut) {
  LogOnDisk disk(7);
  const auto log = disk.must_open();
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(append(*log, batch_of(ProducerId(1), i)).has_value());
  ASSERT_TRUE(log->wants_sync());
  SyncWork work = log->begin_sync();
  ASSERT_TRUE(log->truncate_to(Offset(5)).ok());
  const Status performed = work.perform();
  ASSERT_TRUE(log->finish_sync(std::move(work), performed).ok());
  EXPECT_TRUE(snapshots_of(disk).empty());
  EXPECT_TRUE(log->check_sequence(build(batch_of(ProducerId(1), 5)).validated.header).refused.ok());
}

TEST(LogProducers, EntriesOutliveTheirRecordsUntilTheyExpire) {
  HandClock clock;
  LogOnDisk disk(8);
  disk.producers.clock = &clock;
  disk.producers.limits.expiration_ms = 100;
  const auto log = disk.must_open();
  ASSERT_TRUE(append(*log, batch_of(ProducerId(1), 0), 1000).has_value());
  for (int i = 0; i < 40; ++i) ASSERT_TRUE(append(*log, numbered_batch(i), 1000).has_value());
  EXPECT_NE(log->producers().find(ProducerId(1)), nullptr);
  clock.running += 99ms;
  ASSERT_TRUE(log->maybe_roll_by_time(1000).ok());
  EXPECT_NE(log->producers().find(ProducerId(1)), nullptr);
  clock.running += 1ms;
  ASSERT_TRUE(log->maybe_roll_by_time(1000).ok());
  EXPECT_EQ(log->producers().find(ProducerId(1)), nullptr);
}

constexpr int64_t kHourMs = 3'600'000;

// Forward by more than a day, and back.
TEST(LogProducers, AWallClockThatIsSetMakesNobodyExpire) {
  for (const int64_t hours : {25, 24 * 365, -25}) {
    HandClock clock;
    LogOnDisk disk(8);
    disk.producers.clock = &clock;
    const auto repeated = build(batch_of(ProducerId(1), 0)).validated.header;
    {
      const auto log = disk.must_open();
      ASSERT_TRUE(append(*log, batch_of(ProducerId(1), 0), clock.wall).has_value());
      clock.wall += hours * kHourMs;
      ASSERT_TRUE(append(*log, batch_of(ProducerId(2), 0), clock.wall).has_value());
      ASSERT_TRUE(log->maybe_roll_by_time(clock.wall).ok());
      EXPECT_TRUE(log->check_sequence(repeated).duplicate.has_value()) << hours;
      ASSERT_TRUE(log->close().ok());
    }
    clock.wall += hours * kHourMs;
    clock.running = 0ms;
    const auto log = disk.must_open(true);
    ASSERT_TRUE(log->maybe_roll_by_time(clock.wall).ok());
    EXPECT_TRUE(log->check_sequence(repeated).duplicate.has_value()) << hours;
  }
}

TEST(LogProducers, WithTheCanaryAWallClockThatIsSetMakesThemExpire) {
  const PlantedCanary planted(Canary::producers_by_wall_clock);
  HandClock clock;
  LogOnDisk disk(8);
  disk.producers.clock = &clock;
  const auto log = disk.must_open();
  ASSERT_TRUE(append(*log, batch_of(ProducerId(1), 0), clock.wall).has_value());
  clock.wall += 25 * kHourMs;
  ASSERT_TRUE(log->maybe_roll_by_time(clock.wall).ok());
  EXPECT_TRUE(log->producers().empty());
}

// A broker that runs for ten hours at a time, and is down for as long: three such times are more than a day.
TEST(LogProducers, IdleTimesAddUpOverRestartsAndTheTimesInBetweenDoNotCount) {
  HandClock clock;
  LogOnDisk disk(8);
  disk.producers.clock = &clock;
  {
    const auto log = disk.must_open();
    ASSERT_TRUE(append(*log, batch_of(ProducerId(1), 0), clock.wall).has_value());
    ASSERT_TRUE(log->close().ok());
  }
  for (int run = 1; run <= 3; ++run) {
    clock.wall += 10 * kHourMs;
    clock.running = 5ms;
    const auto log = disk.must_open(true);
    clock.wall += 10 * kHourMs;
    clock.running += Milliseconds(10 * kHourMs);
    ASSERT_TRUE(log->maybe_roll_by_time(clock.wall).ok());
    EXPECT_EQ(log->producers().empty(), run == 3) << run;
    ASSERT_TRUE(log->close().ok());
  }
}

// Whether a new producer may begin in the middle.
bool may_skip(const PartitionLog& log, int64_t producer) {
  return log.check_sequence(build(batch_of(ProducerId(producer), 3)).validated.header).refused.ok();
}

TEST(LogProducers, ALogFromItsBeginKnowsWhoWasNeverThere) {
  LogOnDisk disk(12);
  EXPECT_TRUE(may_skip(*disk.must_open(), 100)) << "nothing is known of the topic";
  disk.producers.complete_from = ProducerId(50);
  disk.producers.limits.max_producers = 2;
  {
    const auto log = disk.must_open();
    EXPECT_FALSE(may_skip(*log, 50));
    EXPECT_TRUE(may_skip(*log, 49)) << "may continue what it sent to an earlier topic of the name";
    for (const int64_t producer : {60, 61, 62}) {
      ASSERT_TRUE(append(*log, batch_of(ProducerId(producer), 0)).has_value());
    }
    EXPECT_EQ(log->producers().complete_from(), ProducerId(61));
    ASSERT_TRUE(sync(*log).ok());
  }
  disk.kill();
  {
    const auto log = disk.must_open();
    EXPECT_EQ(log->producers().complete_from(), ProducerId(61)) << "read from the log";
    ASSERT_TRUE(log->close().ok());
  }
  EXPECT_EQ(snapshots_of(disk).size(), 1u);
  disk.producers.complete_from = ProducerId(0);
  EXPECT_EQ(disk.must_open(true)->producers().complete_from(), ProducerId(61)) << "read from the snapshot";
}

TEST(LogProducers, WhatTheTopicSaysCountsForALogThatWasOpenedBefore) {
  LogOnDisk disk(14);
  disk.producers.limits.max_producers = 2;
  {
    const auto log = disk.must_open();
    for (const int64_t producer : {60, 61, 62}) {
      ASSERT_TRUE(append(*log, batch_of(ProducerId(producer), 0)).has_value());
    }
    EXPECT_TRUE(may_skip(*log, 100));
    log->learn_complete_from(ProducerId(50));
    EXPECT_EQ(log->producers().complete_from(), ProducerId(61)) << "what was forgotten before counts, too";
    EXPECT_FALSE(may_skip(*log, 100));
    ASSERT_TRUE(sync(*log).ok());
    ASSERT_TRUE(log->truncate_to(Offset(1)).ok());
    EXPECT_EQ(log->producers().complete_from(), ProducerId(50)) << "nobody has been forgotten any more";
    ASSERT_TRUE(append(*log, batch_of(ProducerId(61), 0)).has_value());
    ASSERT_TRUE(log->close().ok());
  }
  const auto log = disk.must_open(true);
  EXPECT_EQ(log->producers().complete_from(), ProducerId(50)) << "read from the snapshot";
  log->learn_complete_from(ProducerId(0));
  EXPECT_EQ(log->producers().complete_from(), ProducerId(50)) << "a snapshot knows better";
}

TEST(LogProducers, ALogWithoutItsBeginDoesNotKnowWhoWasThere) {
  LogOnDisk disk(13);
  disk.producers.complete_from = ProducerId(0);
  {
    const auto log = disk.must_open();
    ASSERT_TRUE(append(*log, batch_of(ProducerId(60), 0)).has_value());
    ASSERT_TRUE(log->restart_at(Offset(100), 0).ok());
    EXPECT_TRUE(log->producers_missing());
    EXPECT_TRUE(may_skip(*log, 60));
  }
  disk.kill();
  const auto log = disk.must_open();
  EXPECT_TRUE(log->producers_missing()) << "a crash does not change that";
  EXPECT_TRUE(may_skip(*log, 60));
}

// --- A replica that begins anew --------------------------------------------------------------------------------------

// Forty batches of seven producers, of which the first thirty are deleted.
std::unique_ptr<PartitionLog> log_without_its_begin(LogOnDisk& disk) {
  auto log = disk.must_open();
  for (int i = 0; i < 40; ++i) EXPECT_TRUE(append(*log, batch_of(ProducerId(i < 30 ? i % 7 : i % 2), i)).has_value());
  EXPECT_TRUE(sync(*log).ok());
  EXPECT_TRUE(move_start(*log, Offset(30)).ok());
  return log;
}

bool copy_records(PartitionLog& from, PartitionLog& to) {
  for (Offset at = to.end_offset(); at < from.end_offset();) {
    const auto slice = from.read(at, from.end_offset(), 1, true);
    Bytes bytes(slice->bytes);
    EXPECT_TRUE(slice->file->read_at(slice->position, bytes).has_value());
    const auto header = parse_batch_header(bytes);
    if (!to.append_stored(bytes, *header, 0)) return false;
    at = slice->next_offset;
  }
  return true;
}

TEST(LogProducers, AReplicaThatBeginsAnewKnowsTheProducersOfItsLeader) {
  LogOnDisk leaders_disk(14), disk(15);
  leaders_disk.producers.complete_from = ProducerId(0);
  const auto leader = log_without_its_begin(leaders_disk);
  const auto log = disk.must_open();
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(append(*log, batch_of(ProducerId(99), i)).has_value());
  ASSERT_TRUE(log->restart_at(Offset(30), 0).ok());
  ASSERT_TRUE(log->producers_missing());
  ASSERT_TRUE(log->restart_with(Offset(30), leader->producers_at_start(), 0).ok());
  EXPECT_FALSE(log->producers_missing());
  EXPECT_EQ(log->producers().find(ProducerId(99)), nullptr);
  ASSERT_TRUE(copy_records(*leader, *log));
  EXPECT_EQ(without_times(log->producers()), without_times(leader->producers()));
  EXPECT_EQ(log->producers().complete_from(), leader->producers().complete_from());
  EXPECT_TRUE(log->check_sequence(build(batch_of(ProducerId(6), 27)).validated.header).duplicate.has_value());
}

TEST(LogProducers, WhatAReplicaIsToldOfProducersIsChecked) {
  LogOnDisk leaders_disk(14), disk(15);
  const auto leader = log_without_its_begin(leaders_disk);
  const auto log = disk.must_open();
  Bytes told = leader->producers_at_start();
  EXPECT_EQ(log->restart_with(Offset(29), told, 0), ErrorCode::corrupt_data) << "of another offset";
  told[40] ^= std::byte{1};
  EXPECT_EQ(log->restart_with(Offset(30), told, 0), ErrorCode::corrupt_data);
  EXPECT_EQ(log->end_offset(), Offset(0)) << "nothing has happened";
}

// Whatever moment the power goes at: a replica that has begun anew knows what it was told, or knows that it was not.
TEST(LogProducers, BeginningAnewIsNeverTakenForKnowingTheProducersAtAnyCrashPoint) {
  const QuietLog quiet;
  LogOnDisk leaders_disk(14);
  const auto leader = log_without_its_begin(leaders_disk);
  const Bytes told = leader->producers_at_start();
  const std::string expected = without_times(leader->producers());
  const auto scenario = [&](LogOnDisk& disk) {
    auto opened = disk.open();
    if (!opened) return false;
    PartitionLog& log = *opened->log;
    // The former log ends behind the start of the new one, and has snapshots that would fit it.
    for (int i = 0; i < 35; ++i) {
      if (!append(log, batch_of(ProducerId(90 + i % 3), i))) return false;
      if (i % 5 == 4 && !sync(log).ok()) return false;
    }
    return log.restart_at(Offset(30), 0).ok() && log.restart_with(Offset(30), told, 0).ok() &&
           copy_records(*leader, log) && sync(log).ok();
  };
  uint64_t mutations = 0, began = 0, missing = 0;
  {
    LogOnDisk disk(1);
    const uint64_t before = disk.files().mutations();
    ASSERT_TRUE(scenario(disk));
    mutations = disk.files().mutations() - before;
  }
  for (uint64_t point = 0; point <= mutations; ++point) {
    LogOnDisk disk(1);
    disk.files().die_after(point);
    ASSERT_EQ(scenario(disk), point == mutations);
    for (uint64_t outcome = 0; outcome < 8; ++outcome) {
      SCOPED_TRACE(fmt::format("step {} of {}, outcome {}", point, mutations, outcome));
      LogOnDisk crashed = disk.copy(outcome);
      crashed.crash(outcome == 0 ? Unsynced::lost : outcome == 1 ? Unsynced::kept : Unsynced::mixed);
      const auto log = crashed.must_open();
      ASSERT_NE(log, nullptr);
      if (log->start_offset() != Offset(30)) continue;  // it has not begun yet
      if (log->producers_missing()) {
        ++missing;
        ASSERT_EQ(log->end_offset(), Offset(30));
        ASSERT_TRUE(log->restart_with(Offset(30), told, 0).ok());
      } else if (log->producers().find(ProducerId(90)) != nullptr) {
        continue;  // the former log, from there on
      }
      ++began;
      ASSERT_TRUE(copy_records(*leader, *log));
      ASSERT_EQ(without_times(log->producers()), expected);
    }
  }
  EXPECT_GT(began, 100u);
  EXPECT_GT(missing, 10u);
}

// The power went between the new start and the removal of what is below it, and nothing but these segments tells of
// their producers.
TEST(LogProducers, SegmentsBelowTheStartThatAreStillThereTellOfTheirProducers) {
  for (const Canary canary : {Canary::none, Canary::producers_below_start}) {
    LogOnDisk disk(16);
    std::string known;
    {
      const auto log = disk.must_open();
      for (int i = 0; i < 30; ++i) ASSERT_TRUE(append(*log, batch_of(ProducerId(i / 10), i)).has_value());
      ASSERT_TRUE(sync(*log).ok());
      known = without_times(log->producers());
      ASSERT_TRUE(move_start(*log, Offset(25)).ok());
      for (const std::string& path : snapshots_of(disk)) ASSERT_TRUE(disk.files().remove_file(path).ok());
    }
    disk.kill();
    const PlantedCanary planted(canary);
    const auto log = disk.must_open();
    EXPECT_EQ(without_times(log->producers()) == known, canary == Canary::none);
    EXPECT_EQ(log->segment_facts().front().base_offset > Offset(10), true) << "they are gone now";
    EXPECT_EQ(log->producers().find(ProducerId(0)) != nullptr, canary == Canary::none);
  }
}

// They are removed when the log is opened, and then the power goes again.
TEST(LogProducers, WhatSegmentsBelowTheStartTellOutlivesTheirRemovalAtEveryCrashPoint) {
  const QuietLog quiet;
  LogOnDisk disk(17);
  std::string known;
  {
    const auto log = disk.must_open();
    for (int i = 0; i < 30; ++i) ASSERT_TRUE(append(*log, batch_of(ProducerId(i / 10), i)).has_value());
    ASSERT_TRUE(log->roll_active(0).ok());
    ASSERT_TRUE(sync(*log).ok());
    known = without_times(log->producers());
    ASSERT_TRUE(move_start(*log, Offset(30)).ok());
    for (const std::string& path : snapshots_of(disk)) ASSERT_TRUE(disk.files().remove_file(path).ok());
    ASSERT_TRUE(disk.files().sync_directory(kTestFolder).ok());
  }
  disk.crash(Unsynced::kept);
  uint64_t mutations = 0;
  {
    LogOnDisk first = disk.copy(1);
    const uint64_t before = first.files().mutations();
    ASSERT_NE(first.must_open(), nullptr);
    mutations = first.files().mutations() - before;
  }
  for (uint64_t point = 0; point <= mutations; ++point) {
    LogOnDisk first = disk.copy(1);
    first.files().die_after(point);
    ASSERT_EQ(first.open().has_value(), point == mutations);
    for (uint64_t outcome = 0; outcome < 8; ++outcome) {
      SCOPED_TRACE(fmt::format("step {} of {}, outcome {}", point, mutations, outcome));
      LogOnDisk crashed = first.copy(outcome);
      crashed.crash(outcome == 0 ? Unsynced::lost : outcome == 1 ? Unsynced::kept : Unsynced::mixed);
      const auto log = crashed.must_open();
      ASSERT_NE(log, nullptr);
      ASSERT_EQ(without_times(log->producers()), known);
    }
  }
  EXPECT_GT(mutations, 5u);
}

TEST(LogProducers, WithTheCanaryTheirRemovalMakesThemForgotten) {
  for (const Canary canary : {Canary::none, Canary::removed_below_start}) {
    LogOnDisk disk(19);
    {
      const auto log = disk.must_open();
      for (int i = 0; i < 30; ++i) ASSERT_TRUE(append(*log, batch_of(ProducerId(i / 10), i)).has_value());
      ASSERT_TRUE(sync(*log).ok());
      ASSERT_TRUE(move_start(*log, Offset(25)).ok());
      for (const std::string& path : snapshots_of(disk)) ASSERT_TRUE(disk.files().remove_file(path).ok());
    }
    const PlantedCanary planted(canary);
    for (int life = 0; life < 2; ++life) {
      disk.kill();
      const auto log = disk.must_open();
      EXPECT_EQ(log->producers().find(ProducerId(0)) != nullptr, life == 0 || canary == Canary::none);
    }
  }
}

// A follower's log may be cut below its end after it was opened.
TEST(LogProducers, ATruncationAfterTheRemovalForgetsNobodyFromBelowTheStart) {
  LogOnDisk disk(18);
  {
    const auto log = disk.must_open();
    for (int i = 0; i < 30; ++i) ASSERT_TRUE(append(*log, batch_of(ProducerId(i / 10), i)).has_value());
    ASSERT_TRUE(sync(*log).ok());
    ASSERT_TRUE(move_start(*log, Offset(25)).ok());
    for (const std::string& path : snapshots_of(disk)) ASSERT_TRUE(disk.files().remove_file(path).ok());
  }
  disk.kill();
  const auto log = disk.must_open();
  ASSERT_GT(log->segment_facts().front().base_offset, Offset(10));
  ASSERT_TRUE(log->truncate_to(Offset(27)).ok());
  EXPECT_NE(log->producers().find(ProducerId(0)), nullptr);
  EXPECT_EQ(log->producers().find(ProducerId(2))->newest().next_offset(), Offset(27));
}

TEST(LogProducers, MemoryIsAccountedAndWhenItIsShortTheLongestIdleGo) {
  MetricsRegistry metrics;
  MemoryBudget budget(1 << 20);
  ProducerAccounting accounting(budget, 10 * ProducerState::kBytesPerProducer, metrics);
  {
    LogOnDisk disk(9), other_disk(10);
    disk.producers.accounting = other_disk.producers.accounting = &accounting;
    const auto log = disk.must_open();
    for (int i = 0; i < 8; ++i) ASSERT_TRUE(append(*log, batch_of(ProducerId(i), 0)).has_value());
    const auto other = other_disk.must_open();
    for (int i = 0; i < 8; ++i) ASSERT_TRUE(append(*other, batch_of(ProducerId(i), 0)).has_value());
    EXPECT_EQ(log->producers().size(), 8u);
    EXPECT_EQ(other->producers().size(), 2u);
    EXPECT_NE(other->producers().find(ProducerId(7)), nullptr);
    EXPECT_EQ(budget.used(MemoryAccount::producer_state), 10 * ProducerState::kBytesPerProducer);
    EXPECT_EQ(accounting.evicted.value(), 6u);
  }
  EXPECT_EQ(budget.used(), 0u);
}

// Moves the start to the end of the log and removes what is below, as the partition's maintenance does. False once the
// machine is gone.
bool delete_everything(PartitionLog& log) {
  if (!move_start(log, log.end_offset()).ok()) return false;
  if (auto work = log.begin_producer_snapshot()) {
    work->write_aside();
    log.finish_producer_snapshot(*work, log.truncations());
  }
  return log.take_segments_below_start().remove_files().ok();
}

TEST(LogProducers, SegmentsAreNotRemovedBeforeTheirProducersAreStored) {
  LogOnDisk disk(11);
  {
    const auto log = disk.must_open();
    for (int i = 0; i < 30; ++i) ASSERT_TRUE(append(*log, batch_of(ProducerId(i % 3), i / 3)).has_value());
    ASSERT_TRUE(sync(*log).ok());
    ASSERT_TRUE(log->roll_active(0).ok());
    for (const std::string& path : snapshots_of(disk)) ASSERT_TRUE(disk.files().remove_file(path).ok());
  }
  disk.kill();
  const auto log = disk.must_open();
  ASSERT_TRUE(move_start(*log, log->end_offset()).ok());
  EXPECT_TRUE(log->take_segments_below_start().empty());
  auto work = log->begin_producer_snapshot();
  ASSERT_TRUE(work.has_value());
  work->write_aside();
  log->finish_producer_snapshot(*work, log->truncations());
  EXPECT_FALSE(log->take_segments_below_start().empty());
  EXPECT_FALSE(log->begin_producer_snapshot().has_value());
}

// Whatever moment the power goes at: a producer whose records are all deleted is known as before, as far as its records
// had been durable.
TEST(LogProducers, DeletingRecordsForgetsNoProducerAtAnyCrashPoint) {
  const QuietLog quiet;
  std::string known;
  const auto scenario = [&known](LogOnDisk& disk) {
    auto opened = disk.open();
    if (!opened) return false;
    const auto log = std::move(opened->log);
    for (int i = 0; i < 20; ++i) {
      if (!append(*log, batch_of(ProducerId(i % 3), i / 3))) return false;
    }
    if (!sync(*log).ok() || !log->roll_active(0).ok() || !sync(*log).ok()) return false;
    known = without_times(log->producers());
    return delete_everything(*log) && sync(*log).ok();
  };
  uint64_t mutations = 0, checked = 0;
  {
    LogOnDisk disk(1);
    const uint64_t before = disk.files().mutations();
    ASSERT_TRUE(scenario(disk));
    mutations = disk.files().mutations() - before;
  }
  for (uint64_t point = 0; point <= mutations; ++point) {
    LogOnDisk disk(1);
    known.clear();
    disk.files().die_after(point);
    ASSERT_EQ(scenario(disk), point == mutations);
    if (known.empty()) continue;
    for (uint64_t outcome = 0; outcome < 20; ++outcome, ++checked) {
      SCOPED_TRACE(fmt::format("step {} of {}, outcome {}", point, mutations, outcome));
      LogOnDisk crashed = disk.copy(outcome);
      crashed.crash(outcome == 0 ? Unsynced::lost : outcome == 1 ? Unsynced::kept : Unsynced::mixed);
      const auto log = crashed.must_open();
      ASSERT_NE(log, nullptr);
      ASSERT_EQ(without_times(log->producers()), known);
    }
  }
  EXPECT_GT(checked, 100u);
}

// A log that lives through everything, and at every death is compared with one that is read from its begin.
class Life {
 public:
  explicit Life(uint64_t seed) : seed_(seed), random_(seed), disk_(seed) {
    disk_.producers.limits.max_producers = 2 + random_.below(6);
    log_ = disk_.must_open();
  }

  void step() {
    switch (random_.below(12)) {
      case 0:
        ASSERT_TRUE(sync(*log_).ok());
        break;
      case 1:
        if (random_.one_in(4)) truncate();
        break;
      case 2:
        if (random_.one_in(3)) restart();
        break;
      case 3:
        overtaken_sync();
        break;
      default:
        append_one();
    }
  }
  void restart() {
    const uint64_t how = random_.below(3);
    if (how == 0) ASSERT_TRUE(log_->close().ok());
    log_ = nullptr;
    if (how == 1) disk_.kill();
    if (how == 2) disk_.crash();
    if (random_.one_in(4)) damage_a_snapshot();
    const std::string expected = without_times(rebuilt_from_log(disk_, seed_));
    log_ = disk_.must_open(how == 0);
    ASSERT_EQ(without_times(log_->producers()), expected);
    ASSERT_LE(snapshots_of(disk_).size(), ProducerSnapshotFiles::kKept);
  }

 private:
  void append_one() {
    const ProducerId producer(static_cast<int64_t>(random_.below(8)) - 1);
    TestBatch batch = batch_of(producer, 0, static_cast<int>(1 + random_.below(3)));
    batch.sequence = producer == kNoProducerId ? -1 : next_[producer]++;
    ASSERT_TRUE(append(*log_, batch, ++now_).has_value());
  }
  void truncate() {
    const Offset to(static_cast<int64_t>(random_.below(static_cast<uint64_t>(log_->end_offset().value()) + 1)));
    ASSERT_TRUE(log_->truncate_to(to).ok());
    ASSERT_EQ(without_times(log_->producers()), without_times(rebuilt_from_log(disk_, seed_)));
  }
  void overtaken_sync() {
    SyncWork work = log_->begin_sync();
    const Status performed = work.perform();
    random_.one_in(8) ? truncate() : append_one();
    ASSERT_TRUE(log_->finish_sync(std::move(work), performed).ok());
  }
  void damage_a_snapshot() {
    const auto names = snapshots_of(disk_);
    if (names.empty()) return;
    const std::string& name = names[random_.below(names.size())];
    const auto size = disk_.files().content(name).size();
    if (random_.one_in(2)) {
      disk_.files().flip_bit(name, random_.below(size), 1);
    } else {
      disk_.files().cut(name, random_.below(size));
    }
  }

  const uint64_t seed_;
  SimulatedRandom random_;
  LogOnDisk disk_;
  std::unique_ptr<PartitionLog> log_;
  std::map<ProducerId, int32_t> next_;
  WallTimeMs now_ = 0;
};

TEST(LogProducers, SnapshotAndTailAreTheSameAsReadingEverything) {
  const QuietLog quiet;
  const uint64_t recoveries_before = LogOnDisk::recoveries;
  for (uint64_t seed = 1; seed <= (kSanitized ? 30 : 300); ++seed) {
    Life life(seed);
    for (int step = 0; step < 200; ++step) {
      SCOPED_TRACE(fmt::format("seed {}, step {}", seed, step));
      life.step();
      if (HasFatalFailure()) return;
    }
    life.restart();
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(LogOnDisk::recoveries - recoveries_before, kSanitized ? 200u : 2000u) << "too few to mean anything";
}

// Power cuts at every step of rolling, storing snapshots, truncating and closing.
TEST(LogProducers, EveryCrashPointLeavesTheStateOfTheLog) {
  const QuietLog quiet;
  const auto scenario = [](LogOnDisk& disk) {
    auto opened = disk.open();
    if (!opened) return false;
    auto log = std::move(opened->log);
    int32_t sequence = 0;
    for (int round = 0; round < 2; ++round) {
      for (int i = 0; i < 12; ++i, ++sequence) {
        if (!append(*log, batch_of(ProducerId(i % 3), sequence))) return false;
        if (i % 4 == 3 && !sync(*log).ok()) return false;
      }
      // Then other batches of the same size, so that old snapshots would fit the new offsets.
      if (!log->truncate_to(Offset(6 + 8 * round)).ok()) return false;
      for (int i = 0; i < 9; ++i, ++sequence) {
        if (!append(*log, batch_of(ProducerId(3 + i % 2), sequence))) return false;
      }
      if (!sync(*log).ok()) return false;
    }
    return log->close().ok();
  };
  uint64_t mutations = 0, recoveries = 0;
  {
    LogOnDisk disk(1);
    const uint64_t before = disk.files().mutations();
    ASSERT_TRUE(scenario(disk));
    mutations = disk.files().mutations() - before;
  }
  for (uint64_t point = 0; point <= mutations; ++point) {
    LogOnDisk disk(1);
    disk.files().die_after(point);
    ASSERT_EQ(scenario(disk), point == mutations);
    for (uint64_t outcome = 0; outcome < 12; ++outcome, ++recoveries) {
      SCOPED_TRACE(fmt::format("step {} of {}, outcome {}", point, mutations, outcome));
      LogOnDisk crashed = disk.copy(outcome);
      crashed.crash(outcome == 0 ? Unsynced::lost : outcome == 1 ? Unsynced::kept : Unsynced::mixed);
      const std::string expected = without_times(rebuilt_from_log(crashed, outcome));
      const auto log = crashed.must_open();
      ASSERT_NE(log, nullptr);
      ASSERT_EQ(without_times(log->producers()), expected);
    }
  }
  EXPECT_GT(recoveries, 1000u);
}

}  // namespace
}  // namespace naru
