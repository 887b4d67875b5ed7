#include "log_storage/partition_log.h"

#include <gtest/gtest.h>

#include "log_storage/index_file.h"
#include "log_storage/log_storage_testing.h"

namespace naru {
namespace {

std::vector<TestBatch> append_numbered(PartitionLog& log, int from, int to) {
  std::vector<TestBatch> batches;
  for (int i = from; i < to; ++i) {
    batches.push_back(numbered_batch(i));
    const auto outcome = append(log, batches.back());
    EXPECT_TRUE(outcome.has_value()) << outcome.error().to_string();
  }
  return batches;
}

TEST(PartitionLog, GivesConsecutiveOffsetsAcrossSegments) {
  LogOnDisk disk(1);
  const auto log = disk.must_open();
  for (int i = 0; i < 20; ++i) {
    const auto outcome = append(*log, numbered_batch(i, 3));
    ASSERT_TRUE(outcome.has_value());
    EXPECT_EQ(outcome->base_offset, Offset(3 * i));
    EXPECT_EQ(outcome->last_offset, Offset(3 * i + 2));
    EXPECT_EQ(outcome->log_append_time_ms, kNoTimestamp);
  }
  EXPECT_EQ(log->end_offset(), Offset(60));
  EXPECT_GT(log->segment_count(), 3u);
  EXPECT_EQ(log->durable_end(), Offset(0));
  ASSERT_TRUE(sync(*log).ok());
  EXPECT_EQ(log->durable_end(), Offset(60));
}

TEST(PartitionLog, ReadsWholeBatchesFromAnyOffsetWithinLimits) {
  LogOnDisk disk(1);
  const auto log = disk.must_open();
  append_numbered(*log, 0, 4);  // offsets 0 to 7
  const uint32_t batch_bytes = static_cast<uint32_t>(build(numbered_batch(0)).bytes.size());

  const auto middle = log->read(Offset(3), Offset(8), 10'000, false);
  ASSERT_TRUE(middle.has_value());
  EXPECT_EQ(middle->base_offset, Offset(2)) << "the batch that holds offset 3 begins at 2";
  EXPECT_EQ(middle->next_offset, Offset(8));

  EXPECT_EQ(log->read(Offset(0), Offset(8), 2 * batch_bytes + 1, false)->bytes, 2 * batch_bytes);
  EXPECT_EQ(log->read(Offset(0), Offset(8), batch_bytes - 1, true)->bytes, batch_bytes);
  EXPECT_TRUE(log->read(Offset(0), Offset(8), batch_bytes - 1, false)->empty());
  EXPECT_EQ(log->read(Offset(0), Offset(6), 10'000, true)->next_offset, Offset(6)) << "nothing beyond the limit";
  EXPECT_EQ(log->read(Offset(0), Offset(5), 10'000, true)->next_offset, Offset(4)) << "no batch that crosses it";
  EXPECT_TRUE(log->read(Offset(8), Offset(8), 10'000, true)->empty()) << "the end of the log";
  EXPECT_EQ(log->read(Offset(9), Offset(9), 10'000, true).error(), ErrorCode::offset_out_of_range);
  EXPECT_EQ(log->read(Offset(-1), Offset(9), 10'000, true).error(), ErrorCode::offset_out_of_range);
}

TEST(PartitionLog, StoresLogAppendTimeWhereTheTopicAsksForIt) {
  LogOnDisk disk(1);
  const auto log = disk.must_open();
  BuiltBatch built = build(numbered_batch(1));
  built.validated.timestamp = {TimestampType::log_append_time, 777};
  const auto outcome = log->append(built.bytes, built.validated, LeaderEpoch(4), 777);
  ASSERT_TRUE(outcome.has_value());
  EXPECT_EQ(outcome->log_append_time_ms, 777);
  const auto all = read_all(*log);
  ASSERT_TRUE(all.has_value()) << all.error().to_string();
  EXPECT_EQ(all->front().records[0].timestamp, 777);
  EXPECT_EQ(all->front().epoch, LeaderEpoch(4));
}

TEST(PartitionLog, FollowerAppendsBatchesAsTheyAre) {
  LogOnDisk leader_disk(1), follower_disk(2);
  const auto leader = leader_disk.must_open();
  const auto follower = follower_disk.must_open();
  append_numbered(*leader, 0, 3);
  for (Offset at(0); at < leader->end_offset();) {
    const auto slice = leader->read(at, leader->end_offset(), 1, true);
    Bytes bytes(slice->bytes);
    ASSERT_TRUE(slice->file->read_at(slice->position, bytes).has_value());
    const auto header = parse_batch_header(bytes);
    ASSERT_TRUE(follower->append_stored(bytes, *header, 0).has_value());
    EXPECT_EQ(follower->append_stored(bytes, *header, 0).error(), ErrorCode::offset_out_of_range);
    at = slice->next_offset;
  }
  EXPECT_EQ(leader_disk.files().content(LogOnDisk::segment(0)), follower_disk.files().content(LogOnDisk::segment(0)));
}

TEST(PartitionLog, RefusesBatchesOfAnOlderEpoch) {
  LogOnDisk disk(1);
  const auto log = disk.must_open();
  ASSERT_TRUE(append(*log, numbered_batch(0, 2, LeaderEpoch(5))).has_value());
  EXPECT_EQ(append(*log, numbered_batch(1, 2, LeaderEpoch(4))).error(), ErrorCode::fenced_leader_epoch);
  EXPECT_FALSE(log->offline());
  EXPECT_EQ(log->end_offset(), Offset(2));
}

TEST(PartitionLog, ABatchLargerThanASegmentHasOneForItself) {
  LogOnDisk disk(1);
  auto log = disk.must_open();
  for (const int64_t records : {2, 100, 2}) ASSERT_TRUE(append(*log, numbered_batch(1, records)).has_value());
  for (const int64_t base : {0, 2, 102}) {
    EXPECT_TRUE(disk.files().exists(LogOnDisk::segment(base)).value_or(false)) << base;
  }
  log.reset();
  log = disk.must_open();
  EXPECT_EQ(log->end_offset(), Offset(104));
  EXPECT_EQ(log->read(Offset(50), Offset(104), 1 << 20, true)->next_offset, Offset(102));
}

TEST(PartitionLog, RollsByAge) {
  LogOnDisk disk(1);
  disk.config.segment_ms = 1000;
  const auto log = disk.must_open();
  ASSERT_TRUE(append(*log, numbered_batch(0), 5000).has_value());
  ASSERT_TRUE(append(*log, numbered_batch(1), 5999).has_value());
  EXPECT_EQ(log->segment_count(), 1u);
  ASSERT_TRUE(append(*log, numbered_batch(2), 6000).has_value());
  EXPECT_EQ(log->segment_count(), 2u);
  ASSERT_TRUE(log->maybe_roll_by_time(6500).ok());
  EXPECT_EQ(log->segment_count(), 2u);
  ASSERT_TRUE(log->maybe_roll_by_time(7000).ok());
  EXPECT_EQ(log->segment_count(), 3u);
  ASSERT_TRUE(log->maybe_roll_by_time(90'000).ok());
  EXPECT_EQ(log->segment_count(), 3u) << "an empty segment does not age";
}

TEST(PartitionLog, RollsWhenTheIndexIsFull) {
  LogOnDisk disk(1);
  disk.config.segment_bytes = 1 << 20;
  disk.config.index_interval_bytes = 1;
  disk.config.segment_index_bytes = 4 * OffsetIndexEntry::kSize;
  const auto log = disk.must_open();
  append_numbered(*log, 0, 11);
  EXPECT_EQ(log->segment_count(), 3u) << "the first batch of each segment needs no entry";
}

TEST(PartitionLog, AnswersWhereAnEpochEnds) {
  LogOnDisk disk(1);
  auto log = disk.must_open();
  ASSERT_TRUE(append(*log, numbered_batch(0, 2, LeaderEpoch(2))).has_value());
  ASSERT_TRUE(append(*log, numbered_batch(1, 2, LeaderEpoch(2))).has_value());
  ASSERT_TRUE(append(*log, numbered_batch(2, 2, LeaderEpoch(5))).has_value());
  for (const bool restarted : {false, true}) {
    if (restarted) {
      log = nullptr;
      disk.kill();
      log = disk.must_open();
    }
    EXPECT_EQ(log->latest_epoch(), LeaderEpoch(5));
    EXPECT_EQ(log->end_offset_for_epoch(LeaderEpoch(5)), (EpochEnd{LeaderEpoch(5), Offset(6)}));
    EXPECT_EQ(log->end_offset_for_epoch(LeaderEpoch(4)), (EpochEnd{LeaderEpoch(2), Offset(4)}));
    EXPECT_EQ(log->end_offset_for_epoch(LeaderEpoch(2)), (EpochEnd{LeaderEpoch(2), Offset(4)}));
    EXPECT_EQ(log->end_offset_for_epoch(LeaderEpoch(1)), (EpochEnd{LeaderEpoch(1), Offset(0)}));
    EXPECT_EQ(log->end_offset_for_epoch(LeaderEpoch(6)), EpochEnd{});
  }
}

TEST(PartitionLog, CleanRestartReadsAlmostNothingAndKeepsEverything) {
  LogOnDisk disk(1);
  auto log = disk.must_open();
  const auto batches = append_numbered(*log, 0, 30);
  ASSERT_TRUE(log->close().ok());
  log = nullptr;
  disk.crash(Unsynced::lost);
  uint64_t bytes_read = 0;
  disk.files().set_trace([&](FileOperation operation, const std::string&, uint64_t bytes) {
    EXPECT_FALSE(is_mutation(operation));
    if (operation == FileOperation::read) bytes_read += bytes;
  });
  const auto opened = disk.open(true);
  ASSERT_TRUE(opened.has_value()) << opened.error().to_string();
  EXPECT_EQ(opened->report.scanned_bytes, 0u);
  EXPECT_FALSE(opened->report.remarkable());
  const auto all = read_all(*opened->log);
  ASSERT_TRUE(all.has_value());
  EXPECT_EQ(all->size(), batches.size());
  EXPECT_TRUE(is_prefix(*all, batches));
  disk.files().set_trace(nullptr);
}

TEST(PartitionLog, TruncatesToABatchBoundary) {
  LogOnDisk disk(1);
  auto log = disk.must_open();
  auto batches = append_numbered(*log, 0, 20);
  ASSERT_TRUE(sync(*log).ok());
  ASSERT_TRUE(log->truncate_to(Offset(13)).ok());
  EXPECT_EQ(log->end_offset(), Offset(12)) << "the batch [12, 14) goes as a whole";
  EXPECT_EQ(log->durable_end(), Offset(12));
  batches.resize(6);
  for (int i = 100; i < 110; ++i) {
    batches.push_back(numbered_batch(i));
    ASSERT_TRUE(append(*log, batches.back()).has_value());
  }
  const auto all = read_all(*log);
  ASSERT_TRUE(all.has_value()) << all.error().to_string();
  EXPECT_EQ(all->size(), batches.size());
  EXPECT_TRUE(is_prefix(*all, batches));
  EXPECT_EQ(log->truncate_to(Offset(-1)), ErrorCode::offset_out_of_range);
  EXPECT_TRUE(log->truncate_to(Offset(1000)).ok());
}

TEST(PartitionLog, ASyncThatATruncationOvertookPromisesNothing) {
  LogOnDisk disk(1);
  auto log = disk.must_open();
  append_numbered(*log, 0, 10);
  SyncWork work = log->begin_sync();
  ASSERT_TRUE(log->truncate_to(Offset(4)).ok());
  append_numbered(*log, 20, 30);
  const Status performed = work.perform();
  ASSERT_TRUE(log->finish_sync(std::move(work), performed).ok());
  EXPECT_LE(log->durable_end(), Offset(4));
  ASSERT_TRUE(sync(*log).ok());
  EXPECT_EQ(log->durable_end(), log->end_offset());
}

TEST(PartitionLog, DamagedBatchIsReportedAndNeverTheEndOfTheLog) {
  LogOnDisk disk(1);
  disk.config.index_interval_bytes = 1000;  // the index leads over batches that lie inside of a slice
  auto log = disk.must_open();
  append_numbered(*log, 0, 20);
  const uint64_t second = build(numbered_batch(0)).bytes.size();
  disk.files().flip_bit(LogOnDisk::segment(0), second + batch_field::kMagic, 0);
  const auto before = log->read(Offset(0), log->end_offset(), 10'000, true);
  ASSERT_TRUE(before.has_value());
  EXPECT_EQ(before->next_offset, Offset(2)) << "what lies before the damage can be read";
  const auto damaged = log->read(Offset(2), log->end_offset(), 10'000, true);
  ASSERT_FALSE(damaged.has_value());
  EXPECT_EQ(damaged.error(), ErrorCode::corrupt_message);
  EXPECT_NE(damaged.error().message().find(LogOnDisk::segment(0)), std::string::npos);
}

TEST(PartitionLog, ABatchThatLiesAboutItsEndIsNotMistakenForOneThatIsHeldBack) {
  LogOnDisk disk(1);
  auto log = disk.must_open();
  append_numbered(*log, 0, 3);
  EXPECT_TRUE(log->read(Offset(0), Offset(1), 10'000, true)->empty()) << "held back by the limit";
  disk.files().flip_bit(LogOnDisk::segment(0), batch_field::kLastOffsetDelta + 3, 1);  // 1 becomes 3
  EXPECT_EQ(log->read(Offset(0), Offset(2), 10'000, true).error(), ErrorCode::corrupt_message);
}

TEST(PartitionLog, KeepsFewFilesOpen) {
  LogOnDisk disk(1);
  const auto log = disk.must_open();
  append_numbered(*log, 0, 100);
  ASSERT_TRUE(sync(*log).ok());
  ASSERT_GT(log->segment_count(), 10u);
  ASSERT_TRUE(read_all(*log).has_value());
  EXPECT_LE(disk.files().open_files(), 4u + 2u) << "the bound, the active segment, the checkpoint";
}

}  // namespace
}  // namespace naru
