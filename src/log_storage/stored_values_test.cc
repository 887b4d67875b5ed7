// The small files of a log, each for itself.
#include <gtest/gtest.h>

#include <algorithm>

#include "log_storage/checkpoint_file.h"
#include "log_storage/epoch_history.h"
#include "log_storage/index_file.h"
#include "log_storage/log_storage_testing.h"
#include "log_storage/segment.h"

namespace naru {
namespace {

TEST(EpochHistory, HasKafkasText) {
  EpochHistory history;
  EXPECT_TRUE(history.assign(LeaderEpoch(0), Offset(0)));
  EXPECT_FALSE(history.assign(LeaderEpoch(0), Offset(5)));
  EXPECT_TRUE(history.assign(LeaderEpoch(3), Offset(7)));
  EXPECT_EQ(history.to_text(), "0\n2\n0 0\n3 7\n");
  EXPECT_EQ(EpochHistory::parse(as_bytes(history.to_text())).value(), history);
  history.truncate(Offset(7));
  EXPECT_EQ(history.to_text(), "0\n1\n0 0\n");
}

TEST(EpochHistory, RefusesEverythingElse) {
  for (const char* text :
       {"", "0", "0\n", "1\n0\n", "0\n1\n", "0\n0\n1 1\n", "0\n1\n1 1", "0\n1\n1  1\n", "0\n1\n-1 1\n", "0\n1\n1 -1\n",
        "0\n2\n1 1\n1 2\n", "0\n2\n1 1\n2 1\n", "0\n1\n99999999999 1\n", "0\nx\n", "0\n1\n1 1\n\n"}) {
    EXPECT_FALSE(EpochHistory::parse(as_bytes(text)).has_value()) << text;
  }
}

class StoredFiles : public testing::Test {
 protected:
  SimulatedRandom random{1};
  SimulatedFileSystem files{random};
  CheckpointFile must_open_checkpoint() { return CheckpointFile::open(files, "").value(); }
};

TEST_F(StoredFiles, ACheckpointSurvivesTheLossOfEitherSlot) {
  {
    CheckpointFile checkpoint = must_open_checkpoint();
    EXPECT_FALSE(checkpoint.value().has_value());
    ASSERT_TRUE(checkpoint.write_both_and_sync({Offset(1), Offset(0)}).ok());
    ASSERT_TRUE(checkpoint.write({Offset(5), Offset(0)}).ok());
  }
  EXPECT_EQ(must_open_checkpoint().value()->durable_end, Offset(5));
  const Bytes content = files.content("/checkpoint");
  ASSERT_EQ(content.size(), 2 * CheckpointFile::kSlotBytes);
  for (uint64_t byte = 0; byte < content.size(); ++byte) {
    files.flip_bit("/checkpoint", byte, 2);
    const auto value = must_open_checkpoint().value();
    ASSERT_TRUE(value.has_value()) << byte;
    EXPECT_TRUE(value->durable_end == Offset(1) || value->durable_end == Offset(5)) << byte;
    files.flip_bit("/checkpoint", byte, 2);
  }
}

// Of writes without a sync, a power cut may spoil all.
TEST_F(StoredFiles, WritesThatWereNotSyncedEndangerOneSlotOfACheckpointOnly) {
  {
    CheckpointFile checkpoint = must_open_checkpoint();
    ASSERT_TRUE(checkpoint.write_both_and_sync({Offset(1), Offset(0)}).ok());
  }
  for (int64_t life = 1; life < 20; ++life) {
    const Bytes before = files.content("/checkpoint");
    CheckpointFile checkpoint = must_open_checkpoint();
    const auto written_before = checkpoint.sequence();
    for (int64_t i = 1; i <= life % 4; ++i) {
      ASSERT_TRUE(checkpoint.write({checkpoint.value()->durable_end + 1, Offset(0)}).ok());
    }
    if (life % 5 == 0) checkpoint.synced(written_before);  // the sync began before the writes
    if (life % 3 == 0) ASSERT_TRUE(checkpoint.sync().ok());
    ASSERT_TRUE(checkpoint.write({checkpoint.value()->durable_end + 1, Offset(0)}).ok());
    const Bytes after = files.content("/checkpoint");
    const auto changed = [&](size_t slot) {
      return !std::ranges::equal(
          BytesView(before).subspan(slot * CheckpointFile::kSlotBytes, CheckpointFile::kSlotBytes),
          BytesView(after).subspan(slot * CheckpointFile::kSlotBytes, CheckpointFile::kSlotBytes));
    };
    if (life % 3 != 0) EXPECT_NE(changed(0), changed(1)) << life;
    // The process dies, and another one goes on with what is in the page cache.
  }
}

TEST_F(StoredFiles, ALoweredCheckpointLeavesNoHigherValueBehind) {
  CheckpointFile checkpoint = must_open_checkpoint();
  ASSERT_TRUE(checkpoint.write({Offset(50), Offset(0)}).ok());
  ASSERT_TRUE(checkpoint.write({Offset(60), Offset(0)}).ok());
  ASSERT_TRUE(checkpoint.write_both_and_sync({Offset(7), Offset(0)}).ok());
  for (const uint64_t slot : {0, 1}) {
    files.flip_bit("/checkpoint", slot * CheckpointFile::kSlotBytes, 0);
    EXPECT_EQ(must_open_checkpoint().value()->durable_end, Offset(7));
    files.flip_bit("/checkpoint", slot * CheckpointFile::kSlotBytes, 0);
  }
}

TEST_F(StoredFiles, AnIndexFindsItsEntriesInTheFileAndInMemory) {
  OpenFiles open_files(files, 2);
  OffsetIndex index(open_files, "/x.offset-index");
  for (uint32_t i = 0; i < 1300; ++i) {
    index.append({2 * i, 10 * i});
    if (index.flush_is_due() && i < 1100) ASSERT_TRUE(index.flush().ok());
  }
  ASSERT_EQ(index.size(), 1300u);
  for (uint32_t offset = 0; offset < 2700; ++offset) {
    const auto found = index.last_where([&](const OffsetIndexEntry& entry) { return entry.relative_offset <= offset; });
    ASSERT_TRUE(found.has_value() && found->has_value());
    ASSERT_EQ((*found)->relative_offset, std::min(offset / 2 * 2, 2598u));
  }
  ASSERT_TRUE(index.truncate([](const OffsetIndexEntry& entry) { return entry.position < 3000; }).ok());
  EXPECT_EQ(index.size(), 300u);
  index.append({9000, 9000});
  ASSERT_TRUE(index.flush().ok());
  const auto loaded = OffsetIndex::load(open_files, "/x.offset-index");
  ASSERT_TRUE(loaded.has_value()) << loaded.error().to_string();
  EXPECT_EQ(loaded->size(), 301u);
  EXPECT_EQ(loaded->last(), (OffsetIndexEntry{9000, 9000}));
}

TEST_F(StoredFiles, OpenFilesClosesTheLeastRecentlyUsed) {
  OpenFiles open_files(files, 2);
  ASSERT_TRUE(open_files.open("/a", OpenMode::create).has_value());
  const auto held = open_files.open("/b", OpenMode::create).value();
  ASSERT_TRUE(open_files.open("/a").has_value());
  ASSERT_TRUE(open_files.open("/c", OpenMode::create).has_value());
  EXPECT_EQ(open_files.size(), 2u);
  EXPECT_EQ(files.open_files(), 3u) << "b is out, but still held";
  EXPECT_NE(open_files.open("/b").value(), held);
  open_files.forget("/b");
  EXPECT_EQ(open_files.size(), 1u);
}

TEST_F(StoredFiles, ASegmentRollsBeforeItsRelativeOffsetsOverflow) {
  OpenFiles open_files(files, 2);
  Segment segment(open_files, "", Offset(100));
  segment.set_end({.position = 1, .offset = Offset(100) + std::numeric_limits<int32_t>::max() - 1});
  BatchHeader header{.base_offset = segment.end_offset(), .total_size = 100, .last_offset_delta = 1};
  EXPECT_FALSE(segment.must_roll_for(header, {}, 0));
  header.last_offset_delta = 2;
  EXPECT_TRUE(segment.must_roll_for(header, {}, 0));
}

TEST(EpochHistory, KnowsNothingOfEpochsThatNobodyEverHad) {
  EpochHistory history;
  for (const int32_t epoch : {INT32_MIN, -2, -1, 0, 7}) {
    EXPECT_EQ(history.end_offset_for(LeaderEpoch(epoch), Offset(0)), EpochEnd{}) << epoch;
  }
  history.assign(LeaderEpoch(3), Offset(0));
  history.assign(LeaderEpoch(5), Offset(10));
  EXPECT_EQ(history.end_offset_for(LeaderEpoch(-2), Offset(20)), EpochEnd{});
  EXPECT_EQ(history.end_offset_for(LeaderEpoch(1), Offset(20)), (EpochEnd{LeaderEpoch(1), Offset(0)}));
  EXPECT_EQ(history.end_offset_for(LeaderEpoch(4), Offset(20)), (EpochEnd{LeaderEpoch(3), Offset(10)}));
}

}  // namespace
}  // namespace naru
