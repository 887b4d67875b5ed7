// Power cuts at every step of what a journal and its logs do: journal write and sync, segment write and sync, reuse of
// the journal's space, truncation. Random parts of what was not synced survive.
#include <gtest/gtest.h>

#include "commit_journal/commit_journal_testing.h"
#include "foundation/sanitized_testing.h"
#include "platform/simulated/simulated_file_system.h"
#include "platform/simulated/simulated_random.h"

namespace naru {
namespace {

constexpr size_t kCrashedLogs = 3;
uint64_t recoveries = 0;
uint64_t replayed_batches = 0;

// What a script does is decided by its seed alone, so that every run of it makes the same calls until it dies.
class Script {
 public:
  explicit Script(uint64_t seed)
      : disk_random_(seed), files_(disk_random_), choices_(seed * 7919), steps_(40 + static_cast<int>(seed % 20)) {
    JournaledLogs::create(files_, kCrashedLogs);
    mutations_before_ = files_.mutations();
  }

  // False once the machine is gone.
  bool run() {
    run_.emplace(files_, disk_random_);
    if (!run_->open(kCrashedLogs).ok()) return false;
    for (int i = 0; i < steps_; ++i) {
      if (!step(i) || files_.is_dead()) return false;
    }
    return true;
  }
  uint64_t mutations() const { return files_.mutations() - mutations_before_; }
  void die_after(uint64_t mutations) { files_.die_after(mutations); }
  uint64_t rounds() const { return run_->rounds(); }

  // Recovers a copy of the disk after a power cut.
  void check_after_crash(uint64_t seed, Unsynced unsynced) const {
    SCOPED_TRACE(fmt::format("crash seed {}", seed));
    SimulatedRandom random(~seed);  // never the numbers of the disk before: the journal's ids are among them
    const auto disk = files_.clone(random);
    disk->crash(unsynced);
    std::vector<std::vector<TestBatch>> expected;
    {
      JournaledLogs after(*disk, random);
      recover(after);
      if (testing::Test::HasFatalFailure()) return;
      for (size_t i = 0; i < kCrashedLogs; ++i) {
        const WitnessedLog nothing(LogId{});
        const auto& before = i < run_->logs.size() ? *run_->logs[i] : nothing;  // it died while they were opened
        PartitionLog& log = after.logs[i]->log();
        auto found = read_all(log);
        ASSERT_TRUE(found.has_value()) << found.error().to_string();
        ASSERT_TRUE(is_prefix(*found, before.batches) || is_prefix(*found, before.before_truncation))
            << "log " << i << ", " << found->size() << " batches";
        ASSERT_GE(log.end_offset(), before.promised) << "log " << i;
        ASSERT_EQ(log.synced_end(), log.end_offset());
        expected.push_back(std::move(*found));
      }
      go_on(after, expected);
    }
    if (testing::Test::HasFatalFailure()) return;
    disk->crash(random.one_in(2) ? Unsynced::lost : Unsynced::mixed);
    JournaledLogs again(*disk, random);
    recover(again);
    if (testing::Test::HasFatalFailure()) return;
    for (size_t i = 0; i < kCrashedLogs; ++i) {
      const auto found = read_all(again.logs[i]->log());
      ASSERT_TRUE(found.has_value()) << found.error().to_string();
      ASSERT_EQ(found->size(), expected[i].size()) << "log " << i;
      ASSERT_TRUE(is_prefix(*found, expected[i])) << "log " << i;
    }
  }

 private:
  static void recover(JournaledLogs& logs) {
    ++recoveries;
    const Status opened = logs.open(kCrashedLogs);
    ASSERT_TRUE(opened.ok()) << opened.to_string();
    replayed_batches += logs.replayed;
  }

  // The logs can be used, and the journal too.
  static void go_on(JournaledLogs& logs, std::vector<std::vector<TestBatch>>& expected) {
    for (int round = 0; round < 2; ++round) {
      for (size_t i = 0; i < kCrashedLogs; ++i) {
        expected[i].push_back(numbered_batch(900 + round, 1, LeaderEpoch(1000)));
        ASSERT_TRUE(logs.append(i, expected[i].back()));
      }
      logs.scheduler.run_all();
    }
    for (size_t i = 0; i < kCrashedLogs; ++i) ASSERT_EQ(logs.logs[i]->promised, Offset(offsets_in(expected[i])));
  }

  bool step(int number) {
    JournaledLogs& run = *run_;
    const size_t which = choices_.below(kCrashedLogs);
    switch (choices_.below(12)) {
      case 0:
      case 1:
      case 2:
      case 3:
        return run.append(which, numbered_batch(number, 1 + static_cast<int>(choices_.below(3)), epoch(number)));
      case 4:  // larger than what the journal takes
        return run.append(which, numbered_batch(number, 16, epoch(number)));
      case 5:  // many at once: they fill the ring
        for (int i = 0; i < 12; ++i) {
          if (!run.append(which, numbered_batch(100 * number + i, 3, epoch(number)))) return false;
        }
        return true;
      case 6: {
        if (!choices_.one_in(2)) return true;
        PartitionLog& log = run.logs[which]->log();
        const auto end =
            Offset(static_cast<int64_t>(choices_.below(static_cast<uint64_t>(log.end_offset().value()) + 1)));
        return run.logs[which]->truncate(end);
      }
      case 7:
        run.scheduler.run_all();
        return true;
      default:
        if (!run.scheduler.jobs.empty()) run.scheduler.run_one(choices_.below(run.scheduler.jobs.size()));
        return true;
    }
  }
  // In half of the scripts nothing in the batches tells those that were truncated from those that replaced them.
  LeaderEpoch epoch(int number) const { return LeaderEpoch(steps_ % 2 == 0 ? 0 : number / 10); }

  SimulatedRandom disk_random_;
  SimulatedFileSystem files_;
  SimulatedRandom choices_;
  const int steps_;
  uint64_t mutations_before_ = 0;
  std::optional<JournaledLogs> run_;
};

constexpr uint64_t kSeeds = kSanitized ? 2 : 16;

TEST(JournalAfterCrash, EveryPromiseIsKeptAndNothingComesBackThatWasTruncated) {
  const QuietLog quiet;
  set_log_level(LogLevel::error);
  uint64_t rounds = 0;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    uint64_t mutations = 0;
    {
      Script script(seed);
      ASSERT_TRUE(script.run()) << "seed " << seed;
      mutations = script.mutations();
      rounds += script.rounds();
    }
    for (uint64_t step = 0; step <= mutations; ++step) {
      SCOPED_TRACE(fmt::format("seed {}, step {} of {}", seed, step, mutations));
      Script script(seed);
      script.die_after(step);
      script.run();
      script.check_after_crash(seed, Unsynced::lost);
      script.check_after_crash(seed, Unsynced::kept);
      for (uint64_t outcome = 0; outcome < 4; ++outcome) {
        script.check_after_crash(seed * 1000 + outcome, Unsynced::mixed);
        if (HasFatalFailure()) return;
      }
    }
  }
  EXPECT_GT(recoveries, kSeeds * 1'250u) << "too few to mean anything";
  EXPECT_GT(replayed_batches, recoveries / 2) << "too few of them needed the journal";
  EXPECT_GT(rounds, kSeeds * 6u);
}

}  // namespace
}  // namespace naru
