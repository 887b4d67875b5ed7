#include "transactions/transaction_coordinator.h"

#include <gtest/gtest.h>

#include "transactions/transaction_testing.h"

namespace naru {
namespace {

using enum TransactionState;
using Mode = AddPartitions::Mode;
constexpr auto kCommitted = TransactionResult::commit;
constexpr auto kAborted = TransactionResult::abort;

TEST(TransactionCoordinator, ATransactionGoesFromTheFirstPartitionToTheLastMarker) {
  TestTransactions test;
  const ProducerIdentity producer = test.init("tx");
  EXPECT_EQ(producer, test_producer(1000, 0));
  EXPECT_EQ(test.state("tx"), empty);
  EXPECT_EQ(test.add("tx", producer, 1), ErrorCode::none);
  EXPECT_EQ(test.add("tx", producer, 0), ErrorCode::none);
  EXPECT_EQ(test.state("tx"), ongoing);
  EXPECT_TRUE(test.sink.wanted.empty());
  EXPECT_EQ(test.end("tx", producer, kCommitted).error, ErrorCode::none);
  EXPECT_EQ(test.state("tx"), prepare_commit);
  ASSERT_EQ(test.sink.wanted.size(), 1U);
  const MarkersWanted& wanted = test.sink.wanted[0];
  EXPECT_EQ(wanted.transactional_id, "tx");
  EXPECT_EQ(wanted.producer, producer);
  EXPECT_EQ(wanted.result, kCommitted);
  EXPECT_EQ(wanted.transaction_version, 1);
  EXPECT_EQ(wanted.number, TransactionNumber(test.time.wall_ms));
  EXPECT_EQ(wanted.partitions, (std::vector{test_partition(0), test_partition(1)}));
  test.write_markers();
  EXPECT_EQ(test.state("tx"), complete_commit);
  EXPECT_EQ(test.log.size(), 5U) << "each step is one record";
}

TEST(TransactionCoordinator, NoMarkerIsAskedForBeforeTheDecisionIsCommitted) {
  TestTransactions test;
  const ProducerIdentity producer = test.init("tx");
  test.add("tx", producer, 0);
  test.hold_commits();
  const auto answer = test.ask<EndTransactionAnswer>([&](auto reply, auto& outcome) {
    test.coordinator->end({.transactional_id = "tx", .producer = producer, .result = kCommitted}, std::move(reply),
                          test.time, outcome);
  });
  EXPECT_TRUE(test.sink.wanted.empty());
  EXPECT_FALSE(answer.arrived());
  test.crash_before_commit();
  EXPECT_TRUE(test.sink.wanted.empty());
  EXPECT_EQ(answer.failure_status(), ErrorCode::coordinator_not_available);
  EXPECT_EQ(test.state("tx"), ongoing) << "it was never decided";
  EXPECT_EQ(test.end("tx", producer, kAborted).error, ErrorCode::none);
  EXPECT_EQ(test.sink.wanted.size(), 1U);
}

TEST(TransactionCoordinator, TheNextCoordinatorFinishesWhatWasDecided) {
  for (const auto result : {kCommitted, kAborted}) {
    TestTransactions test;
    const ProducerIdentity producer = test.init("tx");
    test.add("tx", producer, 0);
    EXPECT_EQ(test.end("tx", producer, result).error, ErrorCode::none);
    const auto wanted = test.sink.wanted;
    test.restart();
    ASSERT_EQ(test.sink.wanted.size(), 1U);
    EXPECT_EQ(test.sink.wanted[0].result, result);
    EXPECT_EQ(test.sink.wanted[0].number, wanted[0].number);
    EXPECT_EQ(test.sink.wanted[0].partitions, wanted[0].partitions);
    test.write_markers();
    EXPECT_EQ(test.state("tx"), result == kCommitted ? complete_commit : complete_abort);
    test.restart();
    EXPECT_TRUE(test.sink.wanted.empty());
  }
}

TEST(TransactionCoordinator, OnlyMarkersOfThisTransactionEndIt) {
  TestTransactions test;
  const ProducerIdentity producer = test.init("tx");
  test.add("tx", producer, 0);
  test.end("tx", producer, kCommitted);
  const MarkersWanted first = test.sink.wanted.at(0);
  test.write_markers();
  test.markers_written(first);
  test.add("tx", producer, 0);
  test.markers_written(first);
  EXPECT_EQ(test.state("tx"), ongoing);
  test.end("tx", producer, kAborted);
  test.markers_written(first);
  EXPECT_EQ(test.state("tx"), prepare_abort) << "the markers of the transaction before";
  EXPECT_GT(test.sink.wanted.at(0).number, first.number) << "in the same millisecond";
  test.write_markers();
  EXPECT_EQ(test.state("tx"), complete_abort);
}

TEST(TransactionCoordinator, NumbersRiseAlsoWhenTheClockGoesBack) {
  TestTransactions test;
  ProducerIdentity producer = test.init("tx");
  TransactionNumber last = kNoTransactionNumber;
  for (int i = 0; i < 5; ++i) {
    test.time.wall_ms -= 3'600'000;
    const auto answer = test.add({.transactional_id = "tx", .producer = producer, .partitions = {test_partition(0)}});
    EXPECT_GT(answer.value().number, last);
    last = answer.value().number;
    test.end("tx", producer, kCommitted);
    test.write_markers();
    if (i == 2) producer = test.init("tx");
  }
}

TEST(TransactionCoordinator, EveryTransactionOfVersion2HasItsOwnEpoch) {
  TestTransactions test;
  ProducerIdentity producer = test.init("tx");
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(test.add("tx", producer, 0, Mode::implicit), ErrorCode::none);
    const auto answer = test.end("tx", producer, kCommitted, 2);
    EXPECT_EQ(answer.next, (ProducerIdentity{producer.id, producer.epoch + 1}));
    EXPECT_EQ(test.sink.wanted.at(0).producer, answer.next) << "markers have the epoch of the next transaction";
    EXPECT_EQ(test.sink.wanted.at(0).transaction_version, 2);
    test.write_markers();
    EXPECT_EQ(test.end("tx", producer, kCommitted, 2).next, answer.next) << "asked again";
    producer = answer.next;
  }
  const auto aborted = test.end("tx", producer, kAborted, 2);
  EXPECT_EQ(aborted.error, ErrorCode::none);
  EXPECT_EQ(aborted.next.epoch, producer.epoch + 1);
  EXPECT_TRUE(test.sink.wanted.empty());
  EXPECT_EQ(test.add("tx", producer, 0, Mode::implicit), ErrorCode::producer_fenced);
}

// --- Who is the producer ---------------------------------------------------------------------------------------------

TEST(TransactionCoordinator, AnotherProducerFencesTheFormerOneWhoseTransactionIsAborted) {
  TestTransactions test;
  const ProducerIdentity zombie = test.init("tx");
  test.add("tx", zombie, 0);
  const auto answer = test.init({.transactional_id = "tx"});
  EXPECT_FALSE(answer.arrived()) << "parked until the abort is complete";
  ASSERT_EQ(test.sink.wanted.size(), 1U);
  EXPECT_EQ(test.sink.wanted[0].producer, (ProducerIdentity{zombie.id, zombie.epoch + 1})) << "raised once";
  EXPECT_EQ(test.sink.wanted[0].result, kAborted);
  test.write_markers();
  EXPECT_EQ(answer.value().producer, (ProducerIdentity{zombie.id, zombie.epoch + 2}));
  for (const int16_t version : {kTransactionVersion1, kTransactionVersion2}) {
    EXPECT_EQ(test.end("tx", zombie, kAborted, version).error, ErrorCode::producer_fenced);
    EXPECT_EQ(test.end("tx", zombie, kCommitted, version).error, ErrorCode::producer_fenced);
  }
  EXPECT_EQ(test.init({.transactional_id = "tx", .expected = zombie}).value().error, ErrorCode::producer_fenced);
}

TEST(TransactionCoordinator, TheFencedOneIsNotAnsweredAsIfItHadAskedBeforeWhileMarkersAreWritten) {
  TestTransactions test;
  const ProducerIdentity zombie = test.init("tx");
  test.add("tx", zombie, 0, Mode::implicit);
  const auto successor = test.init({.transactional_id = "tx"});
  EXPECT_EQ(test.end("tx", zombie, kAborted, 2).error, ErrorCode::producer_fenced);
  test.advance(2s);
  EXPECT_EQ(successor.value().error, ErrorCode::concurrent_transactions);
  test.write_markers();
  EXPECT_EQ(test.end("tx", zombie, kAborted, 2).error, ErrorCode::producer_fenced);
}

TEST(TransactionCoordinator, AProducerThatBeginsAnewKeepsItsPlace) {
  TestTransactions test;
  const ProducerIdentity producer = test.init("tx");
  test.add("tx", producer, 0);
  const auto first = test.init({.transactional_id = "tx", .expected = producer});
  const auto again = test.init({.transactional_id = "tx", .expected = producer});
  test.advance(2s);
  EXPECT_EQ(first.value().error, ErrorCode::concurrent_transactions);
  EXPECT_EQ(again.value().error, ErrorCode::concurrent_transactions);
  test.write_markers();
  const ProducerIdentity present{producer.id, producer.epoch + 1};
  EXPECT_EQ(test.init("tx", producer), present);
  EXPECT_EQ(test.init("tx", producer), present);
  EXPECT_EQ(test.init("tx", present), (ProducerIdentity{producer.id, producer.epoch + 2}));
}

TEST(TransactionCoordinator, ALateInitOfTheFormerEpochDoesNotAbortWhatWasBegunSince) {
  TestTransactions test;
  const ProducerIdentity first = test.init("tx");
  const ProducerIdentity second = test.init("tx", first);
  test.add("tx", second, 0);
  EXPECT_EQ(test.init({.transactional_id = "tx", .expected = first}).value().error, ErrorCode::producer_fenced);
  EXPECT_EQ(test.state("tx"), ongoing);
}

TEST(TransactionCoordinator, WhoComesTooSoonWaitsForTheMarkers) {
  TestTransactions test({.parked_per_id_max = 2});
  const ProducerIdentity producer = test.init("tx");
  test.add("tx", producer, 0);
  test.end("tx", producer, kCommitted);
  const AddPartitions next{.transactional_id = "tx", .producer = producer, .partitions = {test_partition(1)}};
  const auto first = test.add(next);
  EXPECT_FALSE(first.arrived());
  test.advance(1s);
  EXPECT_EQ(first.value().partitions.at(0), ErrorCode::concurrent_transactions);
  const auto second = test.add(next);
  const auto third = test.add(next);
  const auto one_too_many = test.add(next);
  EXPECT_EQ(one_too_many.value().partitions.at(0), ErrorCode::concurrent_transactions);
  test.write_markers();
  EXPECT_EQ(second.value().partitions.at(0), ErrorCode::none);
  EXPECT_EQ(second.value().number, third.value().number);
  EXPECT_EQ(test.state("tx"), ongoing);
  EXPECT_EQ(test.describe("tx").partitions, std::vector{test_partition(1)});
  test.end("tx", producer, kCommitted);
  const auto unloaded = test.add(next);
  test.restart();
  EXPECT_EQ(unloaded.failure_status(), ErrorCode::not_coordinator);
}

// --- Epochs end ------------------------------------------------------------------------------------------------------

// The id "tx" with a producer of this epoch.
ProducerIdentity begin_at(TestTransactions& test, int epoch) {
  const StoredTransaction stored{.producer = test_producer(7, epoch), .timeout_ms = 60'000};
  test.log.push_back(transaction_record("tx", &stored));
  test.restart();
  return stored.producer;
}

TEST(TransactionCoordinator, InVersion2AnExhaustedEpochIsFollowedByAnotherId) {
  TestTransactions test;
  ProducerIdentity producer = begin_at(test, 32765);
  test.add("tx", producer, 0, Mode::implicit);
  EXPECT_EQ(test.end("tx", producer, kCommitted, 2).next, test_producer(7, 32766));
  test.write_markers();
  producer = test_producer(7, 32766);
  test.add("tx", producer, 0, Mode::implicit);
  EXPECT_TRUE(test.end("tx", producer, kCommitted, 2).needs_fresh_id);
  EXPECT_EQ(test.state("tx"), ongoing) << "nothing has happened";
  EndTransaction request{
      .transactional_id = "tx", .producer = producer, .result = kCommitted, .version = 2, .fresh_id = ProducerId(8)};
  EXPECT_EQ(test.end(request).next, test_producer(8, 0));
  EXPECT_EQ(test.sink.wanted.at(0).producer, test_producer(7, 32767));
  EXPECT_EQ(test.end("tx", producer, kCommitted, 2).error, ErrorCode::concurrent_transactions);
  const auto next = test.add({.transactional_id = "tx",
                              .producer = test_producer(8, 0),
                              .partitions = {test_partition(0)},
                              .mode = Mode::implicit});
  test.restart();
  test.write_markers();
  EXPECT_EQ(test.end("tx", producer, kCommitted, 2).next, test_producer(8, 0)) << "asked again";
  EXPECT_EQ(test.add("tx", test_producer(8, 0), 0, Mode::implicit), ErrorCode::none);
  EXPECT_EQ(test.add("tx", producer, 0, Mode::implicit), ErrorCode::producer_fenced);
}

TEST(TransactionCoordinator, InitFollowsAnExhaustedEpochWithAnotherId) {
  TestTransactions test;
  const ProducerIdentity producer = begin_at(test, 32766);
  EXPECT_TRUE(test.init({.transactional_id = "tx"}).value().needs_fresh_id);
  const ProducerIdentity next = test.init("tx", producer);
  EXPECT_EQ(next, test_producer(1000, 0));
  EXPECT_EQ(test.init("tx", producer), next) << "asked again";
}

TEST(TransactionCoordinator, ATimeoutAtTheLastEpochTakesTheHighestNumberAndGivesItToNobody) {
  for (const bool by_init : {false, true}) {
    TestTransactions test;
    const ProducerIdentity producer = begin_at(test, 32766);
    test.add("tx", producer, 0, Mode::implicit);
    test.advance(60s);
    EXPECT_EQ(test.sink.wanted.at(0).producer, test_producer(7, 32767));
    test.write_markers();
    EXPECT_EQ(test.add("tx", test_producer(7, 32767), 0), ErrorCode::producer_fenced);
    if (by_init) {
      EXPECT_EQ(test.init("tx", producer), test_producer(1000, 0));
      continue;
    }
    EXPECT_TRUE(test.end("tx", producer, kAborted, 2).needs_fresh_id);
    EndTransaction request{
        .transactional_id = "tx", .producer = producer, .result = kAborted, .version = 2, .fresh_id = ProducerId(8)};
    EXPECT_EQ(test.end(request).next, test_producer(8, 0));
    EXPECT_EQ(test.end("tx", producer, kAborted, 2).next, test_producer(8, 0)) << "asked again";
    EXPECT_EQ(test.end("tx", producer, kCommitted, 2).error, ErrorCode::transaction_abortable);
    EXPECT_EQ(test.add("tx", test_producer(8, 0), 0, Mode::implicit), ErrorCode::none);
  }
}

TEST(TransactionCoordinator, FencingAtTheLastEpochEndsWithAnotherId) {
  TestTransactions test;
  const ProducerIdentity producer = begin_at(test, 32766);
  test.add("tx", producer, 0);
  const auto without = test.init({.transactional_id = "tx"});
  const auto with = test.init({.transactional_id = "tx", .fresh_id = ProducerId(8)});
  test.write_markers();
  EXPECT_TRUE(without.value().needs_fresh_id);
  EXPECT_EQ(with.value().producer, test_producer(8, 0));
}

// --- Time ------------------------------------------------------------------------------------------------------------

TEST(TransactionCoordinator, ATransactionThatTakesTooLongIsAbortedOnce) {
  TestTransactions test;
  const ProducerIdentity producer = test.init("tx");
  test.add("tx", producer, 0);
  test.advance(30s);
  test.add("tx", producer, 1);
  test.advance(29'999ms);
  EXPECT_EQ(test.state("tx"), ongoing);
  test.advance(1ms);
  EXPECT_EQ(test.state("tx"), prepare_abort);
  ASSERT_EQ(test.sink.wanted.size(), 1U);
  EXPECT_EQ(test.sink.wanted[0].producer, (ProducerIdentity{producer.id, producer.epoch + 1}));
  EXPECT_EQ(test.sink.wanted[0].partitions.size(), 2U);
  const size_t records = test.log.size();
  test.advance(600s);
  EXPECT_EQ(test.log.size(), records) << "however long the markers take";
  test.write_markers();
  test.advance(600s);
  EXPECT_EQ(test.state("tx"), complete_abort);
  EXPECT_TRUE(test.describe("tx").was_aborted_by_coordinator);
  EXPECT_EQ(test.log.size(), records + 1);
}

TEST(TransactionCoordinator, TimeGoesOnWhileNobodyIsCoordinator) {
  TestTransactions test;
  const ProducerIdentity producer = test.init("tx");
  test.add("tx", producer, 0);
  test.advance(40s);
  test.restart();
  test.advance(19'999ms);
  EXPECT_EQ(test.state("tx"), ongoing);
  test.advance(1ms);
  EXPECT_EQ(test.state("tx"), prepare_abort);
  test.write_markers();
  const ProducerIdentity next = test.init("tx");
  test.add("tx", next, 0);
  test.time.wall_ms += 3'600'000;
  test.restart();
  test.advance(0s);
  EXPECT_EQ(test.state("tx"), prepare_abort) << "overdue when it was loaded";
  test.write_markers();
  test.add("tx", test.init("tx"), 0);
  test.time.wall_ms -= 3'600'000;
  test.restart();
  test.advance(59'999ms);
  EXPECT_EQ(test.state("tx"), ongoing);
  test.advance(1ms);
  EXPECT_EQ(test.state("tx"), prepare_abort) << "never more than its timeout, whatever the clock says";
}

TEST(TransactionCoordinator, IdsThatNobodyUsesAreForgotten) {
  TestTransactions test({.timeout_max = Milliseconds(2'000'000'000)});
  test.init("idle");
  const auto open = test.init({.transactional_id = "open", .timeout_ms = 2'000'000'000, .fresh_id = ProducerId(5)});
  test.add("open", open.value().producer, 0);
  const auto deciding = test.init("deciding");
  test.add("deciding", deciding, 0);
  test.end("deciding", deciding, kCommitted);
  test.time.wall_ms += 8 * 86'400'000LL;
  test.advance(2h);
  EXPECT_EQ(test.list({}).size(), 3U) << "a clock that is set forward does not count";
  test.advance(7 * 24h);
  ASSERT_EQ(test.list({}).size(), 2U);
  EXPECT_EQ(test.describe("idle").error, ErrorCode::transactional_id_not_found);
  test.restart();
  EXPECT_EQ(test.list({}).size(), 2U);
  test.write_markers();
  test.advance(7 * 24h + 1h);
  EXPECT_EQ(test.describe("deciding").error, ErrorCode::transactional_id_not_found);
  EXPECT_EQ(test.state("open"), ongoing) << "never while it is open";
}

// --- Connections -----------------------------------------------------------------------------------------------------

TEST(TransactionCoordinator, ALateEndOfVersion1DoesNotTouchTheNextTransaction) {
  TestTransactions test;
  const auto init = test.init({.transactional_id = "tx", .fresh_id = ProducerId(5), .connection = 10});
  const ProducerIdentity producer = init.value().producer;
  AddPartitions add{
      .transactional_id = "tx", .producer = producer, .partitions = {test_partition(0)}, .connection = 10};
  EndTransaction end{.transactional_id = "tx", .producer = producer, .result = kCommitted, .connection = 10};
  test.add(add);
  // It is held on its way; the client tries again on another connection, and goes on there.
  const EndTransaction held = end;
  end.connection = 11;
  EXPECT_EQ(test.end(end).error, ErrorCode::none);
  test.write_markers();
  add.connection = 11;
  test.add(add);
  const auto late = test.end(held);
  EXPECT_TRUE(late.is_late);
  EXPECT_EQ(test.state("tx"), ongoing);
  AddPartitions late_add = add;
  late_add.connection = 10;
  late_add.partitions = {test_partition(5)};
  EXPECT_TRUE(test.add(late_add).value().is_late);
  EXPECT_EQ(test.describe("tx").partitions.size(), 1U);
  EXPECT_TRUE(test.init({.transactional_id = "tx", .connection = 10}).value().is_late);
  EXPECT_EQ(test.end(end).error, ErrorCode::none) << "asked again on the same connection";
}

TEST(TransactionCoordinator, WhatIsOlderThanTheCoordinatorHasToBeAskedAgain) {
  TestTransactions test;
  const ProducerIdentity producer = test.init("tx");
  test.add("tx", producer, 0);
  test.restart(20);
  EndTransaction end{.transactional_id = "tx", .producer = producer, .result = kCommitted, .connection = 20};
  EXPECT_TRUE(test.end(end).is_late);
  EXPECT_TRUE(test.init({.transactional_id = "tx", .connection = 20}).value().is_late) << "it would fence";
  EXPECT_EQ(test.state("tx"), ongoing);
  end.connection = 21;
  EXPECT_EQ(test.end(end).error, ErrorCode::none);
  test.write_markers();
  // Version 2 has epochs for that.
  test.restart(30);
  test.add("tx", producer, 0, Mode::implicit);
  end.connection = 1;
  end.version = 2;
  EXPECT_EQ(test.end(end).error, ErrorCode::none);
}

// --- Bounds, administration ------------------------------------------------------------------------------------------

TEST(TransactionCoordinator, WhatIsTooMuchIsRefusedAndChangesNothing) {
  TestTransactions test({.ids_max = 1, .partitions_max = 2});
  const ProducerIdentity producer = test.init("tx");
  EXPECT_EQ(test.init({.transactional_id = "other", .fresh_id = ProducerId(9)}).value().error,
            ErrorCode::policy_violation);
  test.add("tx", producer, 0);
  test.add("tx", producer, 1);
  const size_t records = test.log.size();
  EXPECT_EQ(test.add("tx", producer, 2), ErrorCode::policy_violation);
  EXPECT_EQ(test.add("tx", producer, 1), ErrorCode::none);
  const AddPartitions nameless{
      .transactional_id = "tx", .producer = producer, .partitions = {{std::string(300, 't'), PartitionIndex(0)}}};
  EXPECT_EQ(test.add(nameless).value().partitions.at(0), ErrorCode::invalid_request);
  EXPECT_EQ(test.log.size(), records);
}

TEST(TransactionCoordinator, TransactionsAreListedByStateProducerAndDuration) {
  TestTransactions test;
  const ProducerIdentity a = test.init("a");
  const ProducerIdentity b = test.init("b");
  test.init("c");
  test.add("a", a, 0);
  test.advance(10s);
  test.add("b", b, 0);
  const auto names = [&](ListTransactions request) {
    std::string text;
    for (const auto& each : test.list(std::move(request))) text += each.transactional_id;
    return text;
  };
  EXPECT_EQ(names({}), "abc");
  EXPECT_EQ(names({.states = {"Ongoing"}}), "ab");
  EXPECT_EQ(names({.states = {"Empty", "Dead"}}), "c");
  EXPECT_EQ(names({.producer_ids = std::make_shared<const std::vector<ProducerId>>(1, b.id)}), "b");
  EXPECT_EQ(names({.longer_than_ms = 5000}), "ac") << "c has had no transaction, and Kafka lists it then";
  EXPECT_EQ(names({.longer_than_ms = 10'000}), "c");
  EXPECT_EQ(names({.states = {"Ongoing"}, .longer_than_ms = 5000}), "a");
  test.end("a", a, TransactionResult::commit);
  EXPECT_EQ(names({.longer_than_ms = 5000}), "ac") << "by the beginning of the last transaction";
  EXPECT_TRUE(is_transaction_state_name("PrepareEpochFence"));
  EXPECT_FALSE(is_transaction_state_name("ongoing"));
  const DescribedTransaction described = test.describe("a");
  EXPECT_EQ(described.producer, a);
  EXPECT_EQ(described.start_ms, test.time.wall_ms - 10'000);
  EXPECT_EQ(described.timeout_ms, 60'000);
  EXPECT_EQ(test.describe("c").start_ms, -1);
}

TEST(TransactionCoordinator, RecordsThatItDoesNotKnowAreSkippedAndDamagedOnesAreNot) {
  TestTransactions test;
  CoordinatorRecord record = transaction_record("tx", nullptr);
  record.key[1] = std::byte{9};
  EXPECT_TRUE(test.coordinator->apply(record.key, std::nullopt).ok());
  const StoredTransaction stored{.producer = test_producer(7, 0)};
  record = transaction_record("tx", &stored);
  record.value->pop_back();
  EXPECT_EQ(test.coordinator->apply(record.key, BytesView(*record.value)), ErrorCode::corrupt_data);
  EXPECT_EQ(test.coordinator->apply({}, std::nullopt), ErrorCode::corrupt_data);
}

TEST(TransactionCoordinator, ADecisionWithoutPartitionsIsCompletedAfterLoading) {
  TestTransactions test;
  const StoredTransaction stored{
      .producer = test_producer(7, 1), .timeout_ms = 1000, .state = prepare_abort, .start_ms = 5};
  test.log.push_back(transaction_record("tx", &stored));
  test.restart();
  EXPECT_TRUE(test.sink.wanted.empty());
  test.advance(1ms);
  EXPECT_EQ(test.state("tx"), complete_abort);
}

TEST(TransactionMemory, IsCountedAndWhileItIsFullNothingIsAdded) {
  MemoryBudget budget(4 * 1350);  // of which state has a quarter
  {
    TestTransactions test({}, &budget);
    const ProducerIdentity a = test.init("a");
    test.init("b");
    const uint64_t used = budget.used(MemoryAccount::coordinator_state);
    EXPECT_GE(used, 800u);
    AddPartitions many{.transactional_id = "a", .producer = a, .partitions = {}};
    for (int32_t i = 0; i < 20; ++i) many.partitions.push_back({"t", PartitionIndex(i)});
    EXPECT_EQ(test.add(many).value().partitions.front(), ErrorCode::coordinator_not_available);
    EXPECT_EQ(budget.used(), used);
    many.partitions.resize(2);
    EXPECT_EQ(test.add(many).value().partitions.front(), ErrorCode::none);
    EXPECT_GT(budget.used(), used);
    EXPECT_EQ(test.init(InitProducer{.transactional_id = "c"}).value().error, ErrorCode::coordinator_not_available);
    test.restart();
    EXPECT_GT(budget.used(), used) << "what the log holds is counted, too";
  }
  EXPECT_EQ(budget.used(), 0u);
}

}  // namespace
}  // namespace naru
