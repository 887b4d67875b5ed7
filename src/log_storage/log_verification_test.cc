// Finding damage in a log that is in use, and opening one without what is damaged.
#include "log_storage/log_verification.h"

#include <gtest/gtest.h>

#include "log_storage/checkpoint_file.h"
#include "log_storage/log_storage_testing.h"

namespace naru {
namespace {

// Four sealed segments of five batches, of 10 offsets each, with two leader epochs in each of them, and an active one.
class LogVerification : public testing::Test {
 protected:
  LogVerification() {
    disk.config.segment_bytes = 420;
    log = disk.must_open();
    for (int i = 0; i < 22; ++i) {
      batches.push_back(numbered_batch(i, 2, LeaderEpoch(i / 3)));
      EXPECT_TRUE(append(*log, batches.back()).has_value());
    }
    EXPECT_TRUE(sync(*log).ok());
    EXPECT_EQ(log->segment_count(), 5U);
    batch_bytes = build(batches.at(12)).bytes.size();
  }

  // The first damage, as a partition would look for it.
  std::optional<LogDamage> verify() {
    Offset from{0};
    for (;;) {
      auto segment = log->written_segment(from);
      if (!segment) ADD_FAILURE() << segment.error().to_string();
      if (!segment || !*segment) return std::nullopt;
      SegmentVerification verification(**segment);
      for (;;) {
        const auto read = verification.next();
        if (!read) return verification.damage();
        if (*read == 0) break;
      }
      EXPECT_TRUE(log->holds(**segment));
      from = (*segment)->end_offset;
    }
  }
  void flip(int64_t segment, uint64_t position) { disk.files().flip_bit(LogOnDisk::segment(segment), position, 3); }
  Result<OpenedLog> open_without(LogOnDisk& on_disk, Offset give_up_from) {
    return PartitionLog::open(on_disk.files(), on_disk.open_files(), kTestFolder, on_disk.config,
                              {.topic_id = kTestTopic, .give_up_from = give_up_from});
  }

