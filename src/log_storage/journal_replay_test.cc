#include "log_storage/journal_replay.h"

#include <gtest/gtest.h>

#include "foundation/canary_testing.h"
#include "log_storage/log_storage_testing.h"

namespace naru {
namespace {

JournaledBatch batch(int64_t base, int64_t end) {
  return {.base_offset = Offset(base), .end_offset = Offset(end), .leader_epoch = LeaderEpoch(3), .truncations = 1};
}
constexpr ReplayTarget kLog{.end = Offset(10), .last_epoch = LeaderEpoch(3), .truncations = 1};

TEST(JournalReplay, OnlyABatchAtTheEndContinuesTheLog) {
  EXPECT_EQ(decide(kLog, batch(10, 12)), ReplayAction::append);
  EXPECT_EQ(decide(kLog, batch(8, 10)), ReplayAction::skip);
  EXPECT_EQ(decide(kLog, batch(9, 12)), ReplayAction::skip);
  EXPECT_EQ(decide(kLog, batch(11, 12)), ReplayAction::skip) << "what came before it was never durable";
}

TEST(JournalReplay, WhatWasWrittenBeforeATruncationIsVoid) {
  JournaledBatch old = batch(10, 12);
  old.truncations = 0;
  old.durable_before = Offset(99);
  EXPECT_EQ(decide(kLog, old), ReplayAction::skip);
}

TEST(JournalReplay, AnEarlierLeaderDoesNotContinueALaterOne) {
  JournaledBatch old = batch(10, 12);
  old.leader_epoch = LeaderEpoch(2);
  EXPECT_EQ(decide(kLog, old), ReplayAction::skip);
}

TEST(JournalReplay, AGapBelowWhatWasDurableIsALoss) {
  JournaledBatch later = batch(12, 13);
  later.durable_before = Offset(11);
  EXPECT_EQ(decide(kLog, later), ReplayAction::refuse);
  later.durable_before = Offset(10);
  EXPECT_EQ(decide(kLog, later), ReplayAction::skip);
}

// A log whose batches are also in a journal, of which the log's files lose a part.
class ReplayedLog : public testing::Test {
 protected:
  // Appends, and puts the stored bytes into the journal.
  void append_journaled(PartitionLog& log, const TestBatch& content) {
    const BuiltBatch built = build(content);
    const auto outcome = log.append(built.bytes, built.validated, content.epoch, 0);
    ASSERT_TRUE(outcome.has_value());
    Bytes stored(outcome->header.begin(), outcome->header.end());
    append_bytes(stored, batch_records(built.bytes));
    journaled.batches.push_back({.base_offset = outcome->base_offset,
                                 .end_offset = outcome->last_offset + 1,
                                 .leader_epoch = content.epoch,
                                 .truncations = log.truncations(),
                                 .durable_before = log.durable_end(),
                                 .position = *file->size(),
                                 .bytes = static_cast<uint32_t>(stored.size())});
    ASSERT_TRUE(file->write_at(*file->size(), stored).ok());
    ASSERT_TRUE(file->sync_data().ok());
    ASSERT_TRUE(disk.files().sync_directory("/").ok());
    EXPECT_TRUE(log.journaled({outcome->base_offset, outcome->last_offset + 1, log.truncations()}));
    batches.push_back(content);
  }
  Result<OpenedLog> open_with_journal() {
    journaled.file = disk.files().open("/journal", OpenMode::read).value();
    const std::array all{journaled};
    return PartitionLog::open(disk.files(), open_files, kTestFolder, disk.config,
                              {.topic_id = kTestTopic, .now = 0, .journaled = all});
  }

