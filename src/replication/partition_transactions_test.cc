// Transactions through a partition: what may open one, what may end one, and what readers see meanwhile.
#include <gtest/gtest.h>

#include <deque>
#include <vector>

#include "platform/simulated/simulated_world.h"
#include "record_format/batch_builder.h"
#include "replication/partition.h"
#include "replication/partition_maintenance.h"
#include "replication/partition_testing.h"
#include "replication/replicated_partition_testing.h"

namespace naru {
namespace {

struct Transactional {
  int64_t producer = 7;
  int16_t epoch = 0;
  int32_t sequence = 0;
  int records = 1;
  bool transactional = true;
  std::optional<TransactionVerdict> verified = std::nullopt;
  bool by_coordinator = false;
  uint64_t connection = 0;
};

AppendRequest request_for(const Transactional& sent) {
  BatchBuilder builder({.transactional = sent.transactional,
                        .producer_id = ProducerId(sent.producer),
                        .producer_epoch = ProducerEpoch(sent.epoch),
                        .base_sequence = sent.sequence});
  for (int i = 0; i < sent.records; ++i) builder.add(1000 + i, std::nullopt, "v");
  SharedBytes batch(builder.build().value());
  auto validated = validate_produced_batch(batch.view(), {.sequence_required = !sent.by_coordinator}, 1000);
  EXPECT_TRUE(validated.has_value());
  return {.batch = std::move(batch),
          .validated = std::move(*validated),
          .verified = sent.verified,
          .by_coordinator = sent.by_coordinator,
          .connection = sent.connection};
}

struct Marked {
  int64_t producer = 7;
  int16_t epoch = 0;
  TransactionResult result = TransactionResult::commit;
  int32_t coordinator_epoch = 0;
  int16_t version = 1;
  int64_t number = -1;
  int32_t leader_epoch = -1;
};

MarkerRequest request_for(const Marked& marked) {
  return {.producer = {ProducerId(marked.producer), ProducerEpoch(marked.epoch)},
          .marker = {marked.result, marked.coordinator_epoch},
          .transaction_version = marked.version,
          .number = TransactionNumber(marked.number),
          .leader_epoch = LeaderEpoch(marked.leader_epoch)};
}

struct Reply {
  std::shared_ptr<AppendGroup> group = std::make_shared<AppendGroup>(1);
  bool there() const { return group->finished(); }
  AppendResult result() const { return group->result(0); }
  ErrorCode code() const { return group->result(0).status.code(); }
};

class TransactionsInPartition : public testing::Test {
 protected:
  // Nobody waits for syncs unless the test wants to see that.
  void open(bool acknowledged_at_once = true) {
    const Seams seams = process->seams();
    const ConfigOverrides loose{{"flush.messages", "1000000"}};
    partition = open_test_partition(node.disk(), open_files.emplace_back(node.disk(), 4),
                                    {seams.clock, seams.scheduler, durability, unsynced_logs},
                                    acknowledged_at_once ? loose : ConfigOverrides{});
    ASSERT_NE(partition, nullptr);
  }
  Reply send(const Transactional& sent) {
    Reply reply;
    partition->append(request_for(sent), reply.group, 0);
    return reply;
  }
  Reply mark(const Marked& marked) {
    Reply reply;
    partition->append_marker(request_for(marked), reply.group, 0);
    return reply;
  }
  Result<VerificationGuard> begin(const Transactional& sent) {
    Result<VerificationGuard> guard = failure(Status(ErrorCode::unknown_server_error));
    const auto task = [&]() -> Task<void> {
      guard = co_await partition->begin_verification(request_for(sent).validated.header);
    };
    world.run_task(task());
    return guard;
  }
  // As a handler does it whose coordinator agrees.
  Reply verify_and_send(Transactional sent, int64_t number = -1, bool implicit = false) {
    const auto guard = begin(sent);
    EXPECT_TRUE(guard.has_value());
    if (*guard != 0) sent.verified = {.guard = *guard, .number = TransactionNumber(number), .implicit = implicit};
    return send(sent);
  }
  PartitionView read(int64_t from, bool read_committed = true) {
    PartitionView view;
    const auto task = [&]() -> Task<void> {
      view = co_await partition->read(
          {.from = Offset(from), .max_bytes = 1 << 20, .at_least_one_batch = true, .read_committed = read_committed});
    };
    world.run_task(task());
    return view;
  }
  Offset stable() { return read(0).last_stable_offset; }
  Offset end() { return partition->log().end_offset(); }

