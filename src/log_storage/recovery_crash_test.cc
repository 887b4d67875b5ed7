// Power cuts at every step of what a log does, with random parts of what was not synced yet.
#include <gtest/gtest.h>

#include <functional>

#include "log_storage/log_storage_testing.h"

namespace naru {
namespace {

// Drives a log and knows what must be found after it died.
class Witness {
 public:
  explicit Witness(LogOnDisk& disk) : disk_(disk) {}

  // Each step returns false once the machine is gone.
  bool open(bool clean = false) {
    log_ = nullptr;
    auto opened = disk_.open(clean);
    if (!opened) return false;
    log_ = std::move(opened->log);
    return true;
  }
  bool append(const TestBatch& batch) {
    batches_.push_back(batch);  // also when the write fails: it may have been complete
    if (!naru::append(*log_, batch)) return false;
    return true;
  }
  bool sync() {
    if (!naru::sync(*log_).ok()) return false;
    promised_ = log_->durable_end();
    return true;
  }
  bool truncate(Offset end) {
    before_truncation_ = batches_;
    while (offsets_in(batches_) > end.value()) batches_.pop_back();
    promised_ = std::min(promised_, Offset(offsets_in(batches_)));
    if (!log_->truncate_to(end).ok()) return false;
    before_truncation_.clear();
    return true;
  }
  // Everything goes, and the log begins at its present end or behind it.
  bool restart(Offset start) {
    before_truncation_ = batches_;
    start_before_ = start_;
    batches_.clear();
    promised_ = Offset(0);
    start_ = start;
    if (!log_->restart_at(start, 0).ok()) return false;
    before_truncation_.clear();
    start_before_ = start_;
    return true;
  }
  bool close() {
    if (!log_->close().ok()) return false;
    promised_ = log_->durable_end();
    log_ = nullptr;
    return true;
  }
  void die() { log_ = nullptr; }

  // Recovers a copy of the disk after a power cut.
  void check_after_crash(uint64_t seed, Unsynced unsynced) const {
    SCOPED_TRACE(fmt::format("crash seed {}", seed));
    LogOnDisk disk = disk_.copy(seed);
    disk.crash(unsynced);
    auto opened = disk.open();
    ASSERT_TRUE(opened.has_value()) << opened.error().to_string();
    PartitionLog& log = *opened->log;
    const auto found = read_all(log);
    ASSERT_TRUE(found.has_value()) << found.error().to_string();
    const bool before = log.start_offset() != start_;
    if (before) ASSERT_EQ(log.start_offset(), start_before_);
    ASSERT_TRUE((!before && is_prefix(*found, batches_)) || is_prefix(*found, before_truncation_)) << found->size();
    ASSERT_GE(log.end_offset(), promised_);
    ASSERT_EQ(log.end_offset(), log.start_offset() + offsets_in(*found));
    ASSERT_EQ(log.durable_end(), log.end_offset());
    ASSERT_EQ(log.latest_epoch(), found->empty() ? kNoLeaderEpoch : found->back().epoch);
    check_goes_on(disk, std::move(opened->log), *found);
  }

 private:
  // The log can be used, and another recovery finds nothing to do.
  static void check_goes_on(LogOnDisk& disk, std::unique_ptr<PartitionLog> log, std::vector<TestBatch> expected) {
    expected.push_back(numbered_batch(999, 3, LeaderEpoch(1000)));
    ASSERT_TRUE(naru::append(*log, expected.back()).has_value());
    ASSERT_TRUE(naru::sync(*log).ok());
    log = nullptr;
    disk.crash(Unsynced::lost);
    const auto again = disk.open();
    ASSERT_TRUE(again.has_value()) << again.error().to_string();
    ASSERT_FALSE(again->report.remarkable()) << again->report.to_string();
    const auto found = read_all(*again->log);
    ASSERT_TRUE(found.has_value()) << found.error().to_string();
    ASSERT_EQ(found->size(), expected.size());
    ASSERT_TRUE(is_prefix(*found, expected));
  }

