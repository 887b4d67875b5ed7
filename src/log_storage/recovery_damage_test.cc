// Logs that were damaged by something other than a crash: bits that flipped, files that are gone or cut.
#include <gtest/gtest.h>

#include "log_storage/log_storage_testing.h"

namespace naru {
namespace {

// Two sealed segments and an active one; the active one is promised up to its middle.
class DamagedLog : public testing::Test {
 protected:
  DamagedLog() {
    disk.config.segment_bytes = 420;  // five of these batches
    const auto log = disk.must_open();
    for (int i = 0; i < 14; ++i) {
      batches.push_back(numbered_batch(i, 2, LeaderEpoch(i / 5)));
      EXPECT_TRUE(append(*log, batches.back()).has_value());
      if (i == 11) EXPECT_TRUE(sync(*log).ok());
    }
    promised = log->durable_end();
    EXPECT_EQ(log->segment_count(), 3u);
    active_base = 20;
  }

  struct Outcome {
    Status refused;
    std::vector<TestBatch> found;
    Status read_error;
    RecoveryReport report;
  };
  Outcome recover(LogOnDisk& damaged, bool clean = false) {
    Outcome outcome;
    const auto opened = damaged.open(clean);
    if (!opened) {
      outcome.refused = opened.error();
      return outcome;
    }
    outcome.report = opened->report;
    auto found = read_all(*opened->log);
    if (!found) {
      outcome.read_error = found.error();
      return outcome;
    }
    outcome.found = *found;
    if (outcome.found.size() == batches.size()) expect_times(*opened->log);
    return outcome;
  }
  // The timestamps of numbered batches rise.
  void expect_times(PartitionLog& log) {
    for (size_t i = 0; i < batches.size(); ++i) {
      const WallTimeMs timestamp = batches[i].records[1].timestamp;
      const auto found = log.find_first_at_or_after(timestamp, log.end_offset());
      ASSERT_TRUE(found.has_value()) << found.error().to_string();
      ASSERT_TRUE(found->has_value()) << timestamp;
      ASSERT_EQ((*found)->offset, Offset(static_cast<int64_t>(2 * i + 1)));
    }
    const auto latest = log.find_max_timestamp(log.end_offset());
    ASSERT_TRUE(latest.has_value()) << latest.error().to_string();
    ASSERT_EQ((*latest)->offset, log.end_offset() - 1);
  }
  void expect_everything(const Outcome& outcome) {
    ASSERT_TRUE(outcome.refused.ok()) << outcome.refused.to_string();
    ASSERT_TRUE(outcome.read_error.ok()) << outcome.read_error.to_string();
    ASSERT_EQ(outcome.found.size(), batches.size());
    ASSERT_TRUE(is_prefix(outcome.found, batches));
  }

