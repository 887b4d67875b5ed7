// A leader that hears nothing of the cluster: whom it takes for its possible successors, and what it still promises.
#include <gtest/gtest.h>

#include "foundation/canary_testing.h"
#include "replication/replicated_partition_testing.h"

namespace naru {
namespace {

class ReplacedLeader : public testing::Test, protected ReplicaSet {
 protected:
  // 1 leads alone, and its proposal to take in 2 has got no answer: the controller may have agreed, and elected 2.
  void lead_alone_with_a_proposal_on_its_way() {
    open();
    assign(1, {1}, false);
    fetch(2);
    ASSERT_EQ(proposals.sent.size(), 1u);
    ASSERT_EQ(proposals.sent.front().isr.size(), 2u);
    at(1).partition->proposal_answered(proposals.sent.front(), {.verdict = IsrAnswer::Verdict::unknown});
  }
  // Fetches of 2 and 3 that reply to answers which were sent at that time.
  void fetch_both_as_of(MonotonicTime answered) {
    for (const int32_t id : {2, 3}) {
      at(id).followed_at = answered;
      fetch(id);
    }
  }
  Status confirmed() {
    Status told;
    at(1).partition->confirm_leadership(LeaderEpoch(leader_epoch), [&told](const Status& status) { told = status; });
    return told;
  }
};

TEST_F(ReplacedLeader, OneThatMayHaveBeenTakenInMayHaveBeenElected) {
  lead_alone_with_a_proposal_on_its_way();
  world.run_for(15s);
  EXPECT_FALSE(send(1, 0, Acks::leader).there()) << "it waits for its sync";
  EXPECT_TRUE(confirmed().ok());
  world.run_for(15s);
  EXPECT_EQ(send(1, 2, Acks::leader).status(), ErrorCode::not_leader_or_follower);
  EXPECT_EQ(send(1, 2, Acks::none).status(), ErrorCode::not_leader_or_follower);
  EXPECT_EQ(send(1, 2, Acks::all_in_sync).status(), ErrorCode::not_leader_or_follower);
  EXPECT_EQ(confirmed(), ErrorCode::not_leader_or_follower) << "a coordinator must not answer from what it remembers";
}

TEST_F(ReplacedLeader, OneThatStillFetchesHasNotBeenElected) {
  lead_alone_with_a_proposal_on_its_way();
  world.run_for(30s);
  fetch(2);
  EXPECT_FALSE(send(1, 0, Acks::leader).there()) << "it waits for its sync";
  EXPECT_TRUE(confirmed().ok());
}

TEST_F(ReplacedLeader, OneWhoseFetchWasOnItsWayMayHaveBeenElectedSince) {
  open();
  const MonotonicTime answered = world.now();
  world.run_for(30s);
  fetch_both_as_of(answered);
  EXPECT_EQ(confirmed(), ErrorCode::not_leader_or_follower);
  fetch_both_as_of(world.now());
  EXPECT_TRUE(confirmed().ok()) << "now it is known that they follow";
}

TEST_F(ReplacedLeader, ThatTakesALateFetchForASignThatItIsFollowedIsNoticed) {
  const PlantedCanary planted(Canary::late_fetch_is_contact);
  open();
  const MonotonicTime answered = world.now();
  world.run_for(30s);
  fetch_both_as_of(answered);
  EXPECT_TRUE(confirmed().ok());
}

TEST_F(ReplacedLeader, OneThatWasRefusedCannotHaveBeenElected) {
  lead_alone_with_a_proposal_on_its_way();
  at(1).partition->check_followers();
  world.run_for(30s);
  at(1).partition->check_followers();
  ASSERT_EQ(proposals.sent.size(), 2u);
  at(1).partition->proposal_answered(proposals.sent.back(), {.verdict = IsrAnswer::Verdict::refused});
  EXPECT_TRUE(confirmed().ok()) << "nobody else is in the in-sync set";
}

// The record was taken in time, and its sync took longer than it takes to elect another leader.
TEST_F(ReplacedLeader, ASyncThatEndsTooLateAcknowledgesNothingThatRestsOnTheLeaderAlone) {
  lead_alone_with_a_proposal_on_its_way();
  const Answer answer = send(1, 0, Acks::leader);
  world.run_for(40s);
  sync(1);
  ASSERT_TRUE(answer.there());
  EXPECT_EQ(answer.status(), ErrorCode::not_leader_or_follower);
}

TEST_F(ReplacedLeader, ASyncThatEndsWhileTheFollowersFetchAcknowledges) {
  open();
  const Answer answer = send(1, 0, Acks::leader);
  world.run_for(40s);
  for (const int32_t id : {2, 3}) fetch(id);
  sync(1);
  ASSERT_TRUE(answer.there());
  EXPECT_TRUE(answer.status().ok()) << answer.status().to_string();
}

TEST_F(ReplacedLeader, ThatLooksAtTheCommittedSetAloneIsNoticed) {
  const PlantedCanary planted(Canary::silent_committed_isr);
  lead_alone_with_a_proposal_on_its_way();
  world.run_for(40s);
  EXPECT_TRUE(confirmed().ok());
}

// --- The same without clocks -----------------------------------------------------------------------------------------

class ProvenLeader : public ReplacedLeader {
 protected:
  using Told = std::shared_ptr<std::optional<Status>>;
  Told prove(int32_t epoch) {
    auto told = std::make_shared<std::optional<Status>>();
    at(1).partition->prove_leadership(LeaderEpoch(epoch), [told](const Status& status) { *told = status; });
    return told;
  }
  Told prove() { return prove(leader_epoch); }
};

TEST_F(ProvenLeader, IsFollowedByEveryoneWhoMayBeElected) {
  open();
  for (const int32_t id : {2, 3}) fetch(id);
  const Told told = prove();
  for (const int32_t id : {2, 3}) fetch(id);
  EXPECT_FALSE(told->has_value()) << "these fetches may have been on their way when it was asked";
  fetch(2);
  EXPECT_FALSE(told->has_value()) << "3 may be elected";
  const Told later = prove();
  fetch(3);
  ASSERT_TRUE(told->has_value());
  EXPECT_TRUE((*told)->ok());
  EXPECT_FALSE(later->has_value()) << "what 2 has said is older";
  for (int i = 0; i < 2; ++i) {
    for (const int32_t id : {2, 3}) fetch(id);
  }
  EXPECT_TRUE(later->has_value());
}

TEST_F(ProvenLeader, IsOneThatLeadsAlone) {
  open();
  assign(1, {1}, false);
  const Told told = prove();
  ASSERT_TRUE(told->has_value());
  EXPECT_TRUE((*told)->ok());
}

TEST_F(ProvenLeader, WaitsAlsoForThoseWhoMayHaveBeenTakenIn) {
  lead_alone_with_a_proposal_on_its_way();
  const Told told = prove();
  EXPECT_FALSE(told->has_value());
  for (int i = 0; i < 2; ++i) fetch(2);
  EXPECT_TRUE(told->has_value());
}

TEST_F(ProvenLeader, DoesNotWaitForOneWhoHasLeftTheInSyncSet) {
  open();
  const Told told = prove();
  for (int i = 0; i < 2; ++i) fetch(2);
  EXPECT_FALSE(told->has_value());
  assign(1, {1, 2}, false);
  ASSERT_TRUE(told->has_value());
  EXPECT_TRUE((*told)->ok());
}

TEST_F(ProvenLeader, IsNoneOfAnotherEpoch) {
  open();
  EXPECT_EQ(**prove(leader_epoch - 1), ErrorCode::not_leader_or_follower);
  const Told told = prove();
  lead(2);
  ASSERT_TRUE(told->has_value());
  EXPECT_EQ(**told, ErrorCode::not_leader_or_follower);
  EXPECT_EQ(**prove(), ErrorCode::not_leader_or_follower);
}

// The producer would give up, although the leader of today has everything that it sent.
TEST_F(ProvenLeader, IsTheOnlyOneToSayThatEarlierBatchesAreMissing) {
  open();
  send(1, 0);
  for (const int32_t id : {2, 3}) fetch(id);
  const Answer refused = send(1, 4);
  EXPECT_FALSE(refused.there()) << "another one may lead, and have what is missing here";
  for (int i = 0; i < 2; ++i) {
    for (const int32_t id : {2, 3}) fetch(id);
  }
  ASSERT_TRUE(refused.there());
  EXPECT_EQ(refused.status(), ErrorCode::out_of_order_sequence_number);

  const Answer asked = send(1, 6);
  EXPECT_FALSE(asked.there());
  lead(2);
  ASSERT_TRUE(asked.there());
  EXPECT_EQ(asked.status(), ErrorCode::not_leader_or_follower);
}

TEST_F(ProvenLeader, DoesNotKeepARequestThatGetsNoAnswer) {
  open();
  send(1, 0);
  const Answer refused = send(1, 4, Acks::none);
  ASSERT_TRUE(refused.there());
  EXPECT_EQ(refused.status(), ErrorCode::out_of_order_sequence_number);
}

TEST_F(ProvenLeader, KeepsABoundedNumberOfRefusalsWaiting) {
  open();
  send(1, 0);
  for (int i = 0; i < 1000; ++i) ASSERT_FALSE(send(1, 4).there());
  const Answer one_more = send(1, 4);
  ASSERT_TRUE(one_more.there());
  EXPECT_EQ(one_more.status(), ErrorCode::not_leader_or_follower);
  lead(2);
}

TEST_F(ProvenLeader, GivesUpWhenItMayHaveBeenReplaced) {
  open();
  for (const int32_t id : {2, 3}) fetch(id);
  const Told told = prove();
  world.run_for(40s);
  EXPECT_FALSE(told->has_value());
  at(1).partition->check_followers();
  ASSERT_TRUE(told->has_value());
  EXPECT_EQ(**told, ErrorCode::not_leader_or_follower);
}

// --- Where epochs end ------------------------------------------------------------------------------------------------

class EpochEnds : public ReplacedLeader {
 protected:
  Result<EpochEnd> ask(int32_t leader, int32_t epoch) {
    Result<EpochEnd> told = EpochEnd{};
    const auto task = [&]() -> Task<void> {
      told = co_await at(leader).partition->end_of_epoch(kNoLeaderEpoch, LeaderEpoch(epoch));
    };
    world.run_task(task());
    return told;
  }
  // Of the first epoch, two records are committed, and two more are at 2 alone, which leads now.
  void lead_with_records_that_may_go() {
    open();
    send(1, 0);
    sync(1);
    for (const int32_t id : {2, 3}) fetch_and_sync(id);
    send(1, 2);
    sync(1);
    fetch(2);
    sync(2);
    lead(2, {1, 2, 3});
  }
};

TEST_F(EpochEnds, AreNotToldBeforeItIsKnownWhatIsCommitted) {
  lead_with_records_that_may_go();
  EXPECT_EQ(ask(2, 1).error(), ErrorCode::offset_not_available) << "3 may be elected, and cut it back to 2";
  for (const int32_t id : {1, 3}) fetch_and_sync(id);
  ASSERT_TRUE(ask(2, 1).has_value());
  EXPECT_EQ(ask(2, 1)->end_offset, Offset(4));
  EXPECT_EQ(ask(1, 1).error(), ErrorCode::not_leader_or_follower);
}

TEST_F(EpochEnds, ToldTooEarlyAreNoticed) {
  const PlantedCanary planted(Canary::epoch_end_before_known);
  lead_with_records_that_may_go();
  ASSERT_TRUE(ask(2, 1).has_value());
  EXPECT_EQ(ask(2, 1)->end_offset, Offset(4));
}

}  // namespace
}  // namespace naru
