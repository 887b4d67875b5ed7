#include <set>

#include <gtest/gtest.h>

#include "consumer_groups/consumer_protocol/consumer_group_records.h"
#include "consumer_groups/group_testing.h"

namespace naru {
namespace {

const GroupPartition kP0{"t", PartitionIndex(0)};
const GroupPartition kP1{"t", PartitionIndex(1)};
constexpr ProducerIdentity kProducerA{ProducerId(100), ProducerEpoch(0)};
constexpr ProducerIdentity kProducerB{ProducerId(200), ProducerEpoch(0)};

WriteMarker commit_of(const ProducerIdentity& producer) {
  return {.producer = producer, .marker = {TransactionResult::commit, 1}};
}
WriteMarker abort_of(const ProducerIdentity& producer) {
  return {.producer = producer, .marker = {TransactionResult::abort, 1}};
}
// The error with which a reader that wants only what is certain gets the partition's offset.
ErrorCode stable(TestCoordinator& test, const std::string& group, const GroupPartition& partition) {
  const auto answer = test.fetch({.group_id = group, .partitions = {{partition}}, .require_stable = true});
  return answer.offsets.at(0).error;
}

class AllRead final : public UnreadRecords {
 public:
  bool has_unread(const GroupPartition&, const CommittedOffset&) const override { return false; }
  bool topic_exists(std::string_view, const CommittedOffset&) const override { return true; }
};

TEST(TransactionalOffsets, AreSeenFromTheMarkerOn) {
  TestCoordinator test;
  test.commit("g", {}, kP0, 5);
  EXPECT_EQ(test.commit_in_transaction("g", kProducerA, kP0, 10), ErrorCode::none);
  EXPECT_EQ(test.commit_in_transaction("g", kProducerA, kP1, 20), ErrorCode::none);
  EXPECT_EQ(test.committed("g", kP0), 5);
  EXPECT_EQ(test.committed("g", kP1), -1);
  EXPECT_EQ(stable(test, "g", kP0), ErrorCode::unstable_offset_commit);
  EXPECT_EQ(test.write_marker(commit_of(kProducerA)), ErrorCode::none);
  EXPECT_EQ(test.committed("g", kP0), 10);
  EXPECT_EQ(test.committed("g", kP1), 20);
  EXPECT_EQ(stable(test, "g", kP0), ErrorCode::none);
}

TEST(TransactionalOffsets, OfAnAbortedTransactionAreNeverSeen) {
  TestCoordinator test;
  test.commit("g", {}, kP0, 5);
  test.commit_in_transaction("g", kProducerA, kP0, 10);
  test.commit_in_transaction("h", kProducerA, kP0, 11);
  EXPECT_EQ(test.write_marker(abort_of(kProducerA)), ErrorCode::none);
  EXPECT_EQ(test.committed("g", kP0), 5);
  EXPECT_EQ(stable(test, "g", kP0), ErrorCode::none);
  EXPECT_EQ(test.committed("h", kP0), -1);
  EXPECT_EQ(test.list().size(), 1U) << "nothing is left of a group that had nothing else";
}

TEST(TransactionalOffsets, ARestartKnowsWhatIsPending) {
  for (const TransactionResult result : {TransactionResult::commit, TransactionResult::abort}) {
    TestCoordinator test;
    test.commit("g", {}, kP0, 5);
    test.commit_in_transaction("g", kProducerA, kP0, 10);
    test.restart(true);
    EXPECT_EQ(test.committed("g", kP0), 5);
    EXPECT_EQ(stable(test, "g", kP0), ErrorCode::unstable_offset_commit);
    EXPECT_EQ(test.begin_verification(kProducerA).guard, 0U) << "its transaction is open";
    EXPECT_EQ(test.write_marker({.producer = kProducerA, .marker = {result, 1}}), ErrorCode::none);
    test.restart(true);
    EXPECT_EQ(test.committed("g", kP0), result == TransactionResult::commit ? 10 : 5);
  }
}

TEST(TransactionalOffsets, TheLastMarkerCountsWhateverTheOrderOfTheCommits) {
  TestCoordinator test;
  test.commit_in_transaction("g", kProducerA, kP0, 1);
  test.commit_in_transaction("g", kProducerB, kP0, 2);
  test.write_marker(commit_of(kProducerB));
  EXPECT_EQ(test.committed("g", kP0), 2);
  EXPECT_EQ(stable(test, "g", kP0), ErrorCode::unstable_offset_commit);
  test.write_marker(commit_of(kProducerA));
  EXPECT_EQ(test.committed("g", kP0), 1);
  test.restart(true);
  EXPECT_EQ(test.committed("g", kP0), 1);
}

TEST(TransactionalOffsets, AMarkerWinsOverAPlainCommitFromBeforeIt) {
  TestCoordinator test;
  test.commit_in_transaction("g", kProducerA, kP0, 1);
  test.commit("g", {}, kP0, 2);
  EXPECT_EQ(test.committed("g", kP0), 2);
  test.write_marker(commit_of(kProducerA));
  EXPECT_EQ(test.committed("g", kP0), 1);
  test.commit("g", {}, kP0, 3);
  EXPECT_EQ(test.committed("g", kP0), 3);
  test.restart(true);
  EXPECT_EQ(test.committed("g", kP0), 3);
}

// A crash between the two leaves the offset without the marker, which comes again.
TEST(TransactionalOffsets, WhatWasOvertakenIsWrittenAgainBeforeItsMarker) {
  TestCoordinator test;
  test.commit_in_transaction("g", kProducerA, kP0, 1);
  test.commit("g", {}, kP0, 2);
  test.write_marker(commit_of(kProducerA));
  ASSERT_EQ(test.log.size(), 4U);
  EXPECT_FALSE(test.log[2].producer);
  ASSERT_TRUE(test.log[3].marker);
  test.log.pop_back();
  test.restart();
  EXPECT_EQ(test.committed("g", kP0), 1) << "it is decided that it is committed";
  EXPECT_EQ(stable(test, "g", kP0), ErrorCode::unstable_offset_commit);
  test.commit("g", {}, kP0, 7);
  EXPECT_EQ(test.write_marker(commit_of(kProducerA)), ErrorCode::none);
  EXPECT_EQ(test.committed("g", kP0), 1);
}

TEST(TransactionalOffsets, AMarkerThatComesAgainChangesNothing) {
  TestCoordinator test;
  WriteMarker marker = commit_of(kProducerA);
  marker.transaction_number = TransactionNumber(1000);
  test.commit_in_transaction("g", kProducerA, kP0, 1);
  test.write_marker(marker);
  test.commit("g", {}, kP0, 2);
  const size_t size = test.log.size();
  EXPECT_EQ(test.write_marker(marker), ErrorCode::none);
  EXPECT_EQ(test.log.size(), size);
  EXPECT_EQ(test.committed("g", kP0), 2);
  test.restart();
  EXPECT_EQ(test.write_marker(marker), ErrorCode::none);
  EXPECT_EQ(test.committed("g", kP0), 2) << "written once more, as nobody remembers, and without effect";
}

// With one epoch for all transactions nothing but its number tells the marker of one from that of the next.
TEST(TransactionalOffsets, AMarkerThatComesLateDoesNotEndTheNextTransactionAlsoAfterARestart) {
  TestCoordinator test;
  TransactionalCommit request{.producer = kProducerA, .transaction_number = TransactionNumber(1001)};
  request.offsets = {.group_id = "g", .entries = {{.partition = kP0, .offset = Offset(1)}}};
  request.guard = test.begin_verification(kProducerA).guard;
  EXPECT_EQ(test.commit_in_transaction(request), std::vector{ErrorCode::none});
  test.restart();
  WriteMarker late = abort_of(kProducerA);
  late.transaction_number = TransactionNumber(1000);
  EXPECT_EQ(test.write_marker(late), ErrorCode::none);
  EXPECT_EQ(stable(test, "g", kP0), ErrorCode::unstable_offset_commit);
  WriteMarker its_own = commit_of(kProducerA);
  its_own.transaction_number = TransactionNumber(1001);
  EXPECT_EQ(test.write_marker(its_own), ErrorCode::none);
  EXPECT_EQ(test.committed("g", kP0), 1);
}

TEST(TransactionalOffsets, WithinATransactionTheLastCommitCounts) {
  TestCoordinator test;
  test.commit_in_transaction("g", kProducerA, kP0, 1);
  test.commit("g", {}, kP0, 5);
  test.commit_in_transaction("g", kProducerA, kP0, 2);
  const size_t size = test.log.size();
  test.write_marker(commit_of(kProducerA));
  EXPECT_EQ(test.log.size(), size + 1) << "nothing has overtaken the second one";
  EXPECT_EQ(test.committed("g", kP0), 2);
}

TEST(TransactionalOffsets, AreABatchOfTheirOwnWithTheirProducer) {
  TestCoordinator test;
  const uint64_t guard = test.begin_verification(kProducerA).guard;
  TransactionalCommit request{.offsets = {.group_id = "g"}, .producer = kProducerA, .guard = guard};
  request.offsets.entries = {{.partition = kP0, .offset = Offset(1)},
                             {.partition = kP1, .offset = Offset(2), .metadata = std::string(5000, 'x')}};
  EXPECT_EQ(test.commit_in_transaction(request), (std::vector{ErrorCode::none, ErrorCode::offset_metadata_too_large}));
  ASSERT_EQ(test.log.size(), 1U);
  EXPECT_EQ(test.log[0].producer, kProducerA);
}

TEST(TransactionalOffsets, WhoWantsAllStableOffsetsHearsOfPartitionsThatAreOnlyPending) {
  TestCoordinator test;
  test.commit("g", {}, kP1, 5);
  test.commit_in_transaction("g", kProducerA, kP0, 1);
  const auto stable_ones = test.fetch({.group_id = "g", .require_stable = true}).offsets;
  ASSERT_EQ(stable_ones.size(), 2U);
  EXPECT_EQ(stable_ones[0].partition, kP0);
  EXPECT_EQ(stable_ones[0].error, ErrorCode::unstable_offset_commit);
  EXPECT_FALSE(stable_ones[0].committed);
  EXPECT_EQ(stable_ones[1].error, ErrorCode::none);
  EXPECT_EQ(test.fetch({.group_id = "g"}).offsets.size(), 1U);
}

// --- Who may commit --------------------------------------------------------------------------------------------------

TEST(TransactionalOffsets, AreFencedByMemberGenerationAndInstance) {
  TestCoordinator test;
  form_group(test, "g", {joining_as("g", "m1", "one"), joining("g", "m2")});
  const auto commit = [&](MemberClaim claim) {
    return test.commit_in_transaction("g", kProducerA, kP0, 1, std::move(claim));
  };
  EXPECT_EQ(commit({"m1", "one", 1}), ErrorCode::none);
  EXPECT_EQ(commit({"m2", {}, 1}), ErrorCode::none);
  EXPECT_EQ(commit({"m2", {}, 0}), ErrorCode::illegal_generation);
  EXPECT_EQ(commit({"m2", {}, -1}), ErrorCode::illegal_generation);
  EXPECT_EQ(commit({"m3", {}, 1}), ErrorCode::unknown_member_id);
  EXPECT_EQ(commit({"m2", "one", 1}), ErrorCode::fenced_instance_id);
  EXPECT_EQ(commit({"m1", "two", 1}), ErrorCode::unknown_member_id);
  EXPECT_EQ(commit({}), ErrorCode::none) << "old clients do not say who they are";
}

TEST(TransactionalOffsets, AreAcceptedWhileTheGroupWaitsForAssignments) {
  TestCoordinator test;
  form_group(test, "g", {joining("g", "m1")});
  test.join(rejoining("g", "m1"));
  ASSERT_EQ(test.describe("g").state, "CompletingRebalance");
  const int32_t generation = test.describe("g").generation;
  EXPECT_EQ(test.commit("g", {"m1", {}, generation}, kP0, 1), ErrorCode::rebalance_in_progress);
  EXPECT_EQ(test.commit_in_transaction("g", kProducerA, kP0, 1, {"m1", {}, generation}), ErrorCode::none);
}

TEST(TransactionalOffsets, OfGroupsThatDoNotExistAreThoseOfSimpleConsumers) {
  TestCoordinator test;
  EXPECT_EQ(test.commit_in_transaction("g", kProducerA, kP0, 1, {"m1", {}, 3}), ErrorCode::illegal_generation);
  EXPECT_EQ(test.commit_in_transaction("", kProducerA, kP0, 1), ErrorCode::invalid_group_id);
  EXPECT_TRUE(test.log.empty());
  EXPECT_EQ(test.commit_in_transaction("g", kProducerA, kP0, 1), ErrorCode::none);
  EXPECT_EQ(test.commit_in_transaction("g", kProducerA, kP0, 1, {"m1", {}, 3}), ErrorCode::unknown_member_id);
  EXPECT_EQ(test.list().size(), 1U);
}

TEST(TransactionalOffsets, OfMembersOfTheConsumerProtocolAreFencedByTheirEpoch) {
  TestCoordinator test;
  CoordinatorOutcome outcome;
  test.coordinator->metadata_changed(
      std::make_shared<const SubscribableTopics>(1, std::vector<SubscribableTopic>{{"t", Uuid{1, 1}, 1}}), test.time,
      outcome);
  const auto joined = test.ask<ConsumerHeartbeatAnswer>([&](auto reply, auto& written) {
                            test.coordinator->consumer_heartbeat({.group_id = "g",
                                                                  .member_id = "m1",
                                                                  .rebalance_timeout = 60s,
                                                                  .subscribed_topics = {{"t"}},
                                                                  .owned = std::vector<TopicIdPartition>()},
                                                                 std::move(reply), test.time, written);
                          })
                          .value();
  ASSERT_EQ(joined.error, ErrorCode::none);
  const int32_t epoch = joined.member_epoch;
  EXPECT_EQ(test.commit_in_transaction("g", kProducerA, kP0, 1, {"m1", {}, epoch}), ErrorCode::none);
  EXPECT_EQ(test.commit_in_transaction("g", kProducerA, kP0, 1, {"m1", {}, epoch - 1}), ErrorCode::illegal_generation);
  EXPECT_EQ(test.commit_in_transaction("g", kProducerA, kP0, 1, {"m2", {}, epoch}), ErrorCode::unknown_member_id);
  EXPECT_EQ(test.commit_in_transaction("g", kProducerA, kP0, 1), ErrorCode::none);
}

TEST(TransactionalOffsets, NothingOpensATransactionThatAMarkerHasEndedSinceItWasAskedAbout) {
  TestCoordinator test;
  const uint64_t guard = test.begin_verification(kProducerA).guard;
  EXPECT_NE(guard, 0U);
  test.write_marker(abort_of({kProducerA.id, ProducerEpoch(0)}));
  TransactionalCommit late{.offsets = {.group_id = "g", .entries = {{.partition = kP0, .offset = Offset(1)}}},
                           .producer = kProducerA,
                           .guard = guard};
  EXPECT_EQ(test.commit_in_transaction(late), std::vector{ErrorCode::invalid_txn_state});
  late.guard = 0;
  EXPECT_EQ(test.commit_in_transaction(late), std::vector{ErrorCode::invalid_txn_state});
  EXPECT_EQ(test.commit_in_transaction("g", kProducerA, kP0, 1), ErrorCode::none) << "it was asked about again";
}

// --- What is done to groups meanwhile --------------------------------------------------------------------------------

TEST(TransactionalOffsets, ExpiryDoesNotTouchWhatIsPending) {
  TestCoordinator test;
  test.commit("g", {}, kP0, 5);
  test.commit("g", {}, kP1, 6);
  test.commit_in_transaction("g", kProducerA, kP0, 10);
  form_group(test, "h", {joining("h", "m1")});
  test.commit_in_transaction("h", kProducerA, kP0, 11);
  test.leave("h", {{"m1"}});
  test.advance(31 * 24h);
  test.expire_offsets(AllRead());
  EXPECT_EQ(test.committed("g", kP0), 5);
  EXPECT_EQ(test.committed("g", kP1), -1);
  EXPECT_EQ(test.describe("h").generation, 2) << "the group is still there";
  test.write_marker(commit_of(kProducerA));
  EXPECT_EQ(test.committed("g", kP0), 10);
  EXPECT_EQ(test.committed("h", kP0), 11);
}

TEST(TransactionalOffsets, ADeletedOffsetTakesWhatIsPendingWithIt) {
  TestCoordinator test;
  test.commit("g", {}, kP0, 5);
  test.commit_in_transaction("g", kProducerA, kP0, 10);
  test.commit_in_transaction("g", kProducerA, kP1, 11);
  EXPECT_EQ(test.delete_offsets("g", {kP0}).partitions, std::vector{ErrorCode::none});
  EXPECT_EQ(stable(test, "g", kP0), ErrorCode::none);
  EXPECT_EQ(stable(test, "g", kP1), ErrorCode::unstable_offset_commit);
  test.write_marker(commit_of(kProducerA));
  EXPECT_EQ(test.committed("g", kP0), -1);
  EXPECT_EQ(test.committed("g", kP1), 11);
}

TEST(TransactionalOffsets, ADeletedGroupTakesWhatIsPendingWithIt) {
  TestCoordinator test;
  test.commit("g", {}, kP0, 5);
  test.commit_in_transaction("g", kProducerA, kP0, 10);
  test.commit_in_transaction("g", kProducerA, kP1, 11);
  EXPECT_EQ(test.delete_group("g"), ErrorCode::none);
  EXPECT_TRUE(test.list().empty());
  EXPECT_EQ(test.begin_verification(kProducerA).guard, 0U) << "its transaction goes on";
  EXPECT_EQ(test.write_marker(commit_of(kProducerA)), ErrorCode::none);
  EXPECT_EQ(test.committed("g", kP0), -1);
  EXPECT_EQ(test.committed("g", kP1), -1);
}

TEST(TransactionalOffsets, ADeletedTopicTakesWhatIsPendingForItWithIt) {
  TestCoordinator test;
  test.commit("g", {}, kP0, 5);
  test.commit_in_transaction("g", kProducerA, kP0, 10);
  test.commit_in_transaction("g", kProducerA, {"u", PartitionIndex(0)}, 11);
  test.commit_in_transaction("h", kProducerA, kP1, 12);
  test.topics_deleted({{"t", Uuid{1, 1}}});
  test.write_marker(commit_of(kProducerA));
  EXPECT_EQ(test.committed("g", kP0), -1);
  EXPECT_EQ(test.committed("g", {"u", PartitionIndex(0)}), 11);
  EXPECT_EQ(test.committed("h", kP1), -1);
}

TEST(TransactionalOffsets, ThoseOfAFormerTopicDoNotReplaceThoseOfTheNextOne) {
  constexpr Uuid kOld{1, 1};
  constexpr Uuid kNew{1, 2};
  TestCoordinator test;
  const uint64_t guard = test.begin_verification(kProducerA).guard;
  test.commit_in_transaction(
      {.offsets = {.group_id = "g", .entries = {{.partition = kP0, .topic_id = kOld, .offset = Offset(900)}}},
       .producer = kProducerA,
       .guard = guard});
  test.commit({.group_id = "g", .entries = {{.partition = kP0, .topic_id = kNew, .offset = Offset(3)}}});
  test.topics_deleted({{"t", kOld}});
  EXPECT_EQ(test.committed("g", kP0), 3);
  test.write_marker(commit_of(kProducerA));
  EXPECT_EQ(test.committed("g", kP0), 3);
}

// --- Bounds and looks ------------------------------------------------------------------------------------------------

TEST(TransactionalOffsets, WhoComesWhenTooMuchIsPendingWaitsUntilOthersHaveEnded) {
  TestCoordinator test({.pending_bytes_max = 2000});
  std::vector<ErrorCode> codes;
  for (int32_t i = 0; i < 10; ++i)
    codes.push_back(test.commit_in_transaction("g", kProducerA, {"t", PartitionIndex(i)}, 1));
  EXPECT_EQ(codes.front(), ErrorCode::none);
  EXPECT_EQ(codes.back(), ErrorCode::coordinator_not_available);
  EXPECT_EQ(test.commit_in_transaction("h", kProducerB, kP0, 1), ErrorCode::coordinator_not_available);
  EXPECT_EQ(test.commit("h", {}, kP0, 1), ErrorCode::none);
  test.write_marker(abort_of(kProducerA));
  EXPECT_EQ(test.commit_in_transaction("h", kProducerB, kP0, 1), ErrorCode::none);
}

TEST(TransactionalOffsets, TransactionsAreCountedToo) {
  TestCoordinator test({.pending_transactions_max = 1});
  EXPECT_EQ(test.commit_in_transaction("g", kProducerA, kP0, 1), ErrorCode::none);
  EXPECT_EQ(test.commit_in_transaction("g", kProducerA, kP1, 1), ErrorCode::none);
  EXPECT_EQ(test.commit_in_transaction("g", kProducerB, kP0, 1), ErrorCode::coordinator_not_available);
  test.write_marker(commit_of(kProducerA));
  EXPECT_EQ(test.commit_in_transaction("g", kProducerB, kP0, 1), ErrorCode::none);
}

TEST(TransactionalOffsets, WhatIsPendingCanBeLookedAt) {
  TestCoordinator test;
  const WallTimeMs begun = test.time.wall_ms;
  test.commit_in_transaction("g", kProducerB, kP1, 1);
  test.advance(1s);
  test.commit_in_transaction("g", kProducerB, kP0, 1);
  test.commit_in_transaction("g", kProducerA, kP0, 1);
  const auto pending = test.describe_pending("g");
  ASSERT_EQ(pending.size(), 2U);
  EXPECT_EQ(pending[0].producer, kProducerA);
  EXPECT_EQ(pending[0].since, begun + 1000);
  EXPECT_EQ(pending[1].producer, kProducerB);
  EXPECT_EQ(pending[1].since, begun);
  EXPECT_EQ(pending[1].partitions, (std::vector{kP0, kP1}));
  EXPECT_TRUE(test.describe_pending("h").empty());
}

TEST(TransactionalOffsets, RecordsThatNoTransactionHasAreRefused) {
  GroupCoordinator coordinator({});
  const CommittedOffset committed{.offset = Offset(1)};
  const CoordinatorRecord offset = offset_record("g", kP0, &committed);
  const CoordinatorRecord group = group_record("g", nullptr);
  EXPECT_EQ(coordinator.apply_pending(kProducerA, offset.key, std::nullopt), ErrorCode::corrupt_data);
  EXPECT_EQ(coordinator.apply_pending(kProducerA, group.key, std::nullopt), ErrorCode::corrupt_data);
  EXPECT_EQ(coordinator.apply_pending(kProducerA, test_bytes("x"), std::nullopt), ErrorCode::corrupt_data);
  EXPECT_TRUE(coordinator.durable_state() == DurableGroups());
}

}  // namespace
}  // namespace naru