  LogOnDisk disk{5};
  std::vector<TestBatch> batches;
  Offset promised;
  int64_t active_base = 0;
};

TEST_F(DamagedLog, IsWholeAfterAKill) {
  disk.kill();
  expect_everything(recover(disk));
}

TEST_F(DamagedLog, CutAtEveryByteItLosesOnlyWhatWasNotPromisedOrRefuses) {
  const std::string path = LogOnDisk::segment(active_base);
  const uint64_t size = disk.files().content(path).size();
  uint64_t cut_back = 0, refused = 0;
  for (uint64_t keep = 0; keep < size; ++keep) {
    SCOPED_TRACE(keep);
    LogOnDisk damaged = disk.copy(1);
    damaged.files().cut(path, keep);
    const Outcome outcome = recover(damaged);
    if (!outcome.refused.ok()) {
      ASSERT_EQ(outcome.refused, ErrorCode::corrupt_data);
      ASSERT_NE(outcome.refused.message().find(path), std::string::npos) << outcome.refused.message();
      ++refused;
      continue;
    }
    ASSERT_TRUE(is_prefix(outcome.found, batches));
    ASSERT_GE(offsets_in(outcome.found), promised.value());
    ++cut_back;
    ASSERT_FALSE(recover(damaged).report.remarkable()) << "the second recovery finds nothing to do";
  }
  EXPECT_GT(cut_back, 100u);
  EXPECT_GT(refused, 100u);
}

TEST_F(DamagedLog, EveryFlippedBitIsRepairedRefusedOrNoticedByTheReader) {
  uint64_t repaired = 0, refused = 0, noticed = 0, cut = 0;
  for (const DirectoryEntry& entry : *disk.files().list(kTestFolder)) {
    if (entry.name == kMetadataFileName) continue;
    const std::string path = LogOnDisk::path(entry.name);
    const bool is_log = entry.name.ends_with(kLogSuffix);
    const uint64_t size = disk.files().content(path).size();
    // With a sanitizer, each bit of a byte somewhere.
    for (uint64_t bit = 0; bit < size * 8; bit += kSanitized ? 9 : 1) {
      SCOPED_TRACE(fmt::format("{} byte {} bit {}", path, bit / 8, bit % 8));
      LogOnDisk damaged = disk.copy(1);
      damaged.files().flip_bit(path, bit / 8, bit % 8);
      const Outcome outcome = recover(damaged);
      if (!outcome.refused.ok()) {
        ASSERT_NE(outcome.refused.message().find(path), std::string::npos) << outcome.refused.message();
        ASSERT_TRUE(is_log || entry.name == kCheckpointFileName) << "what can be rebuilt is rebuilt";
        ++refused;
      } else if (!outcome.read_error.ok()) {
        ASSERT_EQ(outcome.read_error, ErrorCode::corrupt_message) << outcome.read_error.to_string();
        ASSERT_TRUE(is_log) << outcome.read_error.to_string();
        ++noticed;
      } else {
        std::vector<TestBatch> without_epochs = outcome.found;
        // A batch's leader epoch lies outside of its CRC; as long as epochs rise, nobody can tell.
        if (is_log) {
          for (size_t i = 0; i < without_epochs.size(); ++i) without_epochs[i].epoch = batches[i].epoch;
        }
        ASSERT_TRUE(is_prefix(without_epochs, batches));
        ASSERT_GE(offsets_in(outcome.found), promised.value());
        ++(outcome.found.size() < batches.size() ? cut : repaired);
      }
    }
  }
  constexpr uint64_t kTried = kSanitized ? 100 : 1000;
  EXPECT_GT(refused, kTried);
  EXPECT_GT(noticed, kTried);
  EXPECT_GT(cut, kTried / 2);
  EXPECT_GT(repaired, kTried * 5);
}

TEST_F(DamagedLog, FilesThatCanBeRebuiltMayGo) {
  for (const DirectoryEntry& entry : *disk.files().list(kTestFolder)) {
    if (entry.name == kMetadataFileName || entry.name.ends_with(kLogSuffix)) continue;
    SCOPED_TRACE(entry.name);
    LogOnDisk damaged = disk.copy(1);
    ASSERT_TRUE(damaged.files().remove_file(LogOnDisk::path(entry.name)).ok());
    const Outcome outcome = recover(damaged);
    expect_everything(outcome);
    EXPECT_EQ(outcome.report.remarkable(), !entry.name.starts_with(segment_file_name(Offset(active_base), "")));
    EXPECT_FALSE(recover(damaged).report.remarkable());
  }
}

TEST_F(DamagedLog, AMissingSegmentIsRefused) {
  for (const int64_t base : {int64_t{0}, int64_t{10}, active_base}) {
    LogOnDisk damaged = disk.copy(1);
    ASSERT_TRUE(damaged.files().remove_file(LogOnDisk::segment(base)).ok());
    const Outcome outcome = recover(damaged);
    EXPECT_EQ(outcome.refused, ErrorCode::corrupt_data) << base;
    EXPECT_NE(outcome.refused.message().find(kTestFolder), std::string::npos);
  }
}

TEST_F(DamagedLog, TheWayOutThatARefusalNamesWorks) {
  LogOnDisk damaged = disk.copy(1);
  damaged.files().flip_bit(LogOnDisk::segment(active_base), 30, 3);
  const Outcome outcome = recover(damaged);
  ASSERT_EQ(outcome.refused, ErrorCode::corrupt_data);
  EXPECT_NE(outcome.refused.message().find("from offset 20 on, cut the file to 0 bytes"), std::string::npos)
      << outcome.refused.message();
  damaged.files().cut(LogOnDisk::segment(active_base), 0);
  ASSERT_TRUE(damaged.files().remove_file(LogOnDisk::path(kCheckpointFileName)).ok());
  const Outcome after = recover(damaged);
  ASSERT_TRUE(after.refused.ok()) << after.refused.to_string();
  EXPECT_EQ(offsets_in(after.found), 20);
}

TEST_F(DamagedLog, WithoutACheckpointNothingIsCut) {
  LogOnDisk damaged = disk.copy(1);
  ASSERT_TRUE(damaged.files().remove_file(LogOnDisk::path(kCheckpointFileName)).ok());
  const std::string path = LogOnDisk::segment(active_base);
  damaged.files().cut(path, damaged.files().content(path).size() - 1);
  EXPECT_EQ(recover(damaged).refused, ErrorCode::corrupt_data);
}

TEST_F(DamagedLog, GarbageAndZerosBehindTheLastBatchAreCut) {
  for (const char filling : {'\0', 'x'}) {
    LogOnDisk damaged = disk.copy(1);
    const std::string path = LogOnDisk::segment(active_base);
    const uint64_t size = damaged.files().content(path).size();
    const std::string tail(5000, filling);
    ASSERT_TRUE(damaged.files().open(path, OpenMode::write).value()->write_at(size, as_bytes(tail)).ok());
    const Outcome outcome = recover(damaged);
    expect_everything(outcome);
    EXPECT_EQ(outcome.report.dropped_bytes, tail.size());
    EXPECT_EQ(damaged.files().content(path).size(), size);
  }
}

TEST_F(DamagedLog, OverlappingSegmentsAndForeignTopicsAreRefused) {
  LogOnDisk overlapping = disk.copy(1);
  ASSERT_TRUE(overlapping.files().rename(LogOnDisk::segment(active_base), LogOnDisk::segment(19)).ok());
  const Outcome outcome = recover(overlapping);
  EXPECT_EQ(outcome.refused, ErrorCode::corrupt_data);
  EXPECT_NE(outcome.refused.message().find(LogOnDisk::segment(19)), std::string::npos) << outcome.refused.message();

  OpenFiles files(disk.files(), 4);
  const auto foreign = PartitionLog::open(disk.files(), files, kTestFolder, disk.config, {.topic_id = Uuid{1, 2}});
  EXPECT_EQ(foreign.error(), ErrorCode::inconsistent_topic_id);

  LogOnDisk anonymous = disk.copy(1);
  ASSERT_TRUE(anonymous.files().remove_file(LogOnDisk::path(kMetadataFileName)).ok());
  EXPECT_EQ(recover(anonymous).refused, ErrorCode::corrupt_data);
}

TEST_F(DamagedLog, UnknownFilesAreLeftAlone) {
  ASSERT_TRUE(disk.files().open(LogOnDisk::path("notes.txt"), OpenMode::create).has_value());
  ASSERT_TRUE(disk.files().open(LogOnDisk::path("7.log"), OpenMode::create).has_value());
  disk.kill();
  expect_everything(recover(disk));
  EXPECT_TRUE(*disk.files().exists(LogOnDisk::path("notes.txt")));
  EXPECT_TRUE(*disk.files().exists(LogOnDisk::path("7.log")));
}

TEST_F(DamagedLog, AMarkOfACleanShutdownThatIsNotTrueDoesNoHarm) {
  disk.kill();
  expect_everything(recover(disk, true));
}

// "Could not read" must never look like "is not there".
TEST_F(DamagedLog, ReadErrorsAreErrors) {
  for (uint64_t nth = 1;; ++nth) {
    LogOnDisk failing = disk.copy(1);
    failing.files().fail_nth(FileOperation::read, nth);
    const auto opened = failing.open();
    if (opened) break;
    ASSERT_EQ(opened.error(), ErrorCode::io_error);
    failing.files().clear_faults();
    expect_everything(recover(failing));
    ASSERT_LT(nth, 1000u);
  }
}

}  // namespace
}  // namespace naru