  LogOnDisk& disk_;
  std::unique_ptr<PartitionLog> log_;
  std::vector<TestBatch> batches_;
  std::vector<TestBatch> before_truncation_;
  Offset promised_{0};
  Offset start_{0};
  Offset start_before_{0};
};

using Scenario = std::function<bool(Witness&)>;

// A sanitizer has seen the code after a few of the outcomes.
constexpr int kFewer = kSanitized ? 10 : 1;

// Runs the scenario once for every mutation it makes, with the machine dying there; each time tries several outcomes.
void crash_everywhere(uint64_t seed, int outcomes, const Scenario& scenario) {
  outcomes /= kFewer;
  uint64_t mutations = 0;
  {
    LogOnDisk disk(seed);
    Witness witness(disk);
    const uint64_t before = disk.files().mutations();
    ASSERT_TRUE(scenario(witness)) << "seed " << seed;
    mutations = disk.files().mutations() - before;
  }
  for (uint64_t step = 0; step <= mutations; ++step) {
    SCOPED_TRACE(fmt::format("seed {}, step {} of {}", seed, step, mutations));
    LogOnDisk disk(seed);
    Witness witness(disk);
    disk.files().die_after(step);
    ASSERT_EQ(scenario(witness), step == mutations);
    witness.die();
    witness.check_after_crash(seed, Unsynced::lost);
    witness.check_after_crash(seed, Unsynced::kept);
    for (int outcome = 0; outcome < outcomes; ++outcome) {
      witness.check_after_crash(seed * 1000 + static_cast<uint64_t>(outcome), Unsynced::mixed);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

class RecoveryAfterCrash : public testing::Test {
 protected:
  void expect_recoveries(uint64_t at_least) const {
    EXPECT_GE(LogOnDisk::recoveries - recoveries_before_, at_least / kFewer) << "too few to mean anything";
  }
  const uint64_t recoveries_before_ = LogOnDisk::recoveries;
  const QuietLog quiet_;
};

TEST_F(RecoveryAfterCrash, AppendsRollsAndSyncsKeepWhatWasPromised) {
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    crash_everywhere(seed, 60, [](Witness& witness) {
      if (!witness.open()) return false;
      for (int i = 0; i < 24; ++i) {
        if (!witness.append(numbered_batch(i, 1 + i % 3, LeaderEpoch(i / 7)))) return false;
        if (i % 5 == 3 && !witness.sync()) return false;
      }
      return true;
    });
    if (HasFatalFailure()) return;
  }
  expect_recoveries(30'000);
}

// Appends, truncates deep into what was synced, and appends again. The batches are of one size, so that the log rolls
// at the name of a segment that was removed.
bool truncate_and_go_on(Witness& witness, bool epochs_rise) {
  if (!witness.open()) return false;
  for (int round = 0; round < 3; ++round) {
    const int number = 100 * (round + 1);
    const auto epoch = [&](int i) { return LeaderEpoch(epochs_rise ? 2 * round + i / 5 : 0); };
    for (int i = 0; i < 9; ++i) {
      if (!witness.append(numbered_batch(number + i, 2, epoch(i)))) return false;
    }
    if (round != 1 && !witness.sync()) return false;
    if (!witness.truncate(Offset(5 + 7 * round))) return false;
    if (!witness.append(numbered_batch(number + 50, 2, epoch(9)))) return false;
    if (round == 1 && !witness.sync()) return false;
  }
  return true;
}

TEST_F(RecoveryAfterCrash, TruncationIsDoneOrNotDone) {
  for (uint64_t seed = 11; seed <= 13; ++seed) {
    crash_everywhere(seed, 60, [](Witness& witness) { return truncate_and_go_on(witness, true); });
    if (HasFatalFailure()) return;
  }
  expect_recoveries(40'000);
}

// Within one epoch nothing in the batches tells those that were cut away from those that replaced them.
TEST_F(RecoveryAfterCrash, WhatWasTruncatedDoesNotComeBack) {
  for (uint64_t seed = 14; seed <= 16; ++seed) {
    crash_everywhere(seed, 60, [](Witness& witness) { return truncate_and_go_on(witness, false); });
    if (HasFatalFailure()) return;
  }
  expect_recoveries(30'000);
}

// A follower whose leader has deleted everything that it holds; in the second round one whose log is empty and has to
// begin earlier.
TEST_F(RecoveryAfterCrash, ARestartedLogIsEmptyOrAsItWas) {
  for (uint64_t seed = 17; seed <= 19; ++seed) {
    crash_everywhere(seed, 30, [](Witness& witness) {
      if (!witness.open()) return false;
      for (int i = 0; i < 9; ++i) {
        if (!witness.append(numbered_batch(i, 2, LeaderEpoch(i / 3)))) return false;
        if (i == 5 && !witness.sync()) return false;
      }
      if (!witness.restart(Offset(100))) return false;
      if (!witness.restart(Offset(40))) return false;
      for (int i = 10; i < 14; ++i) {
        if (!witness.append(numbered_batch(i, 2, LeaderEpoch(1)))) return false;
      }
      return witness.sync();
    });
    if (HasFatalFailure()) return;
  }
  expect_recoveries(5'000);
}

// The worst order in which a kernel can write back: the new batches at once, the removal of a name never.
TEST_F(RecoveryAfterCrash, ARemovedSegmentDoesNotComeBackBehindNewBatches) {
  LogOnDisk disk(81);
  std::vector<TestBatch> batches;
  const auto append_one = [&](PartitionLog& log, int number) {
    batches.push_back(numbered_batch(number));
    ASSERT_TRUE(append(log, batches.back()).has_value());
  };
  {
    const auto log = disk.must_open();
    for (int i = 0; i < 9; ++i) append_one(*log, 100 + i);
    ASSERT_TRUE(sync(*log).ok());
    ASSERT_TRUE(*disk.files().exists(LogOnDisk::segment(10)));
    ASSERT_TRUE(log->truncate_to(Offset(4)).ok());
    batches.resize(2);
    for (int i = 0; i < 3; ++i) append_one(*log, 200 + i);
    ASSERT_EQ(log->end_offset(), Offset(10)) << "where the removed segment began";
  }
  ASSERT_TRUE(disk.files().open(LogOnDisk::segment(0), OpenMode::write).value()->sync_data().ok());
  disk.crash(Unsynced::lost);
  const auto log = disk.must_open();
  ASSERT_NE(log, nullptr);
  const auto found = read_all(*log);
  ASSERT_TRUE(found.has_value()) << found.error().to_string();
  EXPECT_EQ(found->size(), batches.size());
  EXPECT_TRUE(is_prefix(*found, batches));
}

TEST_F(RecoveryAfterCrash, ClosingAndOpeningAgainKeepWhatWasPromised) {
  for (uint64_t seed = 21; seed <= 23; ++seed) {
    crash_everywhere(seed, 60, [](Witness& witness) {
      if (!witness.open()) return false;
      for (int round = 0; round < 3; ++round) {
        for (int i = 0; i < 7; ++i) {
          if (!witness.append(numbered_batch(100 * round + i, 2, LeaderEpoch(round)))) return false;
        }
        if (round == 0 && !witness.sync()) return false;
        if (round == 1 && !witness.close()) return false;
        if (!witness.open(round == 1)) return false;
      }
      return true;
    });
    if (HasFatalFailure()) return;
  }
  expect_recoveries(30'000);
}

// A log that was torn by one crash, is recovered, and crashes at each step of its recovery.
TEST_F(RecoveryAfterCrash, RecoveryItselfMayCrash) {
  for (uint64_t seed = 31; seed <= 60; ++seed) {
    LogOnDisk torn(seed);
    std::vector<TestBatch> batches;
    Offset promised{0};
    {
      const auto log = torn.must_open();
      for (int i = 0; i < 16; ++i) {
        batches.push_back(numbered_batch(i, 2, LeaderEpoch(i / 4)));
        ASSERT_TRUE(append(*log, batches.back()).has_value());
        if (i == 4) ASSERT_TRUE(sync(*log).ok());
      }
      promised = log->durable_end();
    }
    torn.crash(Unsynced::mixed);
    for (uint64_t step = 0;; ++step) {
      SCOPED_TRACE(fmt::format("seed {}, step {}", seed, step));
      LogOnDisk first = torn.copy(seed);
      first.files().die_after(step);
      const bool finished = first.open().has_value();
      for (uint64_t outcome = 0; outcome < 8; ++outcome) {
        LogOnDisk second = first.copy(seed * 1000 + outcome);
        Offset durable = promised;
        if (outcome % 2 == 1) {  // a process comes and goes before the power does: what it recovered is durable
          durable = second.must_open()->end_offset();
        }
        second.crash(Unsynced::mixed);
        const auto opened = second.open();
        ASSERT_TRUE(opened.has_value()) << opened.error().to_string();
        const auto found = read_all(*opened->log);
        ASSERT_TRUE(found.has_value()) << found.error().to_string();
        ASSERT_TRUE(is_prefix(*found, batches));
        ASSERT_GE(opened->log->end_offset(), durable);
        ASSERT_FALSE(opened->report.epochs_rebuilt || opened->report.checkpoint_rebuilt);
      }
      if (finished) break;
    }
  }
  expect_recoveries(2'000);
}

// The kernel drops what it could not write, says so once, and goes on showing it.
TEST_F(RecoveryAfterCrash, BytesThatAFailedSyncDroppedAreWrittenAgain) {
  LogOnDisk disk(71);
  std::vector<TestBatch> batches;
  {
    const auto log = disk.must_open();
    for (int i = 0; i < 12; ++i) {
      batches.push_back(numbered_batch(i));
      ASSERT_TRUE(append(*log, batches.back()).has_value());
    }
    disk.files().fail_nth(FileOperation::sync_data, 1, ".log");
    EXPECT_EQ(sync(*log), ErrorCode::log_offline);
  }
  disk.kill();
  {
    const auto log = disk.must_open();
    EXPECT_EQ(log->durable_end(), Offset(24)) << "the page cache still has everything";
  }
  disk.crash(Unsynced::lost);
  const auto log = disk.must_open();
  const auto found = read_all(*log);
  ASSERT_TRUE(found.has_value()) << found.error().to_string();
  EXPECT_EQ(found->size(), batches.size());
  EXPECT_TRUE(is_prefix(*found, batches));
}

}  // namespace
}  // namespace naru
