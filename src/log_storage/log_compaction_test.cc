// Whole compactions of logs on a simulated disk, compared with what must be left.
#include "log_storage/log_compaction.h"

#include <gtest/gtest.h>

#include <set>

#include "log_storage/compaction_progress_file.h"
#include "log_storage/compaction_testing.h"
#include "record_format/batch_rewriter.h"

namespace naru {
namespace {

KeyedBatch put(const std::string& key, const std::string& value, WallTimeMs timestamp = 100) {
  return {.records = {{.timestamp = timestamp, .key = key, .value = value}}};
}
KeyedBatch remove(const std::string& key, WallTimeMs timestamp = 100) {
  return {.records = {{.timestamp = timestamp, .key = key}}};
}

std::vector<std::string> texts(PartitionLog& log) {
  std::vector<std::string> lines;
  for (const KeyedRecord& record : read_records(log).value()) {
    lines.push_back(fmt::format("{} {}={}", record.offset, record.key.value_or("-"), record.value.value_or("null")));
  }
  return lines;
}

// Appends each batch into a segment of its own, then begins a new one.
std::unique_ptr<PartitionLog> one_segment_each(LogOnDisk& disk, const std::vector<KeyedBatch>& batches) {
  auto log = disk.must_open();
  for (const KeyedBatch& batch : batches) {
    EXPECT_TRUE(append(*log, batch).has_value());
    EXPECT_TRUE(log->roll_active(0).ok());
  }
  EXPECT_TRUE(sync(*log).ok());
  return log;
}

TEST(LogCompaction, KeepsTheLastRecordOfEachKeyAtItsOffset) {
  LogOnDisk disk(1);
  const auto log = one_segment_each(disk, {put("a", "1"), put("b", "2"), put("a", "3"), put("c", "4"), put("b", "5")});
  ASSERT_TRUE(append(*log, put("c", "in the active segment")).has_value());
  const auto statistics = compact_now(*log, compaction_at(1000));
  ASSERT_TRUE(statistics.has_value()) << statistics.error().to_string();
  EXPECT_EQ(texts(*log), (std::vector<std::string>{"2 a=3", "3 c=4", "4 b=5", "5 c=in the active segment"}));
  EXPECT_EQ(statistics->removed_records, 2U);
  EXPECT_EQ(statistics->replaced_segments, 5U);
  EXPECT_EQ(log->segment_count(), 2U) << "small segments are put together";
  EXPECT_EQ(log->start_offset(), Offset(0));
  EXPECT_EQ(log->end_offset(), Offset(6));
  EXPECT_EQ(log->compaction_progress().first_dirty, Offset(5));
}

TEST(LogCompaction, DeleteMarkersStayForTheirTimeAfterTheFirstCompaction) {
  LogOnDisk disk(2);
  const auto log = one_segment_each(disk, {put("a", "1"), remove("a"), put("b", "2")});
  ASSERT_TRUE(compact_now(*log, compaction_at(5'000, 1'000)).has_value());
  EXPECT_EQ(texts(*log), (std::vector<std::string>{"1 a=null", "2 b=2"}));
  EXPECT_EQ(log->compaction_progress().next_delete_horizon, 6'000);
  ASSERT_TRUE(compact_now(*log, compaction_at(5'999, 50)).has_value());
  EXPECT_EQ(texts(*log), (std::vector<std::string>{"1 a=null", "2 b=2"})) << "the first compaction has set the time";
  ASSERT_TRUE(compact_now(*log, compaction_at(6'000, 1'000)).has_value());
  EXPECT_EQ(texts(*log), (std::vector<std::string>{"2 b=2"}));
  EXPECT_EQ(log->compaction_progress().next_delete_horizon, kNeverByClock);
}

TEST(LogCompaction, TheLastRecordStaysSoThatReadersArriveAtTheEnd) {
  LogOnDisk disk(18);
  const auto log = one_segment_each(disk, {put("a", "1"), remove("a"), remove("b")});
  for (const WallTimeMs now : {1'000, 5'000, 9'000})
    ASSERT_TRUE(compact_now(*log, compaction_at(now, 100)).has_value());
  EXPECT_EQ(texts(*log), (std::vector<std::string>{"2 b=null"}));
  EXPECT_EQ(log->compaction_progress().next_delete_horizon, kNeverByClock) << "nothing to wait for";
  ASSERT_TRUE(append(*log, put("c", "2")).has_value());
  ASSERT_TRUE(log->roll_active(0).ok());
  ASSERT_TRUE(compact_now(*log, compaction_at(9'500, 100)).has_value());
  EXPECT_EQ(texts(*log), (std::vector<std::string>{"3 c=2"}));
}

TEST(LogCompaction, RecordsWithoutAKeyAreFromAnotherTimeAndGo) {
  LogOnDisk disk(3);
  const auto log = one_segment_each(disk, {{.records = {{.value = "no key"}}}, put("a", "1")});
  ASSERT_TRUE(compact_now(*log, compaction_at(0)).has_value());
  EXPECT_EQ(texts(*log), (std::vector<std::string>{"1 a=1"}));
}

TEST(LogCompaction, ASecondOneFindsNothingToDo) {
  LogOnDisk disk(4);
  const auto log = one_segment_each(disk, {put("a", "1"), put("b", "2"), put("a", "3"), remove("b")});
  ASSERT_TRUE(compact_now(*log, compaction_at(0)).has_value());
  const Bytes before = disk.files().content(LogOnDisk::segment(0));
  const auto again = compact_now(*log, compaction_at(10));
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->new_segments, 0U);
  EXPECT_EQ(disk.files().content(LogOnDisk::segment(0)), before);
  EXPECT_FALSE(*disk.files().exists(LogOnDisk::segment(0, ".log.cleaned")));
}

TEST(LogCompaction, WithTooLittleMemoryItGoesOnNextTime) {
  LogOnDisk disk(5);
  std::vector<KeyedBatch> batches;
  for (int i = 0; i < 40; ++i) batches.push_back(put(std::to_string(i % 10), std::to_string(i)));
  const auto log = one_segment_each(disk, batches);
  const auto expected = replay(read_records(*log).value());
  int rounds = 0;
  while (log->compaction_progress().first_dirty < Offset(40)) {
    const Offset before = log->compaction_progress().first_dirty;
    ASSERT_TRUE(compact_now(*log, compaction_at(0, 1000, 3 * OffsetMap::kBytesPerKey)).has_value());
    ASSERT_GT(log->compaction_progress().first_dirty, before);
    EXPECT_EQ(replay(read_records(*log).value()), expected);
    ++rounds;
  }
  EXPECT_GT(rounds, 5);
  EXPECT_EQ(read_records(*log)->size(), 10U);
}

TEST(LogCompaction, LeaderEpochsBeginWhereTheyBegan) {
  LogOnDisk disk(6);
  auto log = disk.must_open();
  for (int i = 0; i < 12; ++i) {
    KeyedBatch batch = put("a", std::to_string(i));
    batch.epoch = LeaderEpoch(i / 3);
    ASSERT_TRUE(append(*log, batch).has_value());
  }
  ASSERT_TRUE(log->roll_active(0).ok());
  ASSERT_TRUE(sync(*log).ok());
  ASSERT_TRUE(compact_now(*log, compaction_at(0)).has_value());
  EXPECT_EQ(texts(*log), (std::vector<std::string>{"11 a=11"}));
  log = nullptr;
  disk.kill();
  ASSERT_TRUE(disk.files().remove_file(LogOnDisk::path(kEpochFileName)).ok());
  log = disk.must_open();
  for (int epoch = 0; epoch < 3; ++epoch) {
    EXPECT_EQ(log->end_offset_for_epoch(LeaderEpoch(epoch)), (EpochEnd{LeaderEpoch(epoch), Offset(3 * epoch + 3)}));
  }
}

TEST(LogCompaction, SegmentsAreNotPutTogetherBeyondTheirLimits) {
  LogConfig config = LogOnDisk::small_segments();
  config.segment_bytes = 300;
  LogOnDisk disk(7, config);
  std::vector<KeyedBatch> batches;
  for (int i = 0; i < 12; ++i) batches.push_back(put(std::to_string(i), "value"));
  const auto log = one_segment_each(disk, batches);
  ASSERT_TRUE(compact_now(*log, compaction_at(0)).has_value());
  EXPECT_LT(log->segment_count(), 13U);
  for (const SegmentFacts& facts : log->segment_facts()) EXPECT_LE(facts.bytes, 300U);
}

TEST(LogCompaction, NoSegmentSpansMoreThanAnIndexCanTell) {
  LogOnDisk disk(8);
  const auto log = disk.must_open();
  OpenFiles files(disk.files(), 4);
  auto cleaned = CleanedSegment::create(files, kTestFolder, Offset(0), disk.config);
  ASSERT_TRUE(cleaned.has_value());
  EXPECT_TRUE(cleaned->has_room_for(1, Offset(int64_t{1} << 31)));
  EXPECT_FALSE(cleaned->has_room_for(1, Offset((int64_t{1} << 31) + 1)));
  ASSERT_TRUE(cleaned->append_removed(Offset(0), Offset(int64_t{1} << 31), LeaderEpoch(0)).ok());
  EXPECT_TRUE(cleaned->finish(0).ok());
}

TEST(LogCompaction, AppendsReadsAndANewStartDoNotDisturbIt) {
  LogOnDisk disk(9);
  const auto log = one_segment_each(disk, {put("a", "1"), put("b", "2"), put("a", "3"), put("b", "4")});
  const auto held = log->read(Offset(0), Offset(4), 1000, true);
  const auto owned = log->begin_compaction(log->segment_count() - 1, compaction_at(0)).value();
  LogCompaction& compaction = *owned;
  ASSERT_TRUE(append(*log, put("a", "5")).has_value());
  ASSERT_TRUE(run_now(compaction.read_keys()).ok());
  ASSERT_TRUE(run_now(compaction.clean_next()).value());
  ASSERT_TRUE(append(*log, put("a", "6")).has_value());
  ASSERT_TRUE(log->begin_swap(compaction));
  EXPECT_EQ(log->truncate_to(Offset(2)), ErrorCode::request_timed_out);
  const Status committed = compaction.commit_swap();
  EXPECT_EQ(texts(*log).size(), 6U) << "until it is adopted, readers have the old segments";
  ASSERT_TRUE(log->adopt_swap(compaction, committed).ok());
  EXPECT_EQ(texts(*log).size(), 4U) << "the new one is read before it has its name";
  ASSERT_TRUE(append(*log, put("a", "7")).has_value());
  ASSERT_TRUE(log->end_swap(compaction, compaction.finish_swap()).ok());
  EXPECT_EQ(texts(*log), (std::vector<std::string>{"2 a=3", "3 b=4", "4 a=5", "5 a=6", "6 a=7"}));
  Bytes old(held->bytes);
  EXPECT_EQ(held->file->read_at(held->position, old).value(), old.size()) << "readers keep what they have";
  EXPECT_FALSE(run_now(compaction.clean_next()).value());
  ASSERT_TRUE(log->close().ok());
}

TEST(LogCompaction, ATruncationMakesItVoid) {
  LogOnDisk disk(10);
  const auto log = one_segment_each(disk, {put("a", "1"), put("a", "2"), put("a", "3")});
  const auto owned = log->begin_compaction(log->segment_count() - 1, compaction_at(0)).value();
  LogCompaction& compaction = *owned;
  ASSERT_TRUE(run_now(compaction.read_keys()).ok());
  ASSERT_TRUE(run_now(compaction.clean_next()).value());
  ASSERT_TRUE(log->truncate_to(Offset(2)).ok());
  EXPECT_FALSE(log->begin_swap(compaction));
  compaction.discard();
  EXPECT_EQ(texts(*log), (std::vector<std::string>{"0 a=1", "1 a=2"}));
}

// Behind its last swap nothing holds a truncation up.
TEST(LogCompaction, ItsProgressIsVoidIfTheLogIsTruncatedOrBegunAnewBeforeItsEnd) {
  for (const bool anew : {false, true}) {
    LogOnDisk disk(10);
    {
      const auto log = one_segment_each(disk, {put("a", "1"), put("b", "2"), put("c", "3"), put("d", "4")});
      const auto owned = log->begin_compaction(log->segment_count() - 1, compaction_at(0)).value();
      LogCompaction& compaction = *owned;
      ASSERT_TRUE(run_now(compaction.read_keys()).ok());
      while (run_now(compaction.clean_next()).value()) {
        ASSERT_TRUE(log->begin_swap(compaction));
        ASSERT_TRUE(log->adopt_swap(compaction, compaction.commit_swap()).ok());
        ASSERT_TRUE(log->end_swap(compaction, compaction.finish_swap()).ok());
      }
      ASSERT_TRUE((anew ? log->restart_at(Offset(0), 1000) : log->truncate_to(Offset(1))).ok());
      ASSERT_TRUE(compaction.write_progress().ok());
      log->end_compaction(compaction);
      EXPECT_EQ(log->compaction_progress().first_dirty, Offset(0)) << (anew ? "begun anew" : "truncated");
      ASSERT_TRUE(log->close().ok());
    }
    disk.crash(Unsynced::lost);
    EXPECT_EQ(disk.must_open()->compaction_progress().first_dirty, Offset(0));
  }
}

TEST(LogCompaction, CanBeCancelled) {
  LogOnDisk disk(11);
  const auto log = one_segment_each(disk, {put("a", "1"), put("a", "2")});
  CancelSource source;
  CompactionSettings settings = compaction_at(0);
  settings.cancelled = source.token();
  const auto owned = log->begin_compaction(2, settings).value();
  LogCompaction& compaction = *owned;
  ASSERT_TRUE(run_now(compaction.read_keys()).ok());
  source.cancel();
  EXPECT_EQ(run_now(compaction.clean_next()).error(), ErrorCode::cancelled);
  EXPECT_FALSE(*disk.files().exists(LogOnDisk::segment(0, ".log.cleaned")));
  EXPECT_EQ(texts(*log).size(), 2U);
}

TEST(LogCompaction, AFullDiskLeavesTheLogAsItWas) {
  LogOnDisk disk(12);
  const auto log = one_segment_each(disk, {put("a", "1"), put("a", "2")});
  disk.files().fail_nth(FileOperation::write, 1, ".cleaned", ErrorCode::disk_full);
  EXPECT_EQ(compact_now(*log, compaction_at(0)).error(), ErrorCode::disk_full);
  EXPECT_FALSE(log->offline());
  EXPECT_EQ(texts(*log).size(), 2U);
  ASSERT_TRUE(compact_now(*log, compaction_at(0)).has_value());
  EXPECT_EQ(texts(*log).size(), 1U);
}

TEST(LogCompaction, DamageIsReportedAndNothingIsThrownAway) {
  LogOnDisk disk(13);
  const auto log = one_segment_each(disk, {put("a", "1"), put("a", "2")});
  disk.files().flip_bit(LogOnDisk::segment(0), 65, 3);
  EXPECT_EQ(compact_now(*log, compaction_at(0)).error(), ErrorCode::corrupt_message);
  EXPECT_TRUE(*disk.files().exists(LogOnDisk::segment(1)));
}

TEST(LogCompaction, ReadersSkipWhatWasEmptied) {
  LogOnDisk disk(14);
  const auto log = one_segment_each(disk, {put("a", "1", 900), put("a", "2"), put("b", "3"), put("b", "4")});
  ASSERT_TRUE(compact_now(*log, compaction_at(0)).has_value());
  EXPECT_EQ(texts(*log), (std::vector<std::string>{"1 a=2", "3 b=4"}));
  const auto at = [&](int64_t from, int64_t limit) {
    return log->read(Offset(from), Offset(limit), 1, true, EmptyBatches::skip).value();
  };
  EXPECT_EQ(at(0, 4).base_offset, Offset(1));
  EXPECT_EQ(at(2, 4).base_offset, Offset(3));
  EXPECT_EQ(at(3, 4).base_offset, Offset(3));
  EXPECT_EQ(at(2, 3).base_offset, Offset(2)) << "nothing but an empty batch below the limit: clients may move over it";
  EXPECT_EQ(at(2, 3).next_offset, Offset(3));
  EXPECT_EQ(log->read(Offset(0), Offset(4), 1, true).value().base_offset, Offset(0)) << "replicas get all";
  EXPECT_EQ(log->find_max_timestamp(Offset(4)).value()->offset, Offset(1)) << "of the records that are left";
}

TEST(LogCompaction, ProgressSurvivesARestartButNotATruncation) {
  LogOnDisk disk(15);
  {
    const auto log = one_segment_each(disk, {put("a", "1"), remove("a"), put("b", "1")});
    ASSERT_TRUE(compact_now(*log, compaction_at(100, 50)).has_value());
  }
  disk.crash(Unsynced::lost);
  {
    const auto log = disk.must_open();
    EXPECT_EQ(log->compaction_progress(), (CompactionProgress{Offset(3), 150}));
    ASSERT_TRUE(log->truncate_to(Offset(1)).ok());
    EXPECT_EQ(log->compaction_progress().first_dirty, Offset(1));
  }
  disk.crash(Unsynced::lost);
  EXPECT_EQ(disk.must_open()->compaction_progress(), CompactionProgress{});
  ASSERT_TRUE(replace_file(disk.files(), kTestFolder, "compaction-checkpoint", as_bytes("1\nsomething new\n")).ok());
  EXPECT_EQ(disk.open().error(), ErrorCode::unsupported_format);
}

// Sequence numbers of a producer, one batch of two records after the other.
std::vector<KeyedBatch> from_producer(int64_t id, int count) {
  std::vector<KeyedBatch> batches;
  for (int i = 0; i < count; ++i) {
    KeyedBatch batch{.producer_id = ProducerId(id), .base_sequence = 2 * i};
    for (int record = 0; record < 2; ++record)
      batch.records.push_back({.key = "k", .value = fmt::format("{}.{}", id, i)});
    batches.push_back(std::move(batch));
  }
  return batches;
}

std::map<int64_t, std::vector<ProducerBatch>> windows(const PartitionLog& log) {
  std::map<int64_t, std::vector<ProducerBatch>> all;
  for (const Producer& producer : log.producers().producers()) {
    all[producer.id.value()].assign(producer.batches.begin(), producer.batches.begin() + producer.batch_count);
  }
  return all;
}

TEST(LogCompaction, WhatIsKnownOfProducersCanBeReadFromWhatIsLeft) {
  LogOnDisk disk(16);
  std::vector<KeyedBatch> batches = from_producer(5, 9);
  std::ranges::copy(from_producer(6, 2), std::back_inserter(batches));
  batches.push_back(put("k", "the last one"));
  auto log = one_segment_each(disk, batches);
  const auto known = windows(*log);
  ASSERT_EQ(known.at(5).size(), 5U);
  for (int round = 0; round < 2; ++round) {
    ASSERT_TRUE(compact_now(*log, compaction_at(0)).has_value());
    EXPECT_EQ(texts(*log), (std::vector<std::string>{"22 k=the last one"}));
    log = nullptr;
    disk.kill();
    for (const DirectoryEntry& entry : disk.files().list(kTestFolder).value()) {
      if (entry.name.ends_with(kProducerSnapshotSuffix))
        ASSERT_TRUE(disk.files().remove_file(LogOnDisk::path(entry.name)).ok());
    }
    log = disk.must_open();
    EXPECT_TRUE(windows(*log) == known);
  }
}

TEST(LogCompaction, ForgottenProducersLeaveNothingBehind) {
  HandClock clock;
  LogOnDisk disk(17);
  disk.producers.clock = &clock;
  std::vector<KeyedBatch> batches = from_producer(5, 3);
  batches.push_back(put("k", "the last one"));
  const auto log = one_segment_each(disk, batches);
  ASSERT_TRUE(compact_now(*log, compaction_at(0)).has_value());
  const uint64_t with_producer = log->size_bytes();
  constexpr WallTimeMs kTwoDays = 48 * 3'600'000LL;
  clock.running += Milliseconds(kTwoDays);
  ASSERT_TRUE(log->maybe_roll_by_time(kTwoDays).ok());
  ASSERT_TRUE(log->producers().empty());
  ASSERT_TRUE(compact_now(*log, compaction_at(kTwoDays)).has_value());
  EXPECT_LT(log->size_bytes(), with_producer);
  EXPECT_EQ(texts(*log), (std::vector<std::string>{"6 k=the last one"}));
}

}  // namespace
}  // namespace naru
