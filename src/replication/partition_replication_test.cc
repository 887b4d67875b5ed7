// What three replicas of one partition do, step by step.
#include <gtest/gtest.h>

#include "replication/partition_maintenance.h"
#include "replication/replicated_partition_testing.h"

namespace naru {
namespace {

using Action = FollowerDecision::Action;

class ReplicatedPartition : public testing::Test, protected ReplicaSet {
 protected:
  Result<Offset> await(int32_t id, int64_t start) {
    Result<Offset> low;
    const auto task = [&]() -> Task<void> {
      const Seams seams = at(id).process->seams();
      low = co_await await_deletion(at(id).partition, seams.scheduler, Offset(start), seams.clock.now() + 1s, {});
    };
    world.run_task(task());
    return low;
  }
  void retain(int32_t id) {
    const auto task = [&]() -> Task<void> {
      const Seams seams = at(id).process->seams();
      const auto outcome = co_await apply_retention(at(id).partition, seams.clock, seams.scheduler);
      EXPECT_TRUE(outcome.has_value()) << outcome.error().to_string();
    };
    world.run_task(task());
  }
};

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
  at(2).partition->wake_when_committed(Offset(2), known);
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
  const Answer gap = send(3, 8);
  for (int i = 0; i < 2; ++i) {
    for (const int32_t id : {1, 2}) fetch(id);
  }
  EXPECT_EQ(gap.status(), ErrorCode::out_of_order_sequence_number);
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

TEST_F(ReplicatedPartition, ALeaderWithoutContactTakesNothingOnceAnInSyncReplicaIsSilent) {
  open();
  for (int round = 0; round < 3; ++round) {
    world.run_for(15s);
    for (const int32_t id : {2, 3}) fetch(id);
    EXPECT_FALSE(send(1, 2 * round, Acks::leader).there()) << "it waits for its sync: both fetch, so nobody else leads";
  }
  world.run_for(15s);
  fetch(2);
  world.run_for(15s);
  fetch(2);
  EXPECT_EQ(send(1, 6, Acks::leader).status(), ErrorCode::not_leader_or_follower) << "3 may have been elected";
  contact.heard(world.now());
  EXPECT_FALSE(send(1, 6, Acks::leader).there()) << "the controller knows this leader, 3 is merely slow";
  world.run_for(30s);
  assign(1, {1}, false);
  EXPECT_FALSE(send(1, 8, Acks::leader).there()) << "nobody else can be elected";
}

// In a session nobody looks at a partition without news, and one that refuses everything has none.
TEST_F(ReplicatedPartition, ALeaderWithoutContactGoesOnWhileItsFollowersFetchInTheirSessions) {
  class Session final : public FetchWatcher {
   public:
    using FetchWatcher::FetchWatcher;
    void more_to_read(uint32_t, uint64_t) override {}
    void state_changed(uint32_t) override {}
    void log_start_moved(uint32_t, Audience) override {}
    void high_watermark_moved(uint32_t) override {}
    void asked(uint32_t) override {}
    MonotonicTime followed_at(BrokerId follower) const override {
      return follower == BrokerId(static_cast<int32_t>(id())) ? fetched : MonotonicTime::min();
    }
    MonotonicTime fetched;
  };
  open();
  const auto two = std::make_shared<Session>(2), three = std::make_shared<Session>(3);
  for (const auto& session : {two, three}) at(1).partition->watch(session, 0, 0, Audience::followers);
  world.run_for(60s);
  two->fetched = three->fetched = world.now();
  EXPECT_FALSE(send(1, 0, Acks::leader).there()) << "it waits for its sync: both follow it";
  world.run_for(30s);
  two->fetched = world.now();
  EXPECT_EQ(send(1, 2, Acks::leader).status(), ErrorCode::not_leader_or_follower) << "3 may have been elected";
  three->fetched = world.now();
  EXPECT_FALSE(send(1, 2, Acks::leader).there());
  at(1).partition->unwatch(3);
  EXPECT_EQ(send(1, 4, Acks::leader).status(), ErrorCode::not_leader_or_follower) << "whoever leads leaves the session";
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
  erase(1, 5);
  fetch(2);
  EXPECT_EQ(at(2).partition->log().start_offset(), Offset(5));
  EXPECT_EQ(at(2).partition->log().end_offset(), Offset(8));
}

TEST_F(ReplicatedPartition, RecordsAreToldToBeDeletedWhenNoInSyncReplicaHasThem) {
  open();
  for (int i = 0; i < 4; ++i) send(1, 2 * i);
  sync(1);
  for (const int32_t id : {2, 3}) fetch_and_sync(id);
  fetch(2);
  erase(1, 4);
  EXPECT_EQ(read(1, 4).told_start_offset, Offset(0));
  EXPECT_EQ(read(1, 2).status, ErrorCode::offset_not_available) << "3 may be elected, and has it";
  EXPECT_EQ(await(1, 4).error(), ErrorCode::request_timed_out);
  fetch(2);
  fetch(2);
  fetch(3);
  EXPECT_EQ(read(1, 4).told_start_offset, Offset(0)) << "3 has not said so";
  fetch(3);
  EXPECT_EQ(read(1, 4).told_start_offset, Offset(4));
  EXPECT_EQ(read(1, 2).status, ErrorCode::offset_out_of_range);
  EXPECT_EQ(await(1, 4).value(), Offset(4));
  EXPECT_EQ(read(2, 4).told_start_offset, kNoOffset) << "a follower does not know";
  EXPECT_EQ(read(2, 2).status, ErrorCode::offset_out_of_range) << "with which a reader goes to the leader";
}

TEST_F(ReplicatedPartition, WhoeverIsElectedTellsNoEarlierStart) {
  open();
  for (int i = 0; i < 4; ++i) send(1, 2 * i);
  sync(1);
  for (const int32_t id : {2, 3}) fetch_and_sync(id);
  fetch(2);
  erase(1, 4);
  fetch(2);
  // 1 and 2 begin at 4, and 3 at 0: nobody was told anything but 0.
  lead(2);
  EXPECT_EQ(read(2, 4).told_start_offset, kNoOffset) << "3 has not said where it begins";
  EXPECT_EQ(read(2, 2).status, ErrorCode::offset_not_available);
  lead(3);
  EXPECT_EQ(read(3, 0).told_start_offset, Offset(0)) << "it has all of it";
  lead(2);
  fetch(1);
  fetch(3);
  EXPECT_EQ(read(2, 4).told_start_offset, Offset(0)) << "3 begins there, and hears only now that it should not";
  fetch(3);
  EXPECT_EQ(read(2, 4).told_start_offset, Offset(4));
  lead(3);
  for (const int32_t id : {1, 2}) fetch(id);
  EXPECT_EQ(read(3, 4).told_start_offset, Offset(4));
}

TEST_F(ReplicatedPartition, OnlyTheLeaderDecidesByRetention) {
  open({{"segment.bytes", "200"}, {"retention.bytes", "200"}});
  for (int i = 0; i < 8; ++i) {
    send(1, 2 * i);
    sync(1);
    for (const int32_t id : {2, 3}) fetch_and_sync(id);
  }
  for (const int32_t id : {2, 3}) fetch(id);
  retain(2);
  EXPECT_EQ(at(2).partition->log().start_offset(), Offset(0));
  retain(1);
  const Offset start = at(1).partition->log().start_offset();
  EXPECT_GT(start, Offset(0));
  fetch(2);
  EXPECT_EQ(at(2).partition->log().start_offset(), start);
  const size_t segments = at(2).partition->log().segment_count();
  retain(2);
  EXPECT_LT(at(2).partition->log().segment_count(), segments) << "what lies before the start goes everywhere";
}

TEST_F(ReplicatedPartition, AFollowerBeginsAnewWhereTheLeadersLogBeginsInTheMiddleOfABatch) {
  open();
  for (int i = 0; i < 4; ++i) send(1, 2 * i);
  sync(1);
  fetch_and_sync(2);
  assign(1, {1, 2}, false);
  fetch(2);
  erase(1, 5);
  fetch(2);
  fetch(2);
  EXPECT_EQ(fetch(3).action, Action::restart);
  EXPECT_EQ(at(3).partition->log().start_offset(), Offset(5));
  EXPECT_EQ(fetch(3).action, Action::append);
  EXPECT_EQ(at(3).partition->log().end_offset(), Offset(8));
  EXPECT_EQ(at(3).partition->log().start_offset(), Offset(5)) << "not at 4, where its first batch begins";
  sync(3);
  fetch(3);
  ASSERT_FALSE(proposals.sent.empty());
  EXPECT_EQ(proposals.sent.back().isr.size(), 3u);
  EXPECT_EQ(at(3).partition->log().read(Offset(5), Offset(8), 1 << 20, true)->next_offset, Offset(8));
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
  }
  EXPECT_TRUE(proposals.sent.empty()) << "it was not behind at first, but it has gone";
  erase(1, 12);
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

// The leader sends the whole batch, of which the first record is deleted.
TEST_F(ReplicatedPartition, AnEmptyFollowerTakesTheBatchInsideOfWhichTheLeadersLogBegins) {
  open();
  for (int i = 0; i < 4; ++i) send(1, 2 * i);
  sync(1);
  fetch_and_sync(2);
  assign(1, {1, 2}, false);
  fetch_and_sync(2);
  const auto erase = [this]() -> Task<void> {
    const auto start = co_await delete_records(at(1).partition, at(1).process->seams().scheduler, Offset(5));
    EXPECT_TRUE(start.has_value()) << start.error().to_string();
  };
  world.run_task(erase());
  EXPECT_EQ(fetch(3).action, Action::restart);
  const FollowerStep step = fetch(3);
  EXPECT_EQ(step.action, Action::append) << step.problem.to_string();
  EXPECT_EQ(at(3).partition->log().start_offset(), Offset(5));
  EXPECT_EQ(at(3).partition->log().end_offset(), Offset(8));
  EXPECT_EQ(fetch(3).action, Action::append);
}

}  // namespace
}  // namespace naru