  LogOnDisk disk{5};
  OpenFiles open_files{disk.files(), 4};
  std::shared_ptr<File> file = disk.files().open("/journal", OpenMode::create).value();
  JournaledBatches journaled;
  std::vector<TestBatch> batches;
  const QuietLog quiet_;
};

TEST_F(ReplayedLog, GetsBackWhatItsFilesHaveLostAndIsDurableByItself) {
  {
    const auto log = disk.must_open();
    for (int i = 0; i < 12; ++i) append_journaled(*log, numbered_batch(i, 2, LeaderEpoch(i / 5)));
    EXPECT_EQ(log->durable_end(), Offset(24));
    EXPECT_EQ(log->synced_end(), Offset(0));
  }
  disk.crash(Unsynced::lost);
  {
    auto opened = open_with_journal();
    ASSERT_TRUE(opened.has_value()) << opened.error().to_string();
    EXPECT_EQ(opened->report.replayed_batches, 12u);
    EXPECT_EQ(opened->report.end_offset, Offset(24));
    EXPECT_EQ(opened->log->synced_end(), Offset(24));
    EXPECT_GT(opened->log->segment_count(), 1u);
  }
  disk.crash(Unsynced::lost);
  const auto log = disk.must_open();
  const auto found = read_all(*log);
  ASSERT_TRUE(found.has_value());
  ASSERT_EQ(found->size(), 12u);
  EXPECT_TRUE(is_prefix(*found, batches));
  EXPECT_EQ(log->latest_epoch(), LeaderEpoch(2));
}

TEST_F(ReplayedLog, DoesNotGetBackWhatWasTruncated) {
  {
    const auto log = disk.must_open();
    for (int i = 0; i < 6; ++i) append_journaled(*log, numbered_batch(i));
    ASSERT_TRUE(log->truncate_to(Offset(4)).ok());
    EXPECT_FALSE(log->journaled({Offset(10), Offset(12), 0})) << "told late";
    EXPECT_EQ(log->durable_end(), Offset(4));
  }
  disk.crash(Unsynced::lost);
  const auto opened = open_with_journal();
  ASSERT_TRUE(opened.has_value()) << opened.error().to_string();
  EXPECT_EQ(opened->log->end_offset(), Offset(4)) << "what stays was durable only through the journal";
  EXPECT_EQ(opened->report.replayed_batches, 0u);
}

TEST_F(ReplayedLog, CanBeTruncatedAfterItsStartHasPassedWhatItsFilesHold) {
  {
    const auto log = disk.must_open();
    for (int i = 0; i < 12; ++i) append_journaled(*log, numbered_batch(i));
    ASSERT_EQ(log->synced_end(), Offset(0));
    ASSERT_TRUE(move_start(*log, Offset(18)).ok());
    EXPECT_GT(log->take_segments_below_start().segments, 0u);
    ASSERT_TRUE(log->truncate_to(Offset(22)).ok());
    EXPECT_EQ(log->durable_end(), Offset(22));
  }
  disk.crash(Unsynced::lost);
  const auto opened = open_with_journal();
  ASSERT_TRUE(opened.has_value()) << opened.error().to_string();
  EXPECT_EQ(opened->log->start_offset(), Offset(18));
  EXPECT_EQ(opened->log->end_offset(), Offset(22));
}

TEST_F(ReplayedLog, RefusesWhenSomethingDurableIsMissingInFrontOfAJournaledBatch) {
  {
    const auto log = disk.must_open();
    for (int i = 0; i < 4; ++i) append_journaled(*log, numbered_batch(i));
  }
  disk.crash(Unsynced::lost);
  journaled.batches.erase(journaled.batches.begin() + 1);
  const auto opened = open_with_journal();
  ASSERT_FALSE(opened.has_value());
  EXPECT_EQ(opened.error(), ErrorCode::corrupt_data);
  EXPECT_NE(opened.error().message().find("/journal"), std::string::npos) << opened.error().to_string();
  // A person accepts the loss.
  ASSERT_TRUE(disk.files().remove_file(LogOnDisk::path("checkpoint")).ok());
  const auto accepted = open_with_journal();
  ASSERT_TRUE(accepted.has_value()) << accepted.error().to_string();
  EXPECT_EQ(accepted->log->truncations(), 1u) << "the rest of the journal stays void, also after the next crash";
}

// The start was moved into a segment whose name is durable, while what is in front of it is so in the journal alone.
class ReplayedProducers : public ReplayedLog {
 protected:
  static constexpr int kBatches = 20;

  void lose_what_lies_below_the_start() {
    {
      const auto log = disk.must_open();
      for (int i = 0; i < 4; ++i) append_journaled(*log, batch(i));
      ASSERT_TRUE(sync(*log).ok());
      for (int i = 4; i < kBatches; ++i) append_journaled(*log, batch(i));
      ASSERT_GT(log->segment_count(), 3u);
      ASSERT_TRUE(disk.files().sync_directory(kTestFolder).ok());
      ASSERT_TRUE(move_start(*log, log->end_offset()).ok());
    }
    disk.crash(Unsynced::lost);
  }
  // Four batches of each producer.
  static TestBatch batch(int number) {
    TestBatch batch = numbered_batch(number, 1);
    batch.producer = ProducerId(number / 4);
    batch.sequence = number;
    return batch;
  }
  static bool knows_all(const PartitionLog& log) {
    for (int number = 3; number < kBatches; number += 4) {
      const Producer* producer = log.producers().find(ProducerId(number / 4));
      if (producer == nullptr || producer->newest().next_offset() != Offset(number + 1)) return false;
    }
    return true;
  }
};

TEST_F(ReplayedProducers, AreKnownAlthoughTheFilesHaveLostTheirBatchesBelowTheStart) {
  lose_what_lies_below_the_start();
  {
    const auto opened = open_with_journal();
    ASSERT_TRUE(opened.has_value()) << opened.error().to_string();
    EXPECT_EQ(opened->log->start_offset(), Offset(kBatches));
    EXPECT_EQ(opened->log->end_offset(), Offset(kBatches));
    EXPECT_GT(opened->log->segment_facts().front().base_offset, Offset(8)) << "of which nothing tells any more";
    EXPECT_TRUE(knows_all(*opened->log));
  }
  disk.crash(Unsynced::lost);
  EXPECT_TRUE(knows_all(*disk.must_open())) << "without the journal";
}

TEST_F(ReplayedProducers, AreForgottenWhereTheJournalIsVoidBelowTheStart) {
  const PlantedCanary planted(Canary::journal_void_below_start);
  lose_what_lies_below_the_start();
  const auto opened = open_with_journal();
  ASSERT_TRUE(opened.has_value()) << opened.error().to_string();
  EXPECT_FALSE(knows_all(*opened->log));
}

}  // namespace
}  // namespace naru
