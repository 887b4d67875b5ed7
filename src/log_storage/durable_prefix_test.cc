#include "log_storage/durable_prefix.h"

#include <gtest/gtest.h>

#include <set>

#include "foundation/status.h"
#include "platform/simulated/simulated_random.h"

namespace naru {
namespace {

TEST(DurablePrefix, TheJournalAloneMovesTheEndButNotWhatTheFilesHold) {
  DurablePrefix prefix(Offset(10));
  prefix.journaled(Offset(10), Offset(12));
  prefix.journaled(Offset(12), Offset(13));
  EXPECT_EQ(prefix.end(), Offset(13));
  EXPECT_EQ(prefix.synced_end(), Offset(10));
}

TEST(DurablePrefix, WaitsForTheSyncOfALargeBatchInBetween) {
  DurablePrefix prefix(Offset(0));
  prefix.journaled(Offset(0), Offset(1));
  prefix.journaled(Offset(100), Offset(101));
  prefix.journaled(Offset(101), Offset(103));
  EXPECT_EQ(prefix.end(), Offset(1));
  prefix.synced(Offset(100));
  EXPECT_EQ(prefix.end(), Offset(103));
  EXPECT_EQ(prefix.synced_end(), Offset(100));
}

TEST(DurablePrefix, ATruncationForgetsWhatWasJournaledBehindIt) {
  DurablePrefix prefix(Offset(0));
  prefix.journaled(Offset(10), Offset(20));
  prefix.truncated(Offset(15));
  prefix.synced(Offset(10));
  EXPECT_EQ(prefix.end(), Offset(15));
  prefix.truncated(Offset(5));
  EXPECT_EQ(prefix.end(), Offset(5));
  EXPECT_EQ(prefix.synced_end(), Offset(5));
}

// The model: a set of durable offsets, and a number below which the files hold everything.
TEST(DurablePrefix, IsTheContiguousBeginOfASetOfOffsets) {
  for (uint64_t seed = 1; seed <= 500; ++seed) {
    SimulatedRandom random(seed);
    DurablePrefix prefix(Offset(0));
    std::set<int64_t> durable;
    int64_t synced = 0, log_end = 0;
    for (int step = 0; step < 200; ++step) {
      SCOPED_TRACE(fmt::format("seed {}, step {}", seed, step));
      const uint64_t kind = random.below(10);
      if (kind == 0 && log_end > 0) {
        const auto cut = static_cast<int64_t>(random.below(static_cast<uint64_t>(log_end)));
        log_end = cut;
        synced = std::min(synced, cut);
        durable.erase(durable.lower_bound(cut), durable.end());
        prefix.truncated(Offset(cut));
      } else if (kind <= 2) {
        const auto upto = static_cast<int64_t>(random.below(static_cast<uint64_t>(log_end) + 1));
        synced = std::max(synced, upto);
        for (int64_t i = 0; i < upto; ++i) durable.insert(i);
        prefix.synced(Offset(upto));
      } else {
        // Batches may be reported late, twice, and with gaps.
        const auto base = static_cast<int64_t>(random.below(static_cast<uint64_t>(log_end) + 3));
        const auto end = base + 1 + static_cast<int64_t>(random.below(4));
        log_end = std::max(log_end, end);
        for (int64_t i = base; i < end; ++i) durable.insert(i);
        prefix.journaled(Offset(base), Offset(end));
      }
      int64_t expected = 0;
      while (durable.contains(expected)) ++expected;
      ASSERT_EQ(prefix.end(), Offset(expected));
      ASSERT_EQ(prefix.synced_end(), Offset(synced));
    }
  }
}

}  // namespace
}  // namespace naru
