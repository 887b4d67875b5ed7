#include "replication/transaction_guards.h"

#include <gtest/gtest.h>

#include <limits>

namespace naru {
namespace {

constexpr ProducerIdentity kFirst{.id = ProducerId(7), .epoch = ProducerEpoch(1)};
constexpr ProducerIdentity kNextEpoch{.id = ProducerId(7), .epoch = ProducerEpoch(2)};
constexpr ProducerIdentity kOther{.id = ProducerId(8), .epoch = ProducerEpoch(1)};

TEST(TransactionGuards, AGuardHoldsForItsProducerAndEpochUntilAMarker) {
  TransactionGuards guards;
  const VerificationGuard guard = guards.begin(kFirst, 0);
  EXPECT_NE(guard, 0u);
  EXPECT_TRUE(guards.holds(kFirst, guard));
  EXPECT_FALSE(guards.holds(kNextEpoch, guard));
  EXPECT_FALSE(guards.holds(kOther, guard));
  EXPECT_FALSE(guards.holds(kFirst, 0));
  EXPECT_EQ(guards.begin(kFirst, 1), guard) << "questions about one epoch share it";
  guards.ended(kFirst, kNoTransactionNumber, 1);
  EXPECT_FALSE(guards.holds(kFirst, guard));
  const VerificationGuard next = guards.begin(kFirst, 0);
  EXPECT_NE(next, guard);
  EXPECT_FALSE(guards.holds(kFirst, guard)) << "what was asked before the marker stays void";
  guards.begin(kNextEpoch, 0);
  EXPECT_FALSE(guards.holds(kFirst, next));
  guards.clear();
  EXPECT_FALSE(guards.holds(kNextEpoch, next + 1)) << "another reign";
}

// With version 2 the first batch of the next transaction may be asked about before the marker of this one comes.
TEST(TransactionGuards, AMarkerOfVersion2LeavesTheGuardOfTheEpochThatItBrings) {
  TransactionGuards guards;
  const VerificationGuard guard = guards.begin(kNextEpoch, 0);
  guards.ended(kNextEpoch, TransactionNumber(1), 2);
  EXPECT_TRUE(guards.holds(kNextEpoch, guard));
  guards.ended({.id = kNextEpoch.id, .epoch = kNextEpoch.epoch + 1}, TransactionNumber(2), 2);
  EXPECT_FALSE(guards.holds(kNextEpoch, guard)) << "its own has ended";
}

TEST(TransactionGuards, OpeningUsesTheGuardUpAndNotesTheNumber) {
  TransactionGuards guards;
  const VerificationGuard guard = guards.begin(kFirst, 0);
  EXPECT_EQ(guards.number(kFirst.id), kNoTransactionNumber);
  guards.opened(kFirst, TransactionNumber(11));
  EXPECT_FALSE(guards.holds(kFirst, guard));
  EXPECT_EQ(guards.number(kFirst.id), TransactionNumber(11));
  guards.ended(kFirst, kNoTransactionNumber, 1);
  EXPECT_EQ(guards.number(kFirst.id), kNoTransactionNumber);
}

TEST(TransactionGuards, AMarkerWithoutANumberEndsTheOneThatIsOpen) {
  TransactionGuards guards;
  guards.opened(kFirst, TransactionNumber(11));
  guards.ended(kFirst, kNoTransactionNumber, 1);
  EXPECT_TRUE(guards.has_ended(kFirst.id, TransactionNumber(11)));
  EXPECT_FALSE(guards.has_ended(kFirst.id, TransactionNumber(12)));
}

TEST(TransactionGuards, AMarkerThatComesAgainTouchesNothing) {
  TransactionGuards guards;
  EXPECT_FALSE(guards.has_ended(kFirst.id, TransactionNumber(11)));
  guards.ended(kFirst, TransactionNumber(11), 1);
  EXPECT_TRUE(guards.has_ended(kFirst.id, TransactionNumber(11)));
  EXPECT_TRUE(guards.has_ended(kFirst.id, TransactionNumber(10))) << "numbers rise";
  EXPECT_FALSE(guards.has_ended(kFirst.id, TransactionNumber(12)));
  EXPECT_FALSE(guards.has_ended(kFirst.id, kNoTransactionNumber));
  EXPECT_FALSE(guards.has_ended(kOther.id, TransactionNumber(11)));
  const VerificationGuard next = guards.begin(kFirst, 0);
  guards.ended(kFirst, TransactionNumber(11), 1);
  EXPECT_TRUE(guards.holds(kFirst, next));
  guards.opened(kFirst, TransactionNumber(12));
  guards.ended(kFirst, TransactionNumber(11), 1);
  EXPECT_EQ(guards.number(kFirst.id), TransactionNumber(12));
  guards.ended(kFirst, TransactionNumber(12), 1);
  EXPECT_EQ(guards.number(kFirst.id), kNoTransactionNumber);
  guards.clear();
  EXPECT_FALSE(guards.has_ended(kFirst.id, TransactionNumber(11))) << "another reign";
}

TEST(TransactionGuards, TheEarliestBatchThatWasAskedAboutComesFirst) {
  TransactionGuards guards;
  guards.begin(kFirst, 5);
  guards.begin(kFirst, 3);
  guards.begin(kFirst, 7);
  EXPECT_TRUE(guards.comes_too_early(kFirst, 5));
  EXPECT_FALSE(guards.comes_too_early(kFirst, 3));
  EXPECT_FALSE(guards.comes_too_early(kOther, 5));
  constexpr int32_t kLast = std::numeric_limits<int32_t>::max();
  guards.begin(kOther, 0);
  guards.begin(kOther, kLast - 2);
  EXPECT_TRUE(guards.comes_too_early(kOther, 0)) << "sequences wrap";
  EXPECT_FALSE(guards.comes_too_early(kOther, kLast - 2));
}

TEST(TransactionGuards, ABatchOnAnOlderConnectionIsLate) {
  TransactionGuards guards;
  EXPECT_FALSE(guards.comes_late(kFirst, 1));
  guards.appended(kFirst, 5);
  EXPECT_TRUE(guards.comes_late(kFirst, 4));
  EXPECT_FALSE(guards.comes_late(kFirst, 5));
  EXPECT_FALSE(guards.comes_late(kFirst, 6));
  EXPECT_FALSE(guards.comes_late(kNextEpoch, 4)) << "a new epoch is its own proof";
  EXPECT_FALSE(guards.comes_late(kOther, 4));
  guards.ended(kFirst, kNoTransactionNumber, 1);
  EXPECT_TRUE(guards.comes_late(kFirst, 4)) << "also in the next transaction";
}

TEST(TransactionGuards, TheirNumberIsBounded) {
  TransactionGuards guards;
  const VerificationGuard first = guards.begin(kFirst, 0);
  for (size_t i = 0; i < TransactionGuards::kMaxProducers; ++i) {
    guards.begin({.id = ProducerId(1000 + static_cast<int64_t>(i)), .epoch = ProducerEpoch(0)}, 0);
  }
  EXPECT_EQ(guards.size(), TransactionGuards::kMaxProducers);
  EXPECT_FALSE(guards.holds(kFirst, first)) << "it has to be asked for again";
}

TEST(TransactionGuards, WhoHasAnOpenTransactionIsForgottenLast) {
  TransactionGuards guards;
  guards.opened(kFirst, TransactionNumber(11));
  for (size_t i = 0; i < 2 * TransactionGuards::kMaxProducers; ++i) {
    guards.ended({.id = ProducerId(1000 + static_cast<int64_t>(i)), .epoch = ProducerEpoch(0)}, TransactionNumber(1),
                 1);
  }
  EXPECT_EQ(guards.size(), TransactionGuards::kMaxProducers);
  EXPECT_EQ(guards.number(kFirst.id), TransactionNumber(11));
}

}  // namespace
}  // namespace naru
