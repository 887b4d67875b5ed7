#include "commit_journal/journal_space.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "foundation/sanitized_testing.h"
#include "foundation/status.h"
#include "platform/simulated/simulated_random.h"

namespace naru {
namespace {

constexpr uint64_t kBlock = kJournalBlock;

TEST(JournalSpace, RoundsLieOneBehindTheOtherAndInOnePiece) {
  JournalSpace space(8 * kBlock);
  const auto first = space.place(3 * kBlock);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->position, 0u);
  EXPECT_EQ(first->previous_position, kNoJournalPosition);
  space.committed(*first, 3 * kBlock);
  const auto second = space.place(3 * kBlock - 5);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->position, 3 * kBlock);
  EXPECT_EQ(second->previous_position, 0u);
  EXPECT_EQ(second->sequence, 2u);
  space.committed(*second, 3 * kBlock - 5);
  EXPECT_FALSE(space.place(3 * kBlock)) << "the second round has given up only what lies before itself";
  const auto third = space.place(2 * kBlock + 1 - kBlock / 2);
  ASSERT_TRUE(third);
  EXPECT_EQ(third->position, 6 * kBlock);
  space.committed(*third, 2 * kBlock);
  const auto fourth = space.place(3 * kBlock);
  ASSERT_TRUE(fourth);
  EXPECT_EQ(fourth->position, 8 * kBlock) << "the next lap";
}

TEST(JournalSpace, LeavesOutTheEndOfTheRingWhereARoundDoesNotFit) {
  JournalSpace space(8 * kBlock);
  space.committed(*space.place(3 * kBlock), 3 * kBlock);
  space.committed(*space.place(3 * kBlock), 3 * kBlock);
  space.committed(space.place_of_mark(), kBlock);
  const auto third = space.place(3 * kBlock);
  ASSERT_TRUE(third);
  EXPECT_EQ(third->position, 8 * kBlock) << "a block at the end is left out";
}

TEST(JournalSpace, ALogPinsTheRingUntilItsFilesAreSynced) {
  JournalSpace space(8 * kBlock);
  JournalTrack log;
  space.added(log, Offset(10), 0);
  space.committed(*space.place(4 * kBlock), 4 * kBlock);
  EXPECT_EQ(space.used(), 4 * kBlock);
  EXPECT_FALSE(space.place(4 * kBlock));
  EXPECT_FALSE(space.mark_would_help(4 * kBlock));
  space.synced(log, space.sync_begins(), Offset(10), 0);
  EXPECT_EQ(space.used(), 0u);
  EXPECT_FALSE(space.place(4 * kBlock)) << "no durable round says so yet";
  EXPECT_FALSE(space.mark_would_help(4 * kBlock)) << "nor behind a mark, at the end of the ring";
  EXPECT_TRUE(space.place(3 * kBlock));
  space.committed(*space.place(3 * kBlock), 3 * kBlock);
  EXPECT_TRUE(space.place(4 * kBlock) || space.mark_would_help(4 * kBlock));
}

TEST(JournalSpace, ASyncCoversWhatWasAddedBeforeItBegan) {
  JournalSpace space(64 * kBlock);
  JournalTrack log;
  space.added(log, Offset(10), 0);
  space.committed(*space.place(kBlock), kBlock);
  const uint64_t mark = space.sync_begins();
  space.added(log, Offset(20), 0);
  space.committed(*space.place(kBlock), kBlock);
  space.synced(log, mark, Offset(10), 0);
  EXPECT_EQ(space.tail(), kBlock);
  space.synced(log, space.sync_begins(), Offset(20), 0);
  EXPECT_FALSE(log.tracked);
}

TEST(JournalSpace, WhatWasAddedBeforeATruncationPinsNothing) {
  JournalSpace space(64 * kBlock);
  JournalTrack log;
  space.added(log, Offset(10), 0);
  space.committed(*space.place(kBlock), kBlock);
  space.added(log, Offset(5), 1);
  EXPECT_EQ(space.tail(), kBlock);
  space.synced(log, 0, Offset(2), 2);
  EXPECT_FALSE(log.tracked) << "truncated once more";
}

// The model: a ring of blocks that remember which round wrote them last; logs that know which rounds they need. At
// every moment, with the round that is being written there or not, all that is needed must be found.
class SpaceModel {
 public:
  explicit SpaceModel(uint64_t seed)
      : random_(seed), space_((6 + random_.below(20)) * kBlock), logs_(1 + random_.below(5)) {
    ring_.resize(space_.ring_bytes() / kBlock);
  }

  void step() {
    switch (random_.below(6)) {
      case 0:
      case 1:
        return add();
      case 2:
        return write_round();
      case 3:
        return begin_sync();
      case 4:
        return end_sync();
      default:
        return random_.one_in(4) ? truncate() : random_.one_in(3) ? close() : write_round();
    }
  }

