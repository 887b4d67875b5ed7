#include "commit_journal/round_chain.h"

#include <gtest/gtest.h>

namespace naru {
namespace {

constexpr uint64_t kChainBlock = kJournalBlock;

// Rounds of one block each; the newest has the given tail.
std::vector<JournalRoundHeader> rounds(uint64_t first, uint64_t last, uint64_t tail) {
  std::vector<JournalRoundHeader> all;
  for (uint64_t sequence = first; sequence <= last; ++sequence) {
    all.push_back({.sequence = sequence,
                   .position = (sequence - 1) * kChainBlock,
                   .previous_position = sequence == 1 ? kNoJournalPosition : (sequence - 2) * kChainBlock,
                   .tail = sequence == last ? tail : 0});
  }
  return all;
}

TEST(RoundChain, GoesBackToTheTail) {
  EXPECT_TRUE(chain_rounds({}).needed.empty());
  const auto all = rounds(1, 9, 5 * kChainBlock);
  const RoundChain chain = chain_rounds({all.rbegin(), all.rend()});
  EXPECT_FALSE(chain.missing);
  ASSERT_EQ(chain.needed.size(), 4u);
  EXPECT_EQ(chain.needed.front().sequence, 6u);
  EXPECT_EQ(chain.needed.back().sequence, 9u);
}

TEST(RoundChain, TheFirstRoundHasNoneBefore) {
  EXPECT_EQ(chain_rounds(rounds(1, 3, 0)).needed.size(), 3u);
}

TEST(RoundChain, ARoundThatIsGoneIsMissedOnlyIfItIsNeeded) {
  auto all = rounds(1, 9, 5 * kChainBlock);
  all.erase(all.begin() + 4);
  EXPECT_FALSE(chain_rounds(all).missing);
  all.erase(all.begin() + 5);
  EXPECT_EQ(chain_rounds(all).missing, 6 * kChainBlock);
}

TEST(RoundChain, TheNewestRoundIsNotMissed) {
  auto all = rounds(1, 9, 5 * kChainBlock);
  all.pop_back();
  const RoundChain chain = chain_rounds(all);
  EXPECT_FALSE(chain.missing);
  EXPECT_EQ(chain.needed.back().sequence, 8u);
}

TEST(RoundChain, ARoundAtTheWrongPlaceDoesNotCount) {
  auto all = rounds(1, 3, 0);
  all[1].position += 64 * kChainBlock;
  EXPECT_EQ(chain_rounds(all).missing, kChainBlock);
}

}  // namespace
}  // namespace naru