  SimulatedWorld world{1};
  SimulatedNode& node = world.add_node("broker");
  std::unique_ptr<SimulatedProcess> process = node.start();
  std::deque<OpenFiles> open_files;
  MetricsRegistry metrics;
  UnsyncedLogs unsynced_logs{{.sync_beyond = 100, .full = 200}, metrics};
  ManualDurability durability;
  std::shared_ptr<Partition> partition;
};

TEST_F(TransactionsInPartition, ReadersOfCommittedRecordsWaitForTheMarker) {
  open();
  ASSERT_EQ(send({.producer = 1, .records = 2, .transactional = false}).code(), ErrorCode::none);
  ASSERT_EQ(verify_and_send({.records = 3}).code(), ErrorCode::none);
  ASSERT_EQ(send({.producer = 1, .sequence = 2, .transactional = false}).code(), ErrorCode::none);
  PartitionView view = read(0);
  EXPECT_EQ(view.high_watermark, Offset(6));
  EXPECT_EQ(view.last_stable_offset, Offset(2));
  EXPECT_EQ(view.slice.next_offset, Offset(2));
  EXPECT_TRUE(read(2).slice.empty());
  EXPECT_EQ(read(2, false).slice.next_offset, Offset(6));
  ASSERT_EQ(mark({}).code(), ErrorCode::none);
  view = read(2);
  EXPECT_EQ(view.last_stable_offset, Offset(7));
  EXPECT_EQ(view.slice.next_offset, Offset(7));
  EXPECT_TRUE(view.aborted.empty());
}

TEST_F(TransactionsInPartition, ReadersAreToldWhichTransactionsWereAborted) {
  open();
  ASSERT_EQ(verify_and_send({.producer = 1, .records = 2}).code(), ErrorCode::none);
  ASSERT_EQ(verify_and_send({.producer = 2}).code(), ErrorCode::none);
  ASSERT_EQ(mark({.producer = 2, .result = TransactionResult::abort}).code(), ErrorCode::none);
  ASSERT_EQ(mark({.producer = 1, .result = TransactionResult::abort}).code(), ErrorCode::none);
  const PartitionView view = read(0);
  ASSERT_EQ(view.aborted.size(), 2u);
  EXPECT_EQ(view.aborted[0].producer_id, ProducerId(1));
  EXPECT_EQ(view.aborted[0].first_offset, Offset(0));
  EXPECT_EQ(view.aborted[1].producer_id, ProducerId(2));
  EXPECT_EQ(view.aborted[1].first_offset, Offset(2));
  EXPECT_EQ(read(4).aborted.size(), 1u) << "the first one reaches to its marker at 4, the second does not";
  EXPECT_TRUE(read(0, false).aborted.empty());
}

TEST_F(TransactionsInPartition, WhoWaitsForStableRecordsIsToldWhenTheTransactionEnds) {
  class Watcher final : public FetchWatcher {
   public:
    explicit Watcher(uint64_t id) : FetchWatcher(id) {}
    void more_to_read(uint32_t, uint64_t more) override { bytes += more; }
    void state_changed(uint32_t) override {}
    void log_start_moved(uint32_t, Audience) override {}
    void high_watermark_moved(uint32_t) override {}
    void asked(uint32_t) override {}
    uint64_t bytes = 0;
  };
  open();
  const auto stable_watcher = std::make_shared<Watcher>(1);
  const auto plain_watcher = std::make_shared<Watcher>(2);
  partition->watch(stable_watcher, 0, 0, Audience::committed_consumers);
  partition->watch(plain_watcher, 0, 0, Audience::consumers);
  ASSERT_EQ(verify_and_send({}).code(), ErrorCode::none);
  EXPECT_GT(plain_watcher->bytes, 0u);
  EXPECT_EQ(stable_watcher->bytes, 0u);
  ASSERT_EQ(mark({}).code(), ErrorCode::none);
  EXPECT_EQ(stable_watcher->bytes, plain_watcher->bytes) << "all of it, the marker included";
  EXPECT_EQ(read(0).readable_bytes, stable_watcher->bytes);
}

TEST_F(TransactionsInPartition, ItIsKnownForHowLongReadersWait) {
  open();
  const auto pass = [&](Duration time) {
    const auto task = [&]() -> Task<void> {
      const Seams seams = process->seams();
      ignore(co_await sleep_until(seams.scheduler, seams.clock.now() + time));
    };
    world.run_task(task());
  };
  EXPECT_FALSE(partition->unstable_since().has_value());
  ASSERT_EQ(verify_and_send({.producer = 1}).code(), ErrorCode::none);
  const MonotonicTime first = world.now();
  EXPECT_EQ(partition->unstable_since(), first);
  pass(5s);
  ASSERT_EQ(verify_and_send({.producer = 2}).code(), ErrorCode::none);
  EXPECT_EQ(partition->unstable_since(), first) << "the older one holds it";
  ASSERT_EQ(mark({.producer = 1}).code(), ErrorCode::none);
  EXPECT_EQ(partition->unstable_since(), world.now()) << "it has moved, to the begin of the second";
  ASSERT_EQ(mark({.producer = 2}).code(), ErrorCode::none);
  EXPECT_FALSE(partition->unstable_since().has_value());
}

TEST_F(TransactionsInPartition, NothingOpensATransactionWithoutAGuardThatHolds) {
  open();
  EXPECT_EQ(send({}).code(), ErrorCode::invalid_txn_state) << "nobody was asked";
  EXPECT_EQ(send({.verified = TransactionVerdict{.guard = 99}}).code(), ErrorCode::invalid_txn_state);
  const VerificationGuard guard = *begin({});
  EXPECT_NE(guard, 0u);
  EXPECT_EQ(send({.producer = 8, .verified = TransactionVerdict{.guard = guard}}).code(), ErrorCode::invalid_txn_state);
  // The transaction is ended while its first batch is on its way.
  ASSERT_EQ(mark({.epoch = 0, .result = TransactionResult::abort}).code(), ErrorCode::none);
  EXPECT_EQ(send({.verified = TransactionVerdict{.guard = guard}}).code(), ErrorCode::invalid_txn_state);
  EXPECT_EQ(stable(), end()) << "no transaction hangs";
  EXPECT_EQ(verify_and_send({}).code(), ErrorCode::none);
  EXPECT_EQ(*begin({.sequence = 1}), 0u) << "it is open";
  EXPECT_EQ(send({.sequence = 1}).code(), ErrorCode::none);
  EXPECT_EQ(send({.sequence = 1}).code(), ErrorCode::none) << "a repeated batch needs none";
}

TEST_F(TransactionsInPartition, ARepeatOfAnEndedTransactionIsRefusedWithAndWithoutAGuard) {
  open();
  ASSERT_EQ(verify_and_send({}).code(), ErrorCode::none);
  ASSERT_EQ(mark({}).code(), ErrorCode::none);
  EXPECT_NE(*begin({}), 0u);
  EXPECT_EQ(send({}).code(), ErrorCode::invalid_txn_state);
  EXPECT_EQ(verify_and_send({}).code(), ErrorCode::out_of_order_sequence_number) << "in the next transaction";
  EXPECT_EQ(end(), Offset(2));
  EXPECT_EQ(stable(), end());
}

TEST_F(TransactionsInPartition, TheEpochIsJudgedBeforeTheGuard) {
  open();
  ASSERT_EQ(mark({.epoch = 3}).code(), ErrorCode::none);
  EXPECT_EQ(send({.epoch = 2}).code(), ErrorCode::invalid_producer_epoch);
  EXPECT_EQ(begin({.epoch = 2}).error().code(), ErrorCode::invalid_producer_epoch);
}

TEST_F(TransactionsInPartition, AGuardDoesNotOutliveTheReign) {
  open();
  const VerificationGuard guard = *begin({});
  PartitionAssignment next = leads_alone(BrokerId(1), LeaderEpoch(1));
  next.partition_epoch = 1;
  partition->assign(next);
  EXPECT_EQ(send({.verified = TransactionVerdict{.guard = guard}}).code(), ErrorCode::invalid_txn_state);
}

TEST_F(TransactionsInPartition, WhatIsVerifiedTogetherIsAppendedInOrder) {
  open();
  const VerificationGuard guard = *begin({.sequence = 0});
  ASSERT_EQ(*begin({.sequence = 1}), guard);
  const TransactionVerdict verdict{.guard = guard};
  EXPECT_EQ(send({.sequence = 1, .verified = verdict}).code(), ErrorCode::out_of_order_sequence_number);
  EXPECT_EQ(send({.sequence = 0, .verified = verdict}).code(), ErrorCode::none);
  EXPECT_EQ(send({.sequence = 1, .verified = verdict}).code(), ErrorCode::none);
}

TEST_F(TransactionsInPartition, WithVersionTwoAnUnknownProducerBeginsAtZero) {
  open();
  EXPECT_EQ(verify_and_send({.sequence = 4}, -1, true).code(), ErrorCode::out_of_order_sequence_number);
  EXPECT_EQ(verify_and_send({.sequence = 0}, -1, true).code(), ErrorCode::none);
}

TEST_F(TransactionsInPartition, ABatchOnAnOlderConnectionIsLate) {
  open();
  ASSERT_EQ(verify_and_send({.connection = 4}).code(), ErrorCode::none);
  ASSERT_EQ(mark({}).code(), ErrorCode::none);
  ASSERT_EQ(verify_and_send({.sequence = 1, .connection = 5}).code(), ErrorCode::none);
  EXPECT_EQ(send({.sequence = 2, .connection = 4}).code(), ErrorCode::invalid_txn_state);
  EXPECT_EQ(send({.sequence = 1, .connection = 4}).code(), ErrorCode::none) << "a repeated batch is harmless";
  EXPECT_EQ(send({.sequence = 2, .connection = 5}).code(), ErrorCode::none);
}

TEST_F(TransactionsInPartition, ALateMarkerNeverEndsTheNextTransaction) {
  open();
  ASSERT_EQ(verify_and_send({.sequence = 0}, 100).code(), ErrorCode::none);
  ASSERT_EQ(mark({.result = TransactionResult::commit, .number = 100}).code(), ErrorCode::none);
  ASSERT_EQ(verify_and_send({.sequence = 1}, 101).code(), ErrorCode::none);
  const Offset before = end();
  const Reply late = mark({.result = TransactionResult::commit, .number = 100});
  EXPECT_EQ(late.code(), ErrorCode::none) << "its transaction is over";
  EXPECT_EQ(late.result().base_offset, kNoOffset);
  EXPECT_EQ(end(), before);
  EXPECT_EQ(stable(), Offset(2)) << "the next one is open as before";
  EXPECT_EQ(mark({.epoch = 1, .number = 100, .leader_epoch = 9}).code(), ErrorCode::not_leader_or_follower);
  EXPECT_EQ(mark({.result = TransactionResult::abort, .number = 101, .leader_epoch = 0}).code(), ErrorCode::none);
  EXPECT_EQ(stable(), end());
}

// Between the question to the coordinator and its answer, the marker of the transaction before comes once more.
TEST_F(TransactionsInPartition, ARepeatedMarkerLeavesTheGuardOfTheNextTransactionAlone) {
  open();
  for (const int16_t version : {int16_t{1}, int16_t{2}}) {
    const auto epoch = static_cast<int16_t>(version - 1);  // of the marker
    ASSERT_EQ(verify_and_send({.producer = version, .sequence = 0}, 100).code(), ErrorCode::none);
    const Marked ends{.producer = version, .epoch = epoch, .version = version, .number = 100};
    ASSERT_EQ(mark(ends).code(), ErrorCode::none);
    Transactional next{.producer = version, .epoch = epoch, .sequence = version == 1 ? 1 : 0};
    next.verified = {.guard = *begin(next), .number = TransactionNumber(101)};
    const Offset before = end();
    ASSERT_EQ(mark(ends).code(), ErrorCode::none);
    EXPECT_EQ(end(), before);
    EXPECT_EQ(send(next).code(), ErrorCode::none);
    ASSERT_EQ(mark(ends).code(), ErrorCode::none);
    EXPECT_EQ(stable(), before) << "it is open as before";
    const auto next_epoch = static_cast<int16_t>(2 * epoch);
    ASSERT_EQ(mark({.producer = version, .epoch = next_epoch, .version = version, .number = 101}).code(),
              ErrorCode::none);
    EXPECT_EQ(stable(), end());
  }
}

TEST_F(TransactionsInPartition, AVerdictAboutATransactionThatHasEndedOpensNothing) {
  open();
  ASSERT_EQ(verify_and_send({.sequence = 0}, 100).code(), ErrorCode::none);
  ASSERT_EQ(mark({.number = 100}).code(), ErrorCode::none);
  EXPECT_EQ(verify_and_send({.sequence = 1}, 100).code(), ErrorCode::not_enough_replicas)
      << "by a coordinator that does not know that it was replaced; the one of now may confirm it";
  EXPECT_EQ(stable(), end());
  EXPECT_EQ(verify_and_send({.sequence = 1}, 101).code(), ErrorCode::none);
}

TEST_F(TransactionsInPartition, AVerdictOfAFormerCoordinatorOpensNothingAlsoInTheNextReign) {
  open();
  ASSERT_EQ(verify_and_send({.sequence = 0}, 100).code(), ErrorCode::none);
  ASSERT_EQ(mark({.coordinator_epoch = 4, .number = 100}).code(), ErrorCode::none);
  PartitionAssignment next = leads_alone(BrokerId(1), LeaderEpoch(1));
  next.partition_epoch = 1;
  partition->assign(next);
  Transactional late{.sequence = 1};
  late.verified = {.guard = *begin(late), .number = TransactionNumber(100), .coordinator_epoch = 3};
  EXPECT_EQ(send(late).code(), ErrorCode::not_enough_replicas);
  EXPECT_EQ(stable(), end());
  late.verified->coordinator_epoch = 4;
  EXPECT_EQ(send(late).code(), ErrorCode::none);
}

TEST_F(TransactionsInPartition, AMarkerWithNothingToEndIsAppendedOncePerReign) {
  open();
  ASSERT_EQ(verify_and_send({}, 100).code(), ErrorCode::none);
  ASSERT_EQ(mark({.number = 100}).code(), ErrorCode::none);
  const Offset ended = end();
  EXPECT_EQ(mark({.number = 101}).result().base_offset, ended) << "of a transaction that has written nothing here";
  EXPECT_EQ(mark({.number = 101}).result().base_offset, kNoOffset);
  EXPECT_EQ(mark({.number = 100}).result().base_offset, kNoOffset);
  EXPECT_EQ(mark({}).result().base_offset, ended + 1) << "nobody knows of which one it is";
  PartitionAssignment next = leads_alone(BrokerId(1), LeaderEpoch(1));
  next.partition_epoch = 1;
  partition->assign(next);
  EXPECT_EQ(mark({.number = 101}).result().base_offset, ended + 2) << "another reign does not remember";
  EXPECT_EQ(mark({.number = 101}).result().base_offset, kNoOffset);
}

TEST_F(TransactionsInPartition, ARepeatOfANewCoordinatorFencesTheFormerOne) {
  open();
  ASSERT_EQ(verify_and_send({}, 100).code(), ErrorCode::none);
  ASSERT_EQ(mark({.coordinator_epoch = 3, .number = 100}).code(), ErrorCode::none);
  EXPECT_NE(mark({.coordinator_epoch = 4, .number = 100}).result().base_offset, kNoOffset);
  EXPECT_EQ(mark({.coordinator_epoch = 3, .number = 100}).code(), ErrorCode::transaction_coordinator_fenced);
}

// Its coordinator takes that for the end of the transaction.
TEST_F(TransactionsInPartition, AMarkerIsRefusedForItsEpochWhenThatIsCommitted) {
  open(false);
  const Reply newer = mark({.epoch = 1, .number = 101});
  const Reply refused = mark({.epoch = 0, .number = 100});
  Reply checked;
  partition->check_marker(request_for(Marked{.epoch = 0, .number = 100}), checked.group, 0);
  EXPECT_FALSE(refused.there());
  EXPECT_FALSE(checked.there());
  durability.sync();
  ASSERT_TRUE(newer.there() && refused.there() && checked.there());
  EXPECT_EQ(refused.code(), ErrorCode::invalid_producer_epoch);
  EXPECT_EQ(checked.code(), ErrorCode::invalid_producer_epoch);
  Reply good;
  partition->check_marker(request_for(Marked{.epoch = 1, .number = 102}), good.group, 0);
  EXPECT_EQ(good.code(), ErrorCode::none);
  EXPECT_EQ(end(), Offset(1)) << "nothing was appended";
}

// Whatever has become of its own marker: readers must not wait for ever.
TEST_F(TransactionsInPartition, AMarkerOfALaterTransactionEndsWhatIsOpen) {
  open();
  ASSERT_EQ(verify_and_send({.sequence = 0}, 100).code(), ErrorCode::none);
  EXPECT_EQ(mark({.result = TransactionResult::abort, .number = 101}).code(), ErrorCode::none);
  EXPECT_EQ(stable(), end());
}

TEST_F(TransactionsInPartition, ARepeatedMarkerIsAnsweredWhenTheFirstOneIsCommitted) {
  open(false);
  const Reply data = verify_and_send({});
  durability.sync();
  ASSERT_EQ(data.code(), ErrorCode::none);
  const Reply first = mark({.number = 100});
  const Reply repeat = mark({.number = 100});
  EXPECT_FALSE(first.there());
  EXPECT_FALSE(repeat.there()) << "the first one may still be lost";
  EXPECT_EQ(stable(), Offset(0));
  durability.sync();
  ASSERT_TRUE(first.there() && repeat.there());
  EXPECT_EQ(first.code(), ErrorCode::none);
  EXPECT_EQ(repeat.code(), ErrorCode::none);
  EXPECT_EQ(end(), Offset(2)) << "one marker";
  EXPECT_EQ(stable(), Offset(2));
}

TEST_F(TransactionsInPartition, RecordsOfACoordinatorNeedNoGuardButAVerdictMustHold) {
  open();
  EXPECT_EQ(send({.sequence = -1, .by_coordinator = true}).code(), ErrorCode::none);
  ASSERT_EQ(mark({.epoch = 1, .version = 2}).code(), ErrorCode::none);
  EXPECT_EQ(send({.epoch = 0, .sequence = -1, .by_coordinator = true}).code(), ErrorCode::invalid_producer_epoch);
  Result<VerificationGuard> guard = failure(Status(ErrorCode::unknown_server_error));
  const auto task = [&]() -> Task<void> {
    guard = co_await partition->begin_verification(ProducerIdentity{ProducerId(7), ProducerEpoch(1)});
  };
  world.run_task(task());
  ASSERT_TRUE(guard.has_value());
  const TransactionVerdict verdict{.guard = *guard};
  ASSERT_EQ(mark({.epoch = 2, .version = 2}).code(), ErrorCode::none);
  EXPECT_EQ(send({.epoch = 2, .sequence = -1, .verified = verdict, .by_coordinator = true}).code(),
            ErrorCode::invalid_txn_state);
}

TEST_F(TransactionsInPartition, TheLastStableOffsetAndTheAbortedOnesSurviveARestart) {
  open();
  ASSERT_EQ(verify_and_send({.producer = 1}).code(), ErrorCode::none);
  ASSERT_EQ(mark({.producer = 1, .result = TransactionResult::abort}).code(), ErrorCode::none);
  ASSERT_EQ(verify_and_send({.producer = 2}).code(), ErrorCode::none);
  partition = nullptr;
  open();
  EXPECT_EQ(stable(), Offset(2));
  ASSERT_EQ(read(0).aborted.size(), 1u);
  EXPECT_EQ(read(0).aborted[0].producer_id, ProducerId(1));
  ASSERT_EQ(mark({.producer = 2}).code(), ErrorCode::none);
  EXPECT_EQ(stable(), Offset(4));
}

TEST_F(TransactionsInPartition, TimestampsAreLookedUpBelowTheLastStableOffset) {
  open();
  ASSERT_EQ(verify_and_send({}).code(), ErrorCode::none);
  const auto task = [&]() -> Task<void> {
    EXPECT_TRUE((co_await partition->find_timestamp(1000)).value().has_value());
    EXPECT_FALSE((co_await partition->find_timestamp(1000, true)).value().has_value());
    EXPECT_TRUE((co_await partition->find_max_timestamp()).value().has_value());
    EXPECT_FALSE((co_await partition->find_max_timestamp(true)).value().has_value());
  };
  world.run_task(task());
}

// A marker that only the leader has may be lost with it: nobody reads behind the begin of its transaction before.
TEST(ReplicatedTransactions, AMarkerCountsOnceItIsCommitted) {
  ReplicaSet set;
  set.open();
  const auto settle = [&] {
    set.sync(1);
    for (const int32_t id : {2, 3}) set.fetch_and_sync(id);
    for (const int32_t id : {2, 3}) set.fetch(id);
  };
  Reply sent;
  set.at(1).partition->append(request_for(Transactional{.by_coordinator = true}), sent.group, 0);
  settle();
  ASSERT_EQ(sent.code(), ErrorCode::none);
  Reply marked;
  set.at(1).partition->append_marker(request_for(Marked{.result = TransactionResult::abort}), marked.group, 0);
  set.sync(1);
  EXPECT_FALSE(marked.there());
  EXPECT_EQ(set.read(1, 0).last_stable_offset, Offset(0)) << "the marker is in the leader's log alone";
  // Another one leads, without the marker: the transaction is open there, and its coordinator sends it again.
  set.lead(2, {2, 3});
  EXPECT_EQ(marked.code(), ErrorCode::not_leader_or_follower);
  EXPECT_EQ(set.read(2, 0).last_stable_offset, Offset(0));
  Reply again;
  set.at(2).partition->append_marker(request_for(Marked{.result = TransactionResult::abort}), again.group, 0);
  set.sync(2);
  for (const int32_t id : {1, 3}) set.fetch_and_sync(id);
  for (const int32_t id : {1, 3}) set.fetch_and_sync(id);
  for (const int32_t id : {1, 3}) set.fetch(id);
  ASSERT_TRUE(again.there());
  EXPECT_EQ(again.code(), ErrorCode::none);
  for (const int32_t id : {1, 2, 3}) EXPECT_EQ(set.read(id, 0).last_stable_offset, Offset(2)) << "replica " << id;
}

// A leader that was replaced and does not know it must not say that there is nothing to end: its successor has it open.
TEST(ReplicatedTransactions, NothingToEndIsSaidWithTheFollowersConsent) {
  ReplicaSet set;
  set.open();
  Reply first;
  set.at(1).partition->append_marker(request_for(Marked{.number = 100}), first.group, 0);
  set.sync(1);
  for (const int32_t id : {2, 3}) set.fetch_and_sync(id);
  for (const int32_t id : {2, 3}) set.fetch(id);
  ASSERT_EQ(first.code(), ErrorCode::none);
  Reply second;
  set.at(1).partition->append_marker(request_for(Marked{.number = 101}), second.group, 0);
  set.sync(1);
  EXPECT_FALSE(second.there()) << "no follower has fetched it";
  set.lead(2, {2, 3});
  EXPECT_EQ(second.code(), ErrorCode::not_leader_or_follower);
}

// What a coordinator and a producer of version 1 send, each of it once more and late, at every moment: no transaction
// is left open or ended by another one's marker, and nothing is in the log twice.
TEST_F(TransactionsInPartition, NoLateRequestTouchesAnotherTransaction) {
  struct Step {
    bool is_marker;
    int transaction;  // 0 and 1, of one producer epoch
  };
  const std::vector<Step> in_order{{false, 0}, {true, 0}, {false, 1}, {true, 1}};
  open();
  int64_t producer = 100;
  for (size_t held = 0; held < in_order.size(); ++held) {
    for (size_t after = held; after < in_order.size(); ++after) {
      ++producer;
      const Offset begin = end();
      const auto perform = [&](const Step& step, uint64_t connection) {
        const int64_t number = 1000 + step.transaction;
        if (step.is_marker) return mark({.producer = producer, .number = number}).code();
        const Transactional batch{.producer = producer, .sequence = step.transaction, .connection = connection};
        return verify_and_send(batch, number).code();
      };
      for (size_t i = 0; i < in_order.size(); ++i) {
        EXPECT_EQ(perform(in_order[i], 2), ErrorCode::none) << "held " << held << " after " << after << " step " << i;
        const Offset stable_before = stable();
        const bool is_late_batch = !in_order[held].is_marker && after > held;  // the marker is what comes next
        if (i == after) {
          EXPECT_EQ(perform(in_order[held], 1) == ErrorCode::none, !is_late_batch)
              << "held " << held << " after " << after;
        }
        EXPECT_EQ(stable(), stable_before) << "held " << held << " after " << after;
      }
      EXPECT_EQ(stable(), end()) << "held " << held << " after " << after;
      EXPECT_EQ(end() - begin, 4) << "held " << held << " after " << after;
    }
  }
}

}  // namespace
}  // namespace naru