 private:
  struct Entry {
    int64_t end;
    uint64_t truncations;
    uint64_t round;  // 0: not written yet
  };
  struct Log {
    JournalTrack track;
    int64_t end = 0, synced_end = 0;
    uint64_t truncations = 0;
    std::vector<Entry> entries;
    std::optional<std::pair<uint64_t, int64_t>> sync;  // mark, end
    uint64_t sync_truncations = 0;
  };

  size_t pick() { return random_.below(logs_.size()); }

  void add() {
    Log& log = logs_[pick()];
    ++log.end;
    log.entries.push_back({log.end, log.truncations, 0});
    space_.added(log.track, Offset(log.end), log.truncations);
  }
  void begin_sync() {
    Log& log = logs_[pick()];
    if (log.sync) return;
    log.sync = {space_.sync_begins(), log.end};
    log.sync_truncations = log.truncations;
  }
  void end_sync() {
    Log& log = logs_[pick()];
    if (!log.sync) return;
    if (log.sync_truncations == log.truncations) log.synced_end = std::max(log.synced_end, log.sync->second);
    space_.synced(log.track, log.sync->first, Offset(log.synced_end), log.truncations);
    log.sync.reset();
  }
  void truncate() {
    Log& log = logs_[pick()];
    log.end = static_cast<int64_t>(random_.below(static_cast<uint64_t>(log.end) + 1));
    log.synced_end = log.end;  // a truncation syncs what stays
    ++log.truncations;
  }

  void close() {
    Log& log = logs_[pick()];
    log.synced_end = log.end;
    space_.forget(log.track);
  }

  void write_round() {
    const uint64_t bytes = (1 + random_.below(4)) * kBlock;
    auto place = space_.place(bytes);
    if (!place && space_.mark_would_help(bytes)) {
      write(space_.place_of_mark(), kBlock, false);
      place = space_.place(bytes);
      ASSERT_TRUE(place.has_value()) << "the mark did not help";
    }
    // Without room the batches go to their logs' files, and are not part of any round.
    if (place) return write(*place, bytes, true);
    for (Log& log : logs_) std::erase_if(log.entries, [](const Entry& entry) { return entry.round == 0; });
  }

  void write(const JournalSpace::Place& place, uint64_t bytes, bool with_entries) {
    ASSERT_EQ(place.position % kBlock, 0u);
    ASSERT_LE(place.position % space_.ring_bytes() + bytes, space_.ring_bytes());
    ASSERT_LE(place.tail, place.position);
    for (uint64_t at = 0; at < bytes; at += kBlock) block(place.position + at) = place.sequence;
    check(newest_tail_);  // the power is cut, and the header of the new round did not make it
    check(place.tail);    // or its header did, and the rest not
    rounds_[place.sequence] = {place.position, bytes};
    if (with_entries) {
      for (Log& log : logs_) {
        for (Entry& entry : log.entries) entry.round = entry.round == 0 ? place.sequence : entry.round;
      }
    }
    space_.committed(place, bytes);
    newest_tail_ = place.tail;
    check(newest_tail_);
  }

  uint64_t& block(uint64_t position) { return ring_[position % space_.ring_bytes() / kBlock]; }

  // Recovery looks at the rounds from `tail` on: they must be whole, and hold every entry that a log needs.
  void check(uint64_t tail) {
    for (const auto& [sequence, round] : rounds_) {
      if (round.first < tail) continue;
      for (uint64_t at = 0; at < round.second; at += kBlock) {
        ASSERT_EQ(block(round.first + at), sequence) << "a round that recovery needs is overwritten";
      }
    }
    for (const Log& log : logs_) {
      for (const Entry& entry : log.entries) {
        const bool needed = entry.round != 0 && entry.truncations == log.truncations && entry.end > log.synced_end;
        if (needed) ASSERT_GE(rounds_.at(entry.round).first, tail) << "recovery does not look where it should";
      }
    }
  }

  SimulatedRandom random_;
  JournalSpace space_;
  std::vector<Log> logs_;
  std::vector<uint64_t> ring_;
  std::map<uint64_t, std::pair<uint64_t, uint64_t>> rounds_;
  uint64_t newest_tail_ = 0;
};

TEST(JournalSpace, NothingThatIsNeededIsOverwrittenOrOverlooked) {
  for (uint64_t seed = 1; seed <= (kSanitized ? 200 : 2000); ++seed) {
    SpaceModel model(seed);
    for (int step = 0; step < 300; ++step) {
      SCOPED_TRACE(fmt::format("seed {}, step {}", seed, step));
      model.step();
      if (HasFatalFailure()) return;
    }
  }
}

}  // namespace
}  // namespace naru
