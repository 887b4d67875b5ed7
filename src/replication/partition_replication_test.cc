// What three replicas of one partition do, step by step.
#include <gtest/gtest.h>

#include "replication/partition_maintenance.h"
#include "replication/replicated_partition_testing.h"

namespace naru {
namespace {

using Action = FollowerDecision::Action;

class ReplicatedPartition : public testing::Test, protected ReplicaSet {};

TEST_F(ReplicatedPartition, AcksAllWaitsUntilEveryInSyncReplicaHasSyncedAndAllHoldTheSameBytes) {
  open();
  const Answer answer = send(1, 0);
  sync(1);
  for (const int32_t id : {2, 3}) {
    EXPECT_EQ(fetch(id).action, Action::append);
    fetch(id);
    EXPECT_FALSE(answer.there()) << id << " has it, but not on stable storage";
    sync(id);
    EXPECT_FALSE(answer.there()) << "the leader has not heard of it";
    fetch(id);
  }
  ASSERT_TRUE(answer.there());
  EXPECT_TRUE(answer.status().ok());
  EXPECT_EQ(content(1), content(2));
  EXPECT_EQ(content(1), content(3));
  EXPECT_EQ(at(2).partition->log().latest_epoch(), LeaderEpoch(1));
}

TEST_F(ReplicatedPartition, AnIdleLeaderIsUnsettledUntilItsInSyncSetIsComplete) {
  open();
  EXPECT_FALSE(at(1).partition->unsettled());
  assign(1, {1, 2}, false);
  EXPECT_TRUE(at(1).partition->unsettled());
  EXPECT_FALSE(at(2).partition->unsettled()) << "not its leader";
  fetch(3);
  ASSERT_EQ(proposals.sent.size(), 1u);
  at(1).partition->proposal_answered(proposals.sent[0], {.verdict = IsrAnswer::Verdict::refused});
  world.run_for(2s);
  EXPECT_TRUE(at(1).partition->unsettled());
  at(1).partition->check_followers();
  ASSERT_EQ(proposals.sent.size(), 2u) << "without a fetch";
  at(1).partition->proposal_answered(proposals.sent[1], {.verdict = IsrAnswer::Verdict::committed,
                                                         .partition_epoch = partition_epoch + 1,
                                                         .isr = {BrokerId(1), BrokerId(2), BrokerId(3)}});
  EXPECT_FALSE(at(1).partition->unsettled());
}

TEST_F(ReplicatedPartition, ALeaderIsUnsettledWhileItAsksForAnotherInSyncSet) {
  open();
  send(1, 0);
  world.run_for(60s);
  EXPECT_FALSE(at(1).partition->unsettled());
  at(1).partition->check_followers();
  ASSERT_EQ(proposals.sent.size(), 1u) << "without those that lag";
  EXPECT_TRUE(at(1).partition->unsettled());
}

TEST_F(ReplicatedPartition, TheLooseRuleWaitsForNoSync) {
  open({{"flush.messages", "1000000"}});
  const Answer answer = send(1, 0);
  for (const int32_t id : {2, 3}) {
    fetch(id);
    fetch(id);
  }
  ASSERT_TRUE(answer.there());
  EXPECT_EQ(at(1).durability().asked + at(2).durability().asked + at(3).durability().asked, 0);
}

TEST_F(ReplicatedPartition, AReaderAtAFollowerSeesOnlyWhatItKnowsToBeCommitted) {
  open();
  send(1, 0);
  sync(1);
  fetch(2);
  EXPECT_TRUE(read(2, 0).slice.empty());
  EXPECT_EQ(read(2, 5).status, ErrorCode::offset_not_available) << "it may be behind";
  EXPECT_EQ(read(2, 0, true).status, ErrorCode::not_leader_or_follower);
  fetch_and_sync(2);
  fetch_and_sync(3);
  EXPECT_TRUE(read(2, 0).slice.empty()) << "the leader knows, 2 does not";
  fetch(2);
  EXPECT_EQ(read(2, 0).slice.next_offset, Offset(2));
}

TEST_F(ReplicatedPartition, AnOldLeaderCutsAwayWhatNobodyFetched) {
  open();
  send(1, 0);
  sync(1);
  for (const int32_t id : {2, 3}) fetch_and_sync(id);
  const Answer lost = send(1, 2);
  sync(1);
  lead(2);
  ASSERT_TRUE(lost.there());
  EXPECT_EQ(lost.status(), ErrorCode::not_leader_or_follower);
  EXPECT_EQ(send(1, 2).status(), ErrorCode::not_leader_or_follower);

  const Answer kept = send(2, 2);
  sync(2);
  EXPECT_EQ(fetch(1).action, Action::truncate);
  EXPECT_EQ(at(1).partition->log().end_offset(), Offset(2));
  for (const int32_t id : {1, 3}) fetch_and_sync(id);
  ASSERT_TRUE(kept.there());
  EXPECT_TRUE(kept.status().ok());
  EXPECT_EQ(content(1), content(2));
  EXPECT_EQ(content(1), content(3));
}

TEST_F(ReplicatedPartition, ANewLeaderKnowsWhatIsCommittedWhenItsFollowersHaveSaidSo) {
  open();
  send(1, 0);
  sync(1);
  for (const int32_t id : {2, 3}) fetch_and_sync(id);
  EXPECT_EQ(high_watermark(1), Offset(2));
  lead(2);
  PartitionView view = read(2, 0);
  EXPECT_FALSE(view.high_watermark_known) << "2 may have been told less than 1 has promised";
  EXPECT_TRUE(read(2, 2).status.ok()) << "a consumer that was further is not out of range";
  const auto known = std::make_shared<Wakeup>();
  at(2).partition->wake_when_known(known);
  fetch(1);
  EXPECT_FALSE(known->event().is_set());
  fetch(3);
  EXPECT_TRUE(known->event().is_set());
  EXPECT_TRUE(read(2, 0).high_watermark_known);
  EXPECT_EQ(high_watermark(2), Offset(2));
}

TEST_F(ReplicatedPartition, ProducersAreKnownToTheNextLeader) {
  open();
  send(1, 0);
  sync(1);
  for (const int32_t id : {2, 3}) fetch_and_sync(id);
  lead(3);
  for (const int32_t id : {1, 2}) fetch(id);
  const Answer repeat = send(3, 0);
  ASSERT_TRUE(repeat.there());
  EXPECT_TRUE(repeat.status().ok());
  EXPECT_EQ(repeat.group->result(0).base_offset, Offset(0));
  EXPECT_EQ(send(3, 8).status(), ErrorCode::out_of_order_sequence_number);
}

TEST_F(ReplicatedPartition, TheInSyncSetGrowsAndShrinksThroughTheController) {
  open({{"min.insync.replicas", "2"}});
  assign(1, {1}, false);
  EXPECT_EQ(send(1, 0).status(), ErrorCode::not_enough_replicas);
  EXPECT_TRUE(at(1).partition->under_min_isr());
  fetch(2);
  ASSERT_EQ(proposals.sent.size(), 1u);
  EXPECT_EQ(proposals.sent[0].isr, (std::vector<IsrProposal::Member>{{BrokerId(1), -1}, {BrokerId(2), 100}}));
  at(1).partition->proposal_answered(
      proposals.sent[0],
      {.verdict = IsrAnswer::Verdict::committed, .partition_epoch = 50, .isr = {BrokerId(1), BrokerId(2)}});
  EXPECT_EQ(at(1).partition->isr_size(), 2);
  EXPECT_TRUE(at(1).partition->under_replicated());
  EXPECT_FALSE(at(1).partition->under_min_isr());

  const Answer answer = send(1, 0);
  sync(1);
  world.run_for(40s);
  at(1).partition->check_followers();
  ASSERT_EQ(proposals.sent.size(), 2u);
  EXPECT_EQ(proposals.sent[1].isr, (std::vector<IsrProposal::Member>{{BrokerId(1), -1}}));
  EXPECT_EQ(proposals.sent[1].partition_epoch, 50);
  EXPECT_FALSE(answer.there()) << "until the controller agrees, 2 may still be elected";
  at(1).partition->proposal_answered(
      proposals.sent[1], {.verdict = IsrAnswer::Verdict::committed, .partition_epoch = 51, .isr = {BrokerId(1)}});
  ASSERT_TRUE(answer.there());
  EXPECT_EQ(answer.status(), ErrorCode::not_enough_replicas_after_append);
}

TEST_F(ReplicatedPartition, ADamagedBatchIsNotStored) {
  open();
  send(1, 0);
  send(1, 2);
  sync(1);
  const FollowerStep step = fetch(2, 1 << 20, true);
  EXPECT_EQ(step.action, Action::wait);
  EXPECT_EQ(step.problem, ErrorCode::corrupt_message);
  EXPECT_EQ(at(2).partition->log().end_offset(), Offset(0)) << "not the whole batch before it, either";
  EXPECT_EQ(fetch(2).action, Action::append);
  EXPECT_EQ(at(2).partition->log().end_offset(), Offset(4));
}

TEST_F(ReplicatedPartition, OldAssignmentsChangeNothing) {
  open();
  const PartitionAssignment old = assignment;
  lead(2);
  at(1).partition->assign(old);
  EXPECT_FALSE(at(1).partition->is_leader());
  EXPECT_TRUE(at(2).partition->is_leader());
  assignment.leader = kNoBroker;
  assignment.leader_epoch = LeaderEpoch(++leader_epoch);
  at(2).partition->assign(assignment);
  EXPECT_EQ(send(2, 0).status(), ErrorCode::not_leader_or_follower);
  EXPECT_EQ(read(2, 0).status, ErrorCode::not_leader_or_follower);
}

TEST_F(ReplicatedPartition, TheStartOfTheLogFollowsTheLeaders) {
  open();
  for (int i = 0; i < 4; ++i) send(1, 2 * i);
  sync(1);
  for (const int32_t id : {2, 3}) fetch_and_sync(id);
  const auto erase = [this]() -> Task<void> {
    const auto start = co_await delete_records(at(1).partition, at(1).process->seams().scheduler, Offset(5));
    EXPECT_TRUE(start.has_value()) << start.error().to_string();
  };
  world.run_task(erase());
  fetch(2);
  EXPECT_EQ(at(2).partition->log().start_offset(), Offset(5));
  EXPECT_EQ(at(2).partition->log().end_offset(), Offset(8));
}

// Replica 3 was away for long: the leader holds nothing any more of where it is.
TEST_F(ReplicatedPartition, AFollowerWhoseRecordsTheLeaderHasDeletedBeginsAnewAtTheLeadersStart) {
  open({{"segment.bytes", "200"}});
  send(1, 0);
  sync(1);
  for (const int32_t id : {2, 3}) fetch_and_sync(id);
  assign(1, {1, 2}, false);
  for (int i = 1; i < 8; ++i) {
    send(1, 2 * i);
    sync(1);
    fetch_and_sync(2);
    // It was not behind at first, and so may come back; it has gone.
    if (i == 1) at(1).partition->proposal_answered(proposals.sent.at(0), {.verdict = IsrAnswer::Verdict::refused});
  }
  const auto erase = [this]() -> Task<void> {
    const auto start = co_await delete_records(at(1).partition, at(1).process->seams().scheduler, Offset(12));
    EXPECT_TRUE(start.has_value()) << start.error().to_string();
  };
  world.run_task(erase());
  EXPECT_EQ(fetch(3).action, Action::restart);
  EXPECT_EQ(at(3).partition->log().start_offset(), Offset(12));
  EXPECT_EQ(at(3).partition->log().end_offset(), Offset(12));
  while (at(3).partition->log().end_offset() < Offset(16)) ASSERT_EQ(fetch(3).action, Action::append);
  sync(3);
  // The same after a power cut.
  cut_power(at(3), Unsynced::lost);
  EXPECT_EQ(at(3).partition->log().start_offset(), Offset(12));
  EXPECT_EQ(at(3).partition->log().end_offset(), Offset(16));
}

}  // namespace
}  // namespace naru
