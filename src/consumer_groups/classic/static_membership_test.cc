#include <gtest/gtest.h>

#include "consumer_groups/group_testing.h"

namespace naru {
namespace {

// "leader" and "follower" with the instance ids "one" and "two".
int32_t form_static_group(TestCoordinator& test) {
  return form_group(test, "g", {joining_as("g", "leader", "one"), joining_as("g", "follower", "two")});
}

TEST(StaticMembership, AMemberWithAnInstanceIdIsNotSentAwayForItsId) {
  TestCoordinator test({.initial_rebalance_delay = 0ms});
  JoinGroup request = joining_as("g", "m1", "one");
  request.must_come_back_with_id = true;
  EXPECT_EQ(test.join(request).value().generation, 1);
}

TEST(StaticMembership, AMemberThatComesBackHasItsAssignmentAndCausesNoRebalance) {
  TestCoordinator test;
  const int32_t generation = form_static_group(test);
  test.advance(9s);
  test.heartbeat("g", {"leader", "one", generation});
  JoinGroup back = joining_as("g", "follower again", "two");
  back.protocols = {{"range", test_bytes("metadata of follower")}};
  const auto joined = test.join(back);
  EXPECT_EQ(joined.value().error, ErrorCode::none);
  EXPECT_EQ(joined.value().generation, generation);
  EXPECT_EQ(joined.value().member_id, "follower again");
  EXPECT_EQ(joined.value().leader, "leader");
  EXPECT_TRUE(joined.value().members.empty());
  EXPECT_EQ(test.describe("g").state, "Stable");
  const auto synced = test.sync(syncing("g", "follower again", generation));
  EXPECT_EQ(synced.value().assignment, test_bytes("assignment of follower"));
  test.advance(9s);
  EXPECT_EQ(test.heartbeat("g", {"follower again", "two", generation}), ErrorCode::none) << "its session began anew";
}

TEST(StaticMembership, AMemberThatCameBackAndIsSilentThenIsGoneAfterItsSession) {
  TestCoordinator test;
  const int32_t generation = form_static_group(test);
  test.join(joining_as("g", "follower again", "two"));
  test.advance(9s);
  test.heartbeat("g", {"leader", "one", generation});
  EXPECT_EQ(test.describe("g").members.size(), 2);
  test.advance(1s);
  EXPECT_EQ(test.describe("g").members.size(), 1);
}

TEST(StaticMembership, WhoWasSentAwayForAnIdCannotTakeAnInstanceIdWithIt) {
  TestCoordinator test;
  const int32_t generation = form_static_group(test);
  JoinGroup request = joining("g", "newcomer");
  request.must_come_back_with_id = true;
  test.join(request);
  request = rejoining("g", "newcomer");
  request.instance_id = "two";
  test.join(request);
  EXPECT_EQ(test.heartbeat("g", {"follower", "two", generation}), ErrorCode::rebalance_in_progress) << "still its own";
}

TEST(StaticMembership, TheNewIdIsStoredBeforeAnybodyHearsOfIt) {
  TestCoordinator test;
  const int32_t generation = form_static_group(test);
  CoordinatorOutcome outcome;
  Awaited<JoinAnswer> answer;
  test.coordinator->join(joining_as("g", "follower again", "two"), answer.reply(), test.time, outcome);
  EXPECT_FALSE(answer.arrived());
  ASSERT_EQ(outcome.records.size(), 1);
  test.log.push_back(outcome.records[0]);
  outcome.replies[0](Status());
  EXPECT_EQ(answer.value().generation, generation);
  test.restart();
  EXPECT_EQ(test.heartbeat("g", {"follower again", "two", generation}), ErrorCode::none);
  EXPECT_EQ(test.heartbeat("g", {"follower", "two", generation}), ErrorCode::fenced_instance_id);
}

TEST(StaticMembership, TheOlderOfTwoWithOneInstanceIdIsFenced) {
  TestCoordinator test;
  const int32_t generation = form_static_group(test);
  test.join(joining_as("g", "follower again", "two"));
  const MemberClaim old{"follower", "two", generation};
  EXPECT_EQ(test.heartbeat("g", old), ErrorCode::fenced_instance_id);
  EXPECT_EQ(test.commit("g", old, {"t", PartitionIndex(0)}, 5), ErrorCode::fenced_instance_id);
  SyncGroup sync = syncing("g", "follower", generation);
  sync.member = old;
  EXPECT_EQ(test.sync(sync).value().error, ErrorCode::fenced_instance_id);
  JoinGroup join = rejoining("g", "follower");
  join.instance_id = "two";
  EXPECT_EQ(test.join(join).value().error, ErrorCode::fenced_instance_id);
  EXPECT_EQ(test.leave("g", {{"follower", "two"}}), std::vector<ErrorCode>{ErrorCode::fenced_instance_id});
  EXPECT_EQ(test.heartbeat("g", {"follower", {}, generation}), ErrorCode::unknown_member_id);
  EXPECT_EQ(test.heartbeat("g", {"follower again", "three", generation}), ErrorCode::unknown_member_id);
  EXPECT_EQ(test.commit("g", {"follower again", "two", generation}, {"t", PartitionIndex(0)}, 5), ErrorCode::none);
}

TEST(StaticMembership, ALeaderThatComesBackIsNotToActAsOne) {
  TestCoordinator test;
  const int32_t generation = form_static_group(test);
  const auto old_client = test.join(joining_as("g", "leader 2", "one"));
  EXPECT_EQ(old_client.value().leader, "leader") << "an id that is not its own";
  EXPECT_TRUE(old_client.value().members.empty());
  EXPECT_FALSE(old_client.value().skip_assignment);

  JoinGroup request = joining_as("g", "leader 3", "one");
  request.can_skip_assignment = true;
  const auto new_client = test.join(request);
  EXPECT_EQ(new_client.value().leader, "leader 3");
  EXPECT_EQ(new_client.value().members.size(), 2) << "to see whether topics have changed";
  EXPECT_TRUE(new_client.value().skip_assignment);
  EXPECT_EQ(new_client.value().generation, generation);

  JoinGroup follower = joining_as("g", "follower 2", "two");
  follower.can_skip_assignment = true;
  EXPECT_FALSE(test.join(follower).value().skip_assignment);
}

TEST(StaticMembership, ARollingRestartOfAllMembersCausesNoRebalance) {
  TestCoordinator test;
  const int32_t generation = form_static_group(test);
  for (int round = 0; round < 5; ++round) {
    for (const std::string instance : {"one", "two"}) {
      const std::string id = fmt::format("{} in round {}", instance, round);
      EXPECT_EQ(test.join(joining_as("g", id, instance)).value().generation, generation);
      EXPECT_EQ(test.sync(syncing("g", id, generation)).value().error, ErrorCode::none);
    }
    test.advance(5s);
  }
  EXPECT_EQ(test.describe("g").state, "Stable");
}

TEST(StaticMembership, AMemberThatComesBackWithAnotherProtocolMakesTheGroupRebalance) {
  TestCoordinator test;
  const auto with = [](JoinGroup request, std::vector<std::string> names) {
    request.protocols.clear();
    for (const auto& name : names) request.protocols.push_back({name, test_bytes("x")});
    return request;
  };
  form_group(test, "g",
             {with(joining_as("g", "m1", "one"), {"range", "sticky"}),
              with(joining_as("g", "m2", "two"), {"range", "sticky"})});
  EXPECT_FALSE(test.join(with(joining_as("g", "m3", "two"), {"sticky"})).arrived());
  EXPECT_EQ(test.describe("g").state, "PreparingRebalance");
}

TEST(StaticMembership, WhoeverIsParkedUnderTheOldIdIsFenced) {
  TestCoordinator test;
  form_static_group(test);
  test.join(joining("g", "newcomer"));
  JoinGroup rejoin = rejoining("g", "follower");
  rejoin.instance_id = "two";
  const auto parked_join = test.join(rejoin);
  EXPECT_FALSE(parked_join.arrived());
  const auto replacement = test.join(joining_as("g", "follower 2", "two"));
  EXPECT_EQ(parked_join.value().error, ErrorCode::fenced_instance_id);
  EXPECT_FALSE(replacement.arrived());
  rejoin = rejoining("g", "leader");
  rejoin.instance_id = "one";
  const auto leader = test.join(rejoin);
  EXPECT_EQ(leader.value().members.size(), 3);
  EXPECT_EQ(replacement.value().generation, leader.value().generation);

  const auto parked_sync = test.sync(syncing("g", "follower 2", leader.value().generation));
  test.join(joining_as("g", "follower 3", "two"));
  EXPECT_EQ(parked_sync.value().error, ErrorCode::fenced_instance_id);
  EXPECT_EQ(test.describe("g").state, "PreparingRebalance") << "the leader assigns to an id that is gone";
}

TEST(StaticMembership, AnIdThatWasReplacedDuringARebalanceIsKnownToTheNextCoordinator) {
  TestCoordinator test;
  form_static_group(test);
  test.join(joining("g", "newcomer"));
  const auto replacement = test.join(joining_as("g", "leader 2", "one"));
  JoinGroup rejoin = rejoining("g", "follower");
  rejoin.instance_id = "two";
  test.join(rejoin);
  EXPECT_EQ(replacement.value().generation, 2);
  test.restart();
  EXPECT_EQ(test.heartbeat("g", {"leader 2", "one", 2}), ErrorCode::illegal_generation)
      << "it has to join again; fenced it would give up";
  rejoin = rejoining("g", "leader 2");
  rejoin.instance_id = "one";
  EXPECT_FALSE(test.join(rejoin).arrived()) << "parked, not refused";
}

TEST(StaticMembership, AnAbsentMemberIsKeptThroughARebalanceUntilItsSessionEnds) {
  TestCoordinator test;
  JoinGroup patient = joining_as("g", "absent", "two");
  patient.session_timeout = 5min;
  form_group(test, "g", {joining_as("g", "leader", "one"), patient});
  JoinGroup rejoin = rejoining("g", "leader");
  rejoin.instance_id = "one";
  const auto leader = test.join(rejoin);
  test.advance(60s);
  ASSERT_EQ(leader.value().members.size(), 2) << "it gets its share though it has not joined";
  test.sync(syncing("g", "leader", 2, {"leader", "absent"}));
  JoinGroup back = rejoining("g", "absent");
  back.instance_id = "two";
  EXPECT_EQ(test.join(back).value().generation, 2);
  EXPECT_EQ(test.sync(syncing("g", "absent", 2)).value().assignment, test_bytes("assignment of absent"));
  for (int i = 0; i < 60; ++i) {
    test.advance(5s);
    test.heartbeat("g", {"leader", "one", 2});
  }
  EXPECT_EQ(test.heartbeat("g", {"leader", "one", 2}), ErrorCode::rebalance_in_progress);
  EXPECT_EQ(test.describe("g").members.size(), 1);
}

TEST(StaticMembership, IfNobodyIsBackTheRebalanceGoesOnUntilSessionsEnd) {
  TestCoordinator test;
  JoinGroup one = joining_as("g", "m1", "one");
  JoinGroup two = joining_as("g", "m2", "two");
  one.session_timeout = two.session_timeout = 3min;
  form_group(test, "g", {one, two});
  test.join(joining("g", "newcomer"));
  test.leave("g", {{"newcomer"}});
  test.advance(2min);
  EXPECT_EQ(test.describe("g").state, "PreparingRebalance");
  EXPECT_EQ(test.describe("g").generation, 1);
  test.advance(2min);
  EXPECT_EQ(test.describe("g").state, "Empty");
}

TEST(StaticMembership, AnAdministratorRemovesAMemberByItsInstanceId) {
  TestCoordinator test;
  form_static_group(test);
  EXPECT_EQ(test.leave("g", {{"", "two"}, {"", "unknown"}}),
            (std::vector<ErrorCode>{ErrorCode::none, ErrorCode::unknown_member_id}));
  EXPECT_EQ(test.describe("g").members.size(), 1);
}

TEST(StaticMembership, AFullGroupTakesItsOwnMemberBack) {
  TestCoordinator test({.size_max = 2});
  const int32_t generation = form_static_group(test);
  EXPECT_EQ(test.join(joining_as("g", "third", "three")).value().error, ErrorCode::group_max_size_reached);
  EXPECT_EQ(test.join(joining_as("g", "follower 2", "two")).value().generation, generation);
}

}  // namespace
}  // namespace naru
