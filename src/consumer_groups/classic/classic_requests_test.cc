#include "consumer_groups/classic/classic_requests.h"

#include <gtest/gtest.h>

#include "consumer_groups/group_testing.h"

namespace naru {
namespace {

TEST(ClassicSync, FollowersWaitForTheLeaderAndWhoIsLeftOutGetsNothing) {
  TestCoordinator test;
  test.join(joining("g", "m1"));
  test.join(joining("g", "m2"));
  test.join(joining("g", "m3"));
  test.advance(6s);
  const auto second = test.sync(syncing("g", "m2", 1));
  const auto third = test.sync(syncing("g", "m3", 1));
  EXPECT_FALSE(second.arrived());
  EXPECT_EQ(test.describe("g").waiting_for, std::vector<std::string>{"m1"});
  EXPECT_TRUE(test.log.empty());
  const auto leader = test.sync(syncing("g", "m1", 1, {"m1", "m2", "a stranger"}));
  EXPECT_EQ(leader.value().assignment, test_bytes("assignment of m1"));
  EXPECT_EQ(second.value().assignment, test_bytes("assignment of m2"));
  EXPECT_EQ(third.value().assignment, Bytes());
  EXPECT_EQ(third.value().error, ErrorCode::none);
  EXPECT_EQ(second.value().protocol_name, "range");
  EXPECT_EQ(second.value().protocol_type, "consumer");
  EXPECT_EQ(test.coordinator->durable_state().groups.at("g").members.size(), 3);
}

TEST(ClassicSync, WhoHadSomethingInTheLastGenerationAndIsLeftOutInThisOneHasNothing) {
  TestCoordinator test;
  form_group(test, "g", {joining("g", "m1"), joining("g", "m2")});
  test.join(joining("g", "m3"));
  test.join(rejoining("g", "m1"));
  test.join(rejoining("g", "m2"));
  const auto second = test.sync(syncing("g", "m2", 2));
  test.sync(syncing("g", "m1", 2, {"m1", "m3"}));
  EXPECT_EQ(second.value().error, ErrorCode::none);
  EXPECT_EQ(second.value().assignment, Bytes());
}

TEST(ClassicSync, AnswersLeaveOnlyWithTheRecordThatTheyRestOn) {
  TestCoordinator test({.initial_rebalance_delay = 0ms});
  test.join(joining("g", "m1"));
  CoordinatorOutcome outcome;
  Awaited<SyncAnswer> answer;
  test.coordinator->sync(syncing("g", "m1", 1, {"m1"}), answer.reply(), test.time, outcome);
  EXPECT_FALSE(answer.arrived());
  ASSERT_EQ(outcome.records.size(), 1);
  ASSERT_EQ(outcome.replies.size(), 1);
  outcome.replies[0](Status(ErrorCode::not_coordinator));
  EXPECT_EQ(answer.failure_status(), ErrorCode::not_coordinator);
}

TEST(ClassicSync, WhoIsNotOfThisGenerationIsRefused) {
  TestCoordinator test;
  EXPECT_EQ(test.sync(syncing("", "m1", 1)).value().error, ErrorCode::invalid_group_id);
  EXPECT_EQ(test.sync(syncing("g", "m1", 1)).value().error, ErrorCode::unknown_member_id);
  form_group(test, "g", {joining("g", "m1")});
  EXPECT_EQ(test.sync(syncing("g", "m2", 1)).value().error, ErrorCode::unknown_member_id);
  EXPECT_EQ(test.sync(syncing("g", "m1", 0)).value().error, ErrorCode::illegal_generation);
  SyncGroup other = syncing("g", "m1", 1);
  other.protocol_name = "roundrobin";
  EXPECT_EQ(test.sync(other).value().error, ErrorCode::inconsistent_group_protocol);
  other = syncing("g", "m1", 1);
  other.protocol_type = "connect";
  EXPECT_EQ(test.sync(other).value().error, ErrorCode::inconsistent_group_protocol);
}

TEST(ClassicSync, AStableGroupTellsTheAssignmentAgain) {
  TestCoordinator test;
  form_group(test, "g", {joining("g", "m1")});
  const auto again = test.sync(syncing("g", "m1", 1));
  EXPECT_EQ(again.value().assignment, test_bytes("assignment of m1"));
}

TEST(ClassicSync, WhileOthersJoinItSendsBackToJoin) {
  TestCoordinator test;
  form_group(test, "g", {joining("g", "m1")});
  test.join(joining("g", "m2"));
  EXPECT_EQ(test.sync(syncing("g", "m1", 1)).value().error, ErrorCode::rebalance_in_progress);
}

TEST(ClassicSync, ParkedSyncsAreSentBackWhenSomebodyJoins) {
  TestCoordinator test;
  test.join(joining("g", "m1"));
  test.join(joining("g", "m2"));
  test.advance(6s);
  const auto parked = test.sync(syncing("g", "m2", 1));
  test.join(joining("g", "m3"));
  EXPECT_EQ(parked.value().error, ErrorCode::rebalance_in_progress);
}

TEST(ClassicSync, AParkedSyncThatIsSentAgainIsReplaced) {
  TestCoordinator test;
  test.join(joining("g", "m1"));
  test.join(joining("g", "m2"));
  test.advance(6s);
  const auto old_request = test.sync(syncing("g", "m2", 1));
  const auto new_request = test.sync(syncing("g", "m2", 1));
  EXPECT_EQ(old_request.value().error, ErrorCode::rebalance_in_progress);
  test.sync(syncing("g", "m1", 1, {"m1", "m2"}));
  EXPECT_EQ(new_request.value().assignment, test_bytes("assignment of m2"));
}

TEST(ClassicSync, WhoNeverSyncsIsDroppedAfterTheRebalanceTimeoutThoughItHasABeatingHeart) {
  TestCoordinator test;
  test.join(joining("g", "m1"));
  test.join(joining("g", "m2"));
  test.advance(6s);
  const auto parked = test.sync(syncing("g", "m2", 1));
  // The first generation began three seconds ago.
  for (int i = 0; i < 11; ++i) {
    test.advance(5s);
    EXPECT_EQ(test.heartbeat("g", {"m1", {}, 1}), ErrorCode::none);
  }
  EXPECT_FALSE(parked.arrived());
  test.advance(5s);
  EXPECT_EQ(parked.value().error, ErrorCode::rebalance_in_progress);
  EXPECT_EQ(test.heartbeat("g", {"m1", {}, 1}), ErrorCode::unknown_member_id);
  const auto leader = test.join(rejoining("g", "m2"));
  EXPECT_EQ(leader.value().leader, "m2");
}

TEST(ClassicSync, TheTimeToSyncBeginsAnewWithEveryGeneration) {
  TestCoordinator test({.initial_rebalance_delay = 0ms});
  JoinGroup patient = joining("g", "m1");
  patient.session_timeout = 5min;
  test.join(patient);
  test.advance(50s);
  JoinGroup second = patient;
  second.fresh_member_id = "m2";
  test.join(second);
  patient.member_id = "m1";
  EXPECT_EQ(test.join(patient).value().generation, 2);
  test.advance(59s);
  EXPECT_EQ(test.describe("g").members.size(), 2) << "the first generation's time is over, the second's is not";
  test.advance(1s);
  EXPECT_EQ(test.describe("g").state, "Empty");
}

TEST(ClassicSync, AStableGroupDropsWhoNeverAskedForItsAssignment) {
  TestCoordinator test;
  test.join(joining("g", "m1"));
  test.join(joining("g", "m2"));
  test.advance(6s);
  test.sync(syncing("g", "m1", 1, {"m1", "m2"}));
  EXPECT_EQ(test.describe("g").waiting_for, std::vector<std::string>{"m2"});
  for (int i = 0; i < 12; ++i) {
    test.advance(5s);
    test.heartbeat("g", {"m1", {}, 1});
    test.heartbeat("g", {"m2", {}, 1});
  }
  EXPECT_EQ(test.heartbeat("g", {"m2", {}, 1}), ErrorCode::unknown_member_id);
  EXPECT_EQ(test.heartbeat("g", {"m1", {}, 1}), ErrorCode::rebalance_in_progress);
}

TEST(ClassicSync, AssignmentsThatNoRecordCanHoldCostTheLeaderItsPlaceAndNobodyElse) {
  TestCoordinator test({.group_bytes_max = 2000});
  test.join(joining("g", "m1"));
  test.join(joining("g", "m2"));
  test.advance(6s);
  const auto parked = test.sync(syncing("g", "m2", 1));
  SyncGroup large = syncing("g", "m1", 1);
  large.assignments.emplace_back("m2", Bytes(2000));
  EXPECT_EQ(test.sync(large).value().error, ErrorCode::unknown_server_error);
  EXPECT_EQ(parked.value().error, ErrorCode::rebalance_in_progress);
  EXPECT_EQ(test.join(rejoining("g", "m2")).value().leader, "m2");
  EXPECT_TRUE(test.log.empty());
}

TEST(ClassicHeartbeat, TellsWhatTheMemberHasToDo) {
  TestCoordinator test;
  EXPECT_EQ(test.heartbeat("", {"m1", {}, 1}), ErrorCode::invalid_group_id);
  EXPECT_EQ(test.heartbeat("g", {"m1", {}, 1}), ErrorCode::unknown_member_id);
  test.join(joining("g", "m1"));
  test.advance(3s);
  EXPECT_EQ(test.heartbeat("g", {"m1", {}, 1}), ErrorCode::none) << "the leader may think";
  test.sync(syncing("g", "m1", 1, {"m1"}));
  EXPECT_EQ(test.heartbeat("g", {"m1", {}, 1}), ErrorCode::none);
  EXPECT_EQ(test.heartbeat("g", {"m1", {}, 0}), ErrorCode::illegal_generation);
  EXPECT_EQ(test.heartbeat("g", {"m1", {}, 2}), ErrorCode::illegal_generation);
  EXPECT_EQ(test.heartbeat("g", {"m2", {}, 1}), ErrorCode::unknown_member_id);
  test.join(joining("g", "m2"));
  EXPECT_EQ(test.heartbeat("g", {"m1", {}, 1}), ErrorCode::rebalance_in_progress);
  test.leave("g", {{"m1"}, {"m2"}});
  EXPECT_EQ(test.describe("g").state, "Empty");
  EXPECT_EQ(test.heartbeat("g", {"m1", {}, 1}), ErrorCode::unknown_member_id);
}

TEST(ClassicHeartbeat, ASilentMemberIsGoneAfterItsSessionAndTheOthersRebalance) {
  TestCoordinator test;
  form_group(test, "g", {joining("g", "m1"), joining("g", "m2")});
  test.advance(6s);
  EXPECT_EQ(test.heartbeat("g", {"m1", {}, 1}), ErrorCode::none);
  test.advance(3s);
  EXPECT_EQ(test.heartbeat("g", {"m1", {}, 1}), ErrorCode::none);
  EXPECT_EQ(test.describe("g").members.size(), 2);
  test.advance(1s);
  EXPECT_EQ(test.describe("g").members.size(), 1);
  EXPECT_EQ(test.heartbeat("g", {"m1", {}, 1}), ErrorCode::rebalance_in_progress);
  EXPECT_EQ(test.heartbeat("g", {"m2", {}, 1}), ErrorCode::unknown_member_id);
  EXPECT_EQ(test.join(rejoining("g", "m1")).value().members.size(), 1);
}

TEST(ClassicHeartbeat, AGroupWhoseMembersAreAllSilentBecomesEmptyAndThatIsStored) {
  TestCoordinator test;
  form_group(test, "g", {joining("g", "m1"), joining("g", "m2")});
  test.advance(30s);
  EXPECT_EQ(test.describe("g").state, "Empty");
  const StoredGroup& stored = test.coordinator->durable_state().groups.at("g");
  EXPECT_TRUE(stored.members.empty());
  EXPECT_EQ(stored.generation, 2);
  EXPECT_EQ(stored.protocol_type, "consumer");
  EXPECT_FALSE(stored.leader);
}

TEST(ClassicHeartbeat, AShorterSessionTimeoutHoldsAtOnce) {
  TestCoordinator test;
  JoinGroup request = joining("g", "m1");
  request.session_timeout = 60s;
  form_group(test, "g", {request});
  request.member_id = "m1";
  request.session_timeout = 6s;
  const auto again = test.join(request);
  EXPECT_EQ(again.value().generation, 2);
  test.sync(syncing("g", "m1", 2, {"m1"}));
  test.advance(6s);
  EXPECT_EQ(test.describe("g").state, "Empty");
}

TEST(ClassicLeave, EveryMemberOfABatchGetsItsOwnAnswerAndTheyCauseOneRebalance) {
  TestCoordinator test;
  form_group(test, "g", {joining("g", "m1"), joining("g", "m2"), joining("g", "m3")});
  EXPECT_EQ(test.leave("g", {{"m2"}, {"stranger"}, {""}, {"m3"}, {"m2"}}),
            (std::vector<ErrorCode>{ErrorCode::none, ErrorCode::unknown_member_id, ErrorCode::unknown_member_id,
                                    ErrorCode::none, ErrorCode::unknown_member_id}));
  EXPECT_EQ(test.describe("g").state, "PreparingRebalance");
  const auto rest = test.join(rejoining("g", "m1"));
  EXPECT_EQ(rest.value().generation, 2);
  EXPECT_EQ(test.leave("unknown group", {{"m1"}}), std::vector<ErrorCode>{ErrorCode::unknown_member_id});
}

TEST(ClassicLeave, ANamelessGroupCannotBeLeft) {
  TestCoordinator test;
  const auto answer = test.ask<LeaveAnswer>([&](auto reply, auto& outcome) {
    test.coordinator->leave({"", {{"m1"}}}, std::move(reply), test.time, outcome);
  });
  EXPECT_EQ(answer.value().error, ErrorCode::invalid_group_id);
}

TEST(ClassicLeave, WhoLeavesWhileParkedIsToldSo) {
  TestCoordinator test;
  form_group(test, "g", {joining("g", "m1"), joining("g", "m2")});
  const auto parked_join = test.join(rejoining("g", "m1"));
  test.leave("g", {{"m1"}});
  EXPECT_EQ(parked_join.value().error, ErrorCode::unknown_member_id);
  EXPECT_EQ(test.join(rejoining("g", "m2")).value().generation, 2);

  TestCoordinator other;
  other.join(joining("g", "m1"));
  other.join(joining("g", "m2"));
  other.advance(6s);
  const auto parked_sync = other.sync(syncing("g", "m2", 1));
  other.leave("g", {{"m2"}});
  EXPECT_EQ(parked_sync.value().error, ErrorCode::unknown_member_id);
}

TEST(ClassicLeave, AMemberThatWasSentAwayForItsIdCanLeave) {
  TestCoordinator test;
  form_group(test, "g", {joining("g", "m1")});
  JoinGroup request = joining("g", "m2");
  request.must_come_back_with_id = true;
  test.join(request);
  const auto first = test.join(rejoining("g", "m1"));
  EXPECT_FALSE(first.arrived());
  EXPECT_EQ(test.leave("g", {{"m2"}}), std::vector<ErrorCode>{ErrorCode::none});
  EXPECT_EQ(first.value().generation, 2) << "nobody is waited for any more";
}

TEST(ClassicLeave, TheLastMemberLeavesAnEmptyGroupBehind) {
  TestCoordinator test;
  form_group(test, "g", {joining("g", "m1")});
  test.advance(1s);
  test.leave("g", {{"m1"}});
  const DescribedGroup group = test.describe("g");
  EXPECT_EQ(group.state, "Empty");
  EXPECT_EQ(group.state_since, test.time.wall_ms);
  EXPECT_EQ(test.coordinator->durable_state().groups.at("g").state_since, test.time.wall_ms);
}

}  // namespace
}  // namespace naru
