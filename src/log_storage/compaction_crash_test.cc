// Power cuts at every step of compactions, with random parts of what was not synced yet: the old segments are there or
// the new one, never both and never neither.
#include <gtest/gtest.h>

#include <algorithm>

#include "log_storage/compaction_testing.h"

namespace naru {
namespace {

constexpr int64_t kDeleteRetention = 1'000;

// What has been done to a log until the machine died.
struct Witness {
  std::vector<KeyedRecord> appended;
  Offset durable{0};
  WallTimeMs last_compaction = 0;  // the latest one that may have begun
};

KeyedBatch numbered(int number) {
  KeyedBatch batch{.epoch = LeaderEpoch(number / 8),
                   .compression = number % 3 == 0 ? Compression::lz4 : Compression::none};
  for (int i = 0; i < 1 + number % 3; ++i) {
    KeyedRecord record{
        .timestamp = number, .key = fmt::format("{}", (number + i) % 5), .value = fmt::format("{}.{}", number, i)};
    if ((number + i) % 7 == 0) record.value = std::nullopt;
    batch.records.push_back(std::move(record));
  }
  return batch;
}

bool append_some(PartitionLog& log, Witness& witness, int from, int count) {
  for (int number = from; number < from + count; ++number) {
    KeyedBatch batch = numbered(number);
    for (KeyedRecord record : batch.records) {
      record.offset = Offset(static_cast<int64_t>(witness.appended.size()));
      witness.appended.push_back(std::move(record));
    }
    if (!append(log, batch)) return false;
    if (number % 2 == 1 && !log.roll_active(0).ok()) return false;
  }
  if (!sync(log).ok()) return false;
  witness.durable = log.durable_end();
  return true;
}

bool compact_at(PartitionLog& log, Witness& witness, WallTimeMs now, uint64_t map_bytes = 4 * OffsetMap::kBytesPerKey) {
  witness.last_compaction = now;
  return compact_now(log, compaction_at(now, kDeleteRetention, map_bytes)).has_value();
}

// False once the machine is gone.
bool live(LogOnDisk& disk, Witness& witness) {
  auto opened = disk.open();
  if (!opened) return false;
  PartitionLog& log = *opened->log;
  return append_some(log, witness, 0, 14) && compact_at(log, witness, 100) && append_some(log, witness, 14, 10) &&
         compact_at(log, witness, 200) && compact_at(log, witness, 5'000, 1 << 16) &&
         compact_at(log, witness, 10'000, 1 << 16);
}

// Whoever copies the log is told of delete markers that are missing in it, unless a later record of their key is there.
bool horizon_covers(const PartitionLog& log, const std::vector<KeyedRecord>& found,
                    const std::vector<KeyedRecord>& appended) {
  std::map<std::string, KeyedRecord> newest;
  for (const KeyedRecord& record : appended) newest[*record.key] = record;
  return std::ranges::all_of(newest, [&](const auto& entry) {
    const KeyedRecord& record = entry.second;
    return record.value || record.offset < log.tombstone_horizon().offset ||
           std::ranges::find(found, record) != found.end();
  });
}

std::vector<KeyedRecord> appended_to(const PartitionLog& log, const Witness& witness) {
  return {witness.appended.begin(), witness.appended.begin() + static_cast<ptrdiff_t>(log.end_offset().value())};
}

// Nothing that a reader from the start has to learn is missing, and nothing was invented.
void check(PartitionLog& log, const Witness& witness) {
  ASSERT_EQ(log.start_offset(), Offset(0));
  ASSERT_GE(log.end_offset(), witness.durable);
  const auto found = read_records(log);
  ASSERT_TRUE(found.has_value()) << found.error().to_string();
  for (const KeyedRecord& record : *found) {
    ASSERT_TRUE(record == witness.appended[static_cast<size_t>(record.offset.value())]) << record.offset.value();
  }
  const std::vector<KeyedRecord> before = appended_to(log, witness);
  ASSERT_TRUE(replay(*found) == replay(before));
  ASSERT_TRUE(horizon_covers(log, *found, before));
  if (witness.last_compaction >= 100 + kDeleteRetention) return;
  std::map<std::string, KeyedRecord> newest;
  for (const KeyedRecord& record : before) newest[*record.key] = record;
  for (const auto& [key, record] : newest) {
    ASSERT_TRUE(std::ranges::find(*found, record) != found->end()) << "key " << key << ", also a delete marker";
  }
}

void check_after_crash(const LogOnDisk& died, const Witness& witness, uint64_t seed, Unsynced unsynced) {
  SCOPED_TRACE(fmt::format("crash seed {}", seed));
  LogOnDisk disk = died.copy(seed);
  disk.crash(unsynced);
  {
    auto opened = disk.open();
    ASSERT_TRUE(opened.has_value()) << opened.error().to_string();
    check(*opened->log, witness);
    if (testing::Test::HasFatalFailure()) return;
    for (const DirectoryEntry& entry : disk.files().list(kTestFolder).value()) {
      ASSERT_FALSE(entry.name.ends_with(".swap") || entry.name.ends_with(".cleaned")) << entry.name;
    }
    // It goes on from there.
    if (opened->log->segment_count() > 1) {
      ASSERT_TRUE(compact_now(*opened->log, compaction_at(300, kDeleteRetention)).has_value());
    }
    ASSERT_TRUE(append(*opened->log, numbered(50)).has_value());
    ASSERT_TRUE(sync(*opened->log).ok());
  }
  disk.crash(Unsynced::lost);
  const auto again = disk.open();
  ASSERT_TRUE(again.has_value()) << again.error().to_string();
  ASSERT_TRUE(read_records(*again->log).has_value());
}

TEST(CompactionAfterCrash, EveryStepLeavesTheOldOrTheNewSegments) {
  const QuietLog quiet;
  const uint64_t recoveries_before = LogOnDisk::recoveries;
  uint64_t mutations = 0;
  {
    LogOnDisk disk(1);
    Witness witness;
    const uint64_t before = disk.files().mutations();
    ASSERT_TRUE(live(disk, witness));
    mutations = disk.files().mutations() - before;
    ASSERT_NE(as_text(disk.files().content(LogOnDisk::path("tombstone-horizon"))), "0\n0\n0\n") << "none was dropped";
    check_after_crash(disk, witness, 1, Unsynced::lost);
  }
  for (uint64_t step = 0; step < mutations; ++step) {
    SCOPED_TRACE(fmt::format("step {} of {}", step, mutations));
    LogOnDisk disk(1);
    Witness witness;
    disk.files().die_after(step);
    ASSERT_FALSE(live(disk, witness));
    check_after_crash(disk, witness, 1, Unsynced::lost);
    check_after_crash(disk, witness, 2, Unsynced::kept);
    for (uint64_t outcome = 0; outcome < 25; ++outcome) {
      check_after_crash(disk, witness, 10 + outcome, Unsynced::mixed);
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_GE(LogOnDisk::recoveries - recoveries_before, 10'000U);
}

// A compaction has replaced several segments by one, which counts already, and the process dies.
void die_after_commit_of_swap(LogOnDisk& disk, Witness& witness) {
  {
    auto log = disk.must_open();
    ASSERT_TRUE(append_some(*log, witness, 0, 14));
    auto compaction = log->begin_compaction(log->segment_count() - 1, compaction_at(100)).value();
    ASSERT_TRUE(run_now(compaction->read_keys()).ok());
    ASSERT_TRUE(run_now(compaction->clean_next()).value());
    ASSERT_GT(compaction->replaced().size(), 1U);
    ASSERT_TRUE(log->begin_swap(*compaction));
    ASSERT_TRUE(compaction->commit_swap().ok());
  }
  disk.kill();
}

// The recovery that finishes a swap crashes, too.
TEST(CompactionAfterCrash, FinishingASwapMayBeInterruptedAnywhere) {
  const QuietLog quiet;
  LogOnDisk torn(5);
  Witness witness;
  die_after_commit_of_swap(torn, witness);
  for (uint64_t step = 0;; ++step) {
    SCOPED_TRACE(fmt::format("step {}", step));
    LogOnDisk first = torn.copy(step);
    first.files().die_after(step);
    const bool finished = first.open().has_value();
    for (uint64_t outcome = 0; outcome < 30; ++outcome) {
      check_after_crash(first, witness, step * 100 + outcome, Unsynced::mixed);
      if (HasFatalFailure()) return;
    }
    if (finished) break;
  }
}

TEST(CompactionAfterCrash, ADamagedSwapIsRefusedByName) {
  const QuietLog quiet;
  LogOnDisk disk(6);
  Witness witness;
  die_after_commit_of_swap(disk, witness);
  disk.files().flip_bit(LogOnDisk::segment(0, ".log.swap"), 70, 1);
  const auto refused = disk.open();
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error(), ErrorCode::corrupt_data);
  EXPECT_NE(refused.error().message().find(".log.swap"), std::string::npos) << refused.error().message();
  ASSERT_TRUE(disk.files().remove_file(LogOnDisk::segment(0, ".log.swap")).ok());
  const auto log = disk.must_open();
  ASSERT_NE(log, nullptr) << "what it was made from is still there";
  check(*log, witness);
}

TEST(CompactionAfterCrash, AFailedStepOfTheSwapTakesTheLogOfflineAndRecoveryFinishesIt) {
  const QuietLog quiet;
  struct Fault {
    FileOperation operation;
    std::string path;
    int nth = 1;
  };
  const std::vector<Fault> faults{{FileOperation::rename, ".log.cleaned"},
                                  {FileOperation::rename, ".log.swap"},
                                  {FileOperation::remove, ".log"},
                                  {FileOperation::sync_directory, "", 2}};  // the first one is of the horizon
  for (const auto& [operation, path, nth] : faults) {
    LogOnDisk disk(7);
    Witness witness;
    {
      auto log = disk.must_open();
      ASSERT_TRUE(append_some(*log, witness, 0, 14));
      disk.files().fail_nth(operation, nth, path);
      EXPECT_EQ(compact_now(*log, compaction_at(100)).error(), ErrorCode::log_offline);
      EXPECT_TRUE(log->offline());
    }
    disk.files().clear_faults();
    disk.crash(Unsynced::mixed);
    const auto log = disk.must_open();
    ASSERT_NE(log, nullptr);
    check(*log, witness);
  }
}

}  // namespace
}  // namespace naru