  LogOnDisk disk{5};
  std::unique_ptr<PartitionLog> log;
  std::vector<TestBatch> batches;
  uint64_t batch_bytes = 0;
};

TEST_F(LogVerification, FindsNothingInALogThatIsWhole) {
  EXPECT_EQ(verify(), std::nullopt);
}

TEST_F(LogVerification, FindsEveryFlippedByteOfABatch) {
  for (uint64_t byte = 0; byte < batch_bytes; ++byte) {
    SCOPED_TRACE(byte);
    flip(20, 2 * batch_bytes + byte);
    const auto damage = verify();
    ASSERT_TRUE(damage.has_value());
    EXPECT_EQ(damage->path, LogOnDisk::segment(20));
    EXPECT_EQ(damage->segment, Offset(20));
    EXPECT_EQ(damage->position, 2 * batch_bytes);
    EXPECT_EQ(damage->offset, Offset(24));
    const bool in_epoch = byte >= batch_field::kLeaderEpoch && byte < batch_field::kLeaderEpoch + 4;
    EXPECT_EQ(damage->unreadable, !in_epoch);
    flip(20, 2 * batch_bytes + byte);
  }
  EXPECT_EQ(verify(), std::nullopt);
}

TEST_F(LogVerification, ASegmentThatWasTruncatedMeanwhileSaysNothing) {
  const auto segment = log->written_segment(Offset(20));
  ASSERT_TRUE(segment && *segment);
  ASSERT_TRUE(log->truncate_to(Offset(24)).ok());
  EXPECT_FALSE(log->holds(**segment));
  EXPECT_EQ(verify(), std::nullopt);
}

TEST_F(LogVerification, ADamagedBatchIsRefusedAndTheOthersAreRead) {
  flip(20, 2 * batch_bytes + 70);
  log->note_damage(*verify());
  const auto before = log->read(Offset(20), log->end_offset(), 10'000, true);
  ASSERT_TRUE(before.has_value()) << before.error().to_string();
  EXPECT_EQ(before->next_offset, Offset(24));
  EXPECT_EQ(log->read(Offset(24), log->end_offset(), 10'000, true).error(), ErrorCode::corrupt_message);
  EXPECT_EQ(log->read(Offset(25), log->end_offset(), 10'000, true).error(), ErrorCode::corrupt_message);
  const auto behind = log->read(Offset(26), log->end_offset(), 10'000, true);
  ASSERT_TRUE(behind.has_value()) << behind.error().to_string();
  EXPECT_EQ(behind->next_offset, Offset(30));
  ASSERT_TRUE(log->truncate_to(Offset(24)).ok());
  EXPECT_EQ(log->damage(), nullptr) << "it is gone";
}

TEST_F(LogVerification, ALogIsOpenedAgainUpToItsDamage) {
  flip(20, 2 * batch_bytes + 70);
  const uint64_t truncations = log->truncations();
  log->give_up_damaged(Status(ErrorCode::corrupt_data, "damaged"));
  EXPECT_TRUE(log->may_be_reopened());
  EXPECT_EQ(append(*log, batches.back()).error(), ErrorCode::log_offline);
  ASSERT_TRUE(log->sync_before_reopening().ok());
  log.reset();
  for (const Offset known : {Offset(24), kNoOffset}) {
    SCOPED_TRACE(known.value());
    LogOnDisk copy = disk.copy(1);
    auto opened = open_without(copy, known);
    ASSERT_TRUE(opened.has_value()) << opened.error().to_string();
    EXPECT_EQ(opened->log->end_offset(), Offset(24));
    EXPECT_EQ(opened->log->durable_end(), Offset(24));
    EXPECT_EQ(opened->log->truncations(), truncations + 1) << "no older copy of itself, and nothing for a journal";
    const auto left = read_all(*opened->log);
    ASSERT_TRUE(left.has_value()) << left.error().to_string();
    EXPECT_EQ(left->size(), 12U);
    EXPECT_TRUE(is_prefix(*left, batches));
    EXPECT_EQ(opened->log->latest_epoch(), LeaderEpoch(11 / 3));
    ASSERT_TRUE(append(*opened->log, numbered_batch(50, 2, LeaderEpoch(9))).has_value());
    ASSERT_TRUE(sync(*opened->log).ok());
    opened->log.reset();
    copy.crash(Unsynced::lost);
    const auto after = copy.must_open();
    EXPECT_EQ(after->end_offset(), Offset(26));
  }
}

// An epoch that no reader of the file can tell from a good one.
TEST_F(LogVerification, WhatIsGivenUpGoesThoughItLooksWhole) {
  log.reset();
  for (const int64_t from : {0, 1, 10, 13, 30, 43}) {
    SCOPED_TRACE(from);
    LogOnDisk copy = disk.copy(1);
    const auto opened = open_without(copy, Offset(from));
    ASSERT_TRUE(opened.has_value()) << opened.error().to_string();
    EXPECT_EQ(opened->log->end_offset(), Offset(from / 2 * 2));
  }
}

TEST_F(LogVerification, AnInterruptedCutIsRefusedAndDoneAgain) {
  flip(20, 2 * batch_bytes + 70);
  ASSERT_TRUE(log->close().ok());
  const uint64_t truncations = log->truncations();
  log.reset();
  int interrupted = 0;
  for (uint64_t step = 1; step < 40; ++step) {
    SCOPED_TRACE(step);
    LogOnDisk copy = disk.copy(step);
    copy.files().fail_nth(FileOperation::sync_data, static_cast<int>(step), "");
    if (open_without(copy, kNoOffset)) break;
    ++interrupted;
    copy.crash();
    if (const auto plain = copy.open()) {
      const bool is_cut = plain->log->truncations() > truncations;
      EXPECT_EQ(plain->log->end_offset(), Offset(is_cut ? 24 : 44)) << "nobody takes the rest for all there was";
    }
    const auto again = open_without(copy, kNoOffset);
    ASSERT_TRUE(again.has_value()) << again.error().to_string();
    EXPECT_EQ(again->log->end_offset(), Offset(24));
  }
  EXPECT_GT(interrupted, 1);
}

}  // namespace
}  // namespace naru
