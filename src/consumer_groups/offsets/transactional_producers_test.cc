#include "consumer_groups/offsets/transactional_producers.h"

#include <gtest/gtest.h>

namespace naru {
namespace {

constexpr ProducerId kId(7);

ProducerIdentity in_epoch(int16_t epoch) {
  return {kId, ProducerEpoch(epoch)};
}
TransactionMarker by_coordinator(int32_t epoch) {
  return {TransactionResult::commit, epoch};
}
TransactionalCommit commit_in(int16_t epoch, uint64_t guard, uint64_t connection = 0, int64_t number = -1) {
  return {.producer = in_epoch(epoch),
          .guard = guard,
          .transaction_number = TransactionNumber(number),
          .connection = connection};
}
// As the coordinator does it: judged, and applied if it may.
ErrorCode commit(TransactionalProducers& producers, const TransactionalCommit& request) {
  const ErrorCode error = producers.check_commit(request);
  if (error == ErrorCode::none) {
    producers.apply_pending(request.producer, request.transaction_number);
    producers.note_connection(request.producer, request.connection);
  }
  return error;
}
WriteMarker marker(int16_t epoch, int16_t version = 1, int64_t number = -1, int32_t coordinator_epoch = 1) {
  return {.producer = in_epoch(epoch),
          .marker = by_coordinator(coordinator_epoch),
          .transaction_version = version,
          .transaction_number = TransactionNumber(number)};
}
// What is judged: the error, and whether it is written.
std::string judged(const TransactionalProducers& producers, const WriteMarker& request) {
  const auto judgement = producers.judge(request);
  if (judgement.error != ErrorCode::none) return std::string(describe(judgement.error).name);
  return judgement.is_needed ? "written" : "nothing";
}

TEST(TransactionalProducers, AGuardIsNeededToOpenATransactionAndNotToContinueIt) {
  TransactionalProducers producers;
  EXPECT_EQ(commit(producers, commit_in(3, 0)), ErrorCode::invalid_txn_state);
  const uint64_t guard = producers.begin_verification(in_epoch(3)).guard;
  EXPECT_EQ(commit(producers, commit_in(3, guard)), ErrorCode::none);
  EXPECT_EQ(producers.begin_verification(in_epoch(3)).guard, 0U);
  EXPECT_EQ(commit(producers, commit_in(3, 0)), ErrorCode::none);
  producers.apply_marker(in_epoch(3), by_coordinator(1));
  EXPECT_EQ(commit(producers, commit_in(3, guard)), ErrorCode::invalid_txn_state);
}

TEST(TransactionalProducers, GuardsOfAnEarlierLifeAreVoid) {
  TransactionalProducers first;
  first.loaded(MonotonicTime{} + 10s);
  uint64_t guard = 0;
  for (int i = 0; i < 1000; ++i) guard = first.begin_verification(in_epoch(0)).guard;
  TransactionalProducers second;
  second.loaded(MonotonicTime{} + 11s);
  second.begin_verification(in_epoch(0));
  EXPECT_EQ(commit(second, commit_in(0, guard)), ErrorCode::invalid_txn_state);
}

TEST(TransactionalProducers, OfAProducerThatIsForgottenOnlyNewGuardsHold) {
  TransactionalProducers producers(1);
  producers.loaded(MonotonicTime{});
  const uint64_t before = producers.begin_verification(in_epoch(0)).guard;
  producers.apply_marker(in_epoch(0), by_coordinator(1));
  producers.apply_marker({ProducerId(8), ProducerEpoch(0)}, by_coordinator(1));
  EXPECT_EQ(commit(producers, commit_in(0, before)), ErrorCode::invalid_txn_state);
  EXPECT_EQ(commit(producers, commit_in(0, producers.begin_verification(in_epoch(0)).guard)), ErrorCode::none);
  EXPECT_EQ(producers.open_count(), 1U);
}

TEST(TransactionalProducers, LowerEpochsAreFencedAndAHigherOneWaitsForTheMarker) {
  TransactionalProducers producers;
  ASSERT_EQ(commit(producers, commit_in(3, producers.begin_verification(in_epoch(3)).guard)), ErrorCode::none);
  EXPECT_EQ(producers.begin_verification(in_epoch(2)).error, ErrorCode::invalid_producer_epoch);
  EXPECT_EQ(commit(producers, commit_in(2, 99)), ErrorCode::invalid_producer_epoch);
  const uint64_t guard = producers.begin_verification(in_epoch(4)).guard;
  EXPECT_EQ(commit(producers, commit_in(4, guard)), ErrorCode::concurrent_transactions);
  producers.apply_marker(in_epoch(4), by_coordinator(1));
  EXPECT_EQ(commit(producers, commit_in(3, guard)), ErrorCode::invalid_producer_epoch);
}

TEST(TransactionalProducers, ACommitFromAnOlderConnectionIsLate) {
  TransactionalProducers producers;
  ASSERT_EQ(commit(producers, commit_in(0, producers.begin_verification(in_epoch(0)).guard, 5)), ErrorCode::none);
  EXPECT_EQ(commit(producers, commit_in(0, 0, 4)), ErrorCode::invalid_txn_state);
  EXPECT_EQ(commit(producers, commit_in(0, 0, 6)), ErrorCode::none);
  producers.apply_marker(in_epoch(0), by_coordinator(1));
  const uint64_t guard = producers.begin_verification(in_epoch(0)).guard;
  EXPECT_EQ(commit(producers, commit_in(0, guard, 5)), ErrorCode::invalid_txn_state) << "also in the next transaction";
  producers.apply_marker(in_epoch(1), by_coordinator(1));
  EXPECT_EQ(commit(producers, commit_in(1, producers.begin_verification(in_epoch(1)).guard, 5)), ErrorCode::none);
}

TEST(TransactionalProducers, MarkersOfAnOpenTransaction) {
  for (const int16_t version : {int16_t{1}, int16_t{2}}) {
    TransactionalProducers producers;
    producers.apply_marker(in_epoch(2), by_coordinator(5));
    ASSERT_EQ(commit(producers, commit_in(3, producers.begin_verification(in_epoch(3)).guard, 0, 1000)),
              ErrorCode::none);
    EXPECT_EQ(judged(producers, marker(2, version, -1, 5)), "INVALID_PRODUCER_EPOCH");
    EXPECT_EQ(judged(producers, marker(3, version, -1, 5)), version == 2 ? "INVALID_PRODUCER_EPOCH" : "written");
    EXPECT_EQ(judged(producers, marker(4, version, -1, 5)), "written");
    EXPECT_EQ(judged(producers, marker(4, version, 1000, 5)), "written");
    EXPECT_EQ(judged(producers, marker(4, version, 999, 5)), "nothing") << "its transaction is over";
    EXPECT_EQ(judged(producers, marker(4, version, -1, 4)), "TRANSACTION_COORDINATOR_FENCED");
    EXPECT_EQ(judged(producers, marker(4, version, -1, 6)), "written");
  }
}

// Another shard may have been elected in its place, and have what it does not see.
TEST(TransactionalProducers, OnlyMarkersThatAreKnownToBeThereAreNotWritten) {
  for (const int16_t version : {int16_t{1}, int16_t{2}}) {
    TransactionalProducers producers;
    EXPECT_EQ(judged(producers, marker(3, version, 1000)), "written");
    producers.apply_marker(in_epoch(3), by_coordinator(1), TransactionNumber(1000));
    EXPECT_EQ(judged(producers, marker(3, version, 1000)), "nothing");
    EXPECT_EQ(judged(producers, marker(3, version, 999)), "nothing");
    EXPECT_EQ(judged(producers, marker(3, version, 1001)), "written") << "of a transaction that has written nothing";
    EXPECT_EQ(judged(producers, marker(3, version, -1)), "written") << "nobody knows of which one it is";
    EXPECT_EQ(judged(producers, marker(3, version, 1000, 2)), "written") << "the former coordinator is fenced";
    EXPECT_EQ(judged(producers, marker(4, version, 1001)), "written");
    EXPECT_EQ(judged(producers, marker(2, version, 1000)), "INVALID_PRODUCER_EPOCH");
    EXPECT_EQ(judged(producers, marker(3, version, 1000, 0)), "TRANSACTION_COORDINATOR_FENCED");
  }
}

TEST(TransactionalProducers, TheNumberOfWhatWasOpenIsThatOfItsMarker) {
  TransactionalProducers producers;
  producers.apply_pending(in_epoch(0), TransactionNumber(1000));
  producers.apply_marker(in_epoch(0), by_coordinator(1));
  EXPECT_EQ(judged(producers, marker(0, 1, 1000)), "nothing") << "as the records say";
  EXPECT_EQ(judged(producers, marker(0, 1, 1001)), "written");
}

TEST(TransactionalProducers, AMarkerMakesGuardsVoidUnlessItComesAgain) {
  TransactionalProducers producers;
  producers.apply_marker(in_epoch(3), by_coordinator(1), TransactionNumber(1000));
  const uint64_t guard = producers.begin_verification(in_epoch(3)).guard;
  producers.apply_marker(in_epoch(3), by_coordinator(2), TransactionNumber(1000));
  EXPECT_EQ(producers.check_commit(commit_in(3, guard, 0, 1001)), ErrorCode::none);
  EXPECT_EQ(producers.check_commit(commit_in(3, guard, 0, 1000)), ErrorCode::concurrent_transactions)
      << "who confirmed it did not know that it has ended";
  TransactionalCommit by_former = commit_in(3, guard, 0, 1001);
  by_former.coordinator_epoch = 1;
  EXPECT_EQ(producers.check_commit(by_former), ErrorCode::concurrent_transactions);
  by_former.coordinator_epoch = 2;
  EXPECT_EQ(producers.check_commit(by_former), ErrorCode::none);
  producers.apply_marker(in_epoch(3), by_coordinator(2), TransactionNumber(1001));
  EXPECT_EQ(producers.check_commit(commit_in(3, guard, 0, 1002)), ErrorCode::invalid_txn_state);
}

TEST(TransactionalProducers, NegativeNumbersAreNobody) {
  TransactionalProducers producers;
  const auto expect = [&producers](const ProducerIdentity& nobody, ErrorCode error) {
    EXPECT_EQ(producers.begin_verification(nobody).error, error);
    EXPECT_EQ(producers.check_commit({.producer = nobody, .guard = 1}), error);
    EXPECT_EQ(producers.judge({.producer = nobody}).error, error);
  };
  expect({}, ErrorCode::invalid_producer_id_mapping);
  expect({ProducerId(-2), ProducerEpoch(0)}, ErrorCode::invalid_producer_id_mapping);
  expect({ProducerId(3), ProducerEpoch(-1)}, ErrorCode::invalid_producer_epoch);
}

TEST(TransactionalProducers, AMarkerEndsATransactionWhoseNumberNobodyHasSaid) {
  TransactionalProducers producers;
  producers.apply_pending(in_epoch(0), kNoTransactionNumber);
  EXPECT_EQ(judged(producers, marker(0, 1, 999)), "written");
}

TEST(TransactionalProducers, TheNumberHoldsUntilTheMarker) {
  TransactionalProducers producers;
  producers.apply_pending(in_epoch(0), TransactionNumber(999));
  producers.apply_pending(in_epoch(0), kNoTransactionNumber);
  producers.loaded(MonotonicTime{} + 1s);
  EXPECT_EQ(judged(producers, marker(0, 1, 998)), "nothing");
  EXPECT_EQ(judged(producers, marker(0, 1, 1000)), "written") << "readers must not wait for ever";
  producers.apply_marker(in_epoch(0), by_coordinator(1));
  producers.apply_pending(in_epoch(0), kNoTransactionNumber);
  EXPECT_EQ(judged(producers, marker(0, 1, 999)), "nothing") << "that one has ended, whatever is open now";
  EXPECT_EQ(judged(producers, marker(0, 1, 1000)), "written");
}

}  // namespace
}  // namespace naru
