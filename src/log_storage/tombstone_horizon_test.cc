// Below which offset a log lacks delete markers: when that rises, that it is stored first, and what truncation makes of
// it.
#include "log_storage/tombstone_horizon.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "foundation/canary_testing.h"
#include "log_storage/compaction_testing.h"
#include "log_storage/partition_folder.h"
#include "log_storage/transaction_testing.h"

namespace naru {
namespace {

constexpr int64_t kRetention = 1'000;
const std::string kFile = LogOnDisk::path(kTombstoneFileName);

std::string stored(LogOnDisk& disk) {
  return std::string(as_text(disk.files().content(kFile)));
}

// Offsets 0 to 3: a value of "k", its deletion, and two of "x"; each in a segment of its own, and an active one.
void fill(PartitionLog& log) {
  for (const auto& record : {KeyedRecord{.key = "k", .value = "v"}, KeyedRecord{.key = "k", .value = {}},
                             KeyedRecord{.key = "x", .value = "1"}, KeyedRecord{.key = "x", .value = "2"}}) {
    ASSERT_TRUE(append(log, {.records = {record}}).has_value());
    ASSERT_TRUE(log.roll_active(0).ok());
  }
  ASSERT_TRUE(append(log, {.records = {{.key = "y", .value = "1"}}}).has_value());
  ASSERT_TRUE(sync(log).ok());
}

void compact_twice(PartitionLog& log, CompactionSettings second = compaction_at(2'000, kRetention)) {
  ASSERT_TRUE(compact_now(log, compaction_at(100, kRetention)).has_value());
  EXPECT_EQ(log.tombstone_horizon(), TombstoneHorizon{}) << "the marker waits for its delete horizon";
  ASSERT_TRUE(compact_now(log, second).has_value());
}

bool has_marker(PartitionLog& log) {
  const auto records = read_records(log).value();
  return std::ranges::any_of(records, [](const KeyedRecord& record) { return record.key == "k" && !record.value; });
}

TEST(TombstoneHorizon, RisesWhenMarkersAreDroppedAndOutlivesTheProcess) {
  LogOnDisk disk(1);
  {
    auto log = disk.must_open();
    fill(*log);
    compact_twice(*log);
    EXPECT_FALSE(has_marker(*log));
    EXPECT_EQ(log->tombstone_horizon(), (TombstoneHorizon{.offset = Offset(2), .drops = 1}));
    EXPECT_EQ(stored(disk), "0\n2\n1\n") << "docs/formats/log.md";
  }
  disk.crash(Unsynced::lost);
  EXPECT_EQ(disk.must_open()->tombstone_horizon(), (TombstoneHorizon{.offset = Offset(2), .drops = 1}));
}

TEST(TombstoneHorizon, ThatIsNotStoredIsNoticed) {
  const PlantedCanary planted(Canary::horizon_not_stored);
  LogOnDisk disk(1);
  {
    auto log = disk.must_open();
    fill(*log);
    compact_twice(*log);
  }
  disk.crash(Unsynced::lost);
  const auto log = disk.must_open();
  EXPECT_FALSE(has_marker(*log));
  EXPECT_EQ(log->tombstone_horizon().offset, Offset(0));
}

TEST(TombstoneHorizon, CoversTheMarkersOfTransactionsToo) {
  LogOnDisk disk(1);
  auto log = disk.must_open();
  for (int32_t number = 0; number < 7; ++number) {  // only the last five batches are remembered
    ASSERT_TRUE(append_data(*log, {.sequence = number, .records = {{"k", "v"}}}).has_value());
    ASSERT_TRUE(append_marker(*log, 1, TransactionResult::commit).has_value());
    ASSERT_TRUE(log->roll_active(0).ok());
  }
  ASSERT_TRUE(sync(*log).ok());
  const auto markers = [&log] {
    return std::ranges::count_if(all_batches(*log).value(), [](const auto& batch) { return batch.marker.has_value(); });
  };
  ASSERT_TRUE(compact_now(*log, compaction_at(100, kRetention)).has_value());
  EXPECT_EQ(markers(), 7);
  EXPECT_EQ(log->tombstone_horizon(), TombstoneHorizon{});
  ASSERT_TRUE(compact_now(*log, compaction_at(2'000, kRetention)).has_value());
  EXPECT_EQ(markers(), 1) << "the producer's last one";
  EXPECT_EQ(log->tombstone_horizon().offset, Offset(12)) << "behind the last marker but one";
}

TEST(TombstoneHorizon, MarkersThatAFollowerHasYetToFetchStay) {
  LogOnDisk disk(1);
  auto log = disk.must_open();
  fill(*log);
  CompactionSettings held = compaction_at(2'000, kRetention);
  held.drop_limit = Offset(1);
  compact_twice(*log, held);
  EXPECT_TRUE(has_marker(*log));
  EXPECT_EQ(log->tombstone_horizon(), TombstoneHorizon{});
  EXPECT_EQ(log->compaction_progress().next_delete_horizon, 62'000) << "it is not looked at again and again";
  held.drop_limit = Offset(2);
  ASSERT_TRUE(compact_now(*log, held).has_value());
  EXPECT_FALSE(has_marker(*log));
  EXPECT_EQ(log->tombstone_horizon().offset, Offset(2));
}

TEST(TombstoneHorizon, WithoutRoomToStoreItNothingIsDropped) {
  LogOnDisk disk(1);
  auto log = disk.must_open();
  fill(*log);
  ASSERT_TRUE(compact_now(*log, compaction_at(100, kRetention)).has_value());
  const auto compaction = log->begin_compaction(log->segment_count() - 1, compaction_at(2'000, kRetention)).value();
  ASSERT_TRUE(run_now(compaction->read_keys()).ok());
  ASSERT_TRUE(run_now(compaction->clean_next()).value());
  ASSERT_TRUE(log->begin_swap(*compaction));
  EXPECT_EQ(log->raise_tombstone_horizon(Offset(50)), ErrorCode::request_timed_out) << "both would write the file";
  disk.files().fail_nth(FileOperation::write, 1, std::string(kTombstoneFileName), ErrorCode::disk_full);
  EXPECT_EQ(compaction->store_horizon(), ErrorCode::disk_full);
  compaction->discard();
  log->give_up_swap();
  EXPECT_TRUE(has_marker(*log));
  EXPECT_FALSE(log->offline());
  EXPECT_EQ(log->tombstone_horizon(), TombstoneHorizon{});
  ASSERT_TRUE(compact_now(*log, compaction_at(2'000, kRetention)).has_value());
  EXPECT_EQ(log->tombstone_horizon().offset, Offset(2));
}

TEST(TombstoneHorizon, IsTakenOverBeforeACopyIsMade) {
  LogOnDisk disk(1);
  {
    auto log = disk.must_open();
    ASSERT_TRUE(log->raise_tombstone_horizon(Offset(3)).ok());
    EXPECT_EQ(stored(disk), "0\n3\n0\n");
    ASSERT_TRUE(log->raise_tombstone_horizon(Offset(2)).ok());
    EXPECT_EQ(log->tombstone_horizon().offset, Offset(3)) << "it never goes back";
    fill(*log);
  }
  disk.crash(Unsynced::lost);
  EXPECT_EQ(disk.must_open()->tombstone_horizon().offset, Offset(3));
}

TEST(TombstoneHorizon, NeverLiesBehindTheEndOfALogThatIsOpenedCutBackOrBegunAnew) {
  LogOnDisk disk(1);
  auto log = disk.must_open();
  fill(*log);
  ASSERT_TRUE(log->raise_tombstone_horizon(Offset(4)).ok());
  ASSERT_TRUE(log->truncate_to(Offset(5)).ok());
  EXPECT_EQ(log->tombstone_horizon().offset, Offset(4)) << "what is missing below is missing still";
  ASSERT_TRUE(log->truncate_to(Offset(3)).ok());
  EXPECT_EQ(log->tombstone_horizon().offset, Offset(3)) << "others will be written there";
  EXPECT_EQ(stored(disk), "0\n3\n0\n");
  ASSERT_TRUE(log->raise_tombstone_horizon(Offset(90)).ok());
  log.reset();
  disk.crash(Unsynced::lost);
  log = disk.must_open();
  EXPECT_EQ(log->tombstone_horizon().offset, Offset(3)) << "the copy is not continued";
  EXPECT_EQ(stored(disk), "0\n3\n0\n");
  ASSERT_TRUE(log->restart_at(Offset(1), 0).ok());
  EXPECT_EQ(log->tombstone_horizon().offset, Offset(1));
}

TEST(TombstoneHorizon, OfALogThatAnOlderNaruCompactedIsAllThatItCompacted) {
  LogOnDisk disk(1);
  {
    auto log = disk.must_open();
    fill(*log);
    compact_twice(*log);
  }
  ASSERT_TRUE(disk.files().remove_file(kFile).ok());
  auto log = disk.must_open();
  EXPECT_EQ(log->tombstone_horizon().offset, Offset(4));
  EXPECT_EQ(log->compaction_progress().first_dirty, Offset(4));
}

TEST(TombstoneHorizon, ADamagedFileCountsAsAllThatMayHaveBeenCompacted) {
  for (const std::string_view damaged : {"", "0\n", "0\n-5\n1\n", "0\n2\n1", "0\n2\nx\n", "0\n2\n1\nmore\n"}) {
    LogOnDisk disk(1);
    fill(*disk.must_open());
    ASSERT_TRUE(replace_file(disk.files(), kTestFolder, std::string(kTombstoneFileName), as_bytes(damaged)).ok());
    auto log = disk.must_open();
    ASSERT_NE(log, nullptr);
    EXPECT_EQ(log->tombstone_horizon().offset, Offset(4)) << damaged;
  }
}

TEST(TombstoneHorizon, AFileOfANewerNaruIsRefused) {
  LogOnDisk disk(1);
  ASSERT_TRUE(replace_file(disk.files(), kTestFolder, std::string(kTombstoneFileName), as_bytes("1\nnew\n")).ok());
  EXPECT_EQ(disk.open().error(), ErrorCode::unsupported_format);
}

}  // namespace
}  // namespace naru
