#include "consumer_groups/classic/classic_join.h"

#include <gtest/gtest.h>

#include "consumer_groups/group_testing.h"

namespace naru {
namespace {

TEST(ClassicJoin, AGroupNeedsAName) {
  TestCoordinator test;
  EXPECT_EQ(test.join(joining("", "m1")).value().error, ErrorCode::invalid_group_id);
  EXPECT_EQ(test.join(joining(std::string(40'000, 'g'), "m1")).value().error, ErrorCode::invalid_group_id);
}

TEST(ClassicJoin, TheSessionTimeoutHasToBeWithinTheLimits) {
  TestCoordinator test;
  JoinGroup request = joining("g", "m1");
  request.session_timeout = 5999ms;
  EXPECT_EQ(test.join(request).value().error, ErrorCode::invalid_session_timeout);
  request.session_timeout = 1'800'001ms;
  EXPECT_EQ(test.join(request).value().error, ErrorCode::invalid_session_timeout);
  request.session_timeout = 6000ms;
  EXPECT_FALSE(test.join(request).arrived());
}

TEST(ClassicJoin, TextsThatNoRecordCanHoldAreRefused) {
  TestCoordinator test;
  JoinGroup request = joining("g", std::string(40'000, 'm'));
  EXPECT_EQ(test.join(request).value().error, ErrorCode::invalid_request);
  EXPECT_TRUE(test.list().empty());
}

TEST(ClassicJoin, ProtocolsAreNeededAndHaveToBeOfOneTypeAndCommonToAll) {
  TestCoordinator test;
  JoinGroup without = joining("g", "m1");
  without.protocols.clear();
  EXPECT_EQ(test.join(without).value().error, ErrorCode::inconsistent_group_protocol);
  JoinGroup untyped = joining("g", "m1");
  untyped.protocol_type.clear();
  EXPECT_EQ(test.join(untyped).value().error, ErrorCode::inconsistent_group_protocol);
  EXPECT_TRUE(test.list().empty()) << "whoever is refused leaves no group behind";

  const auto first = test.join(joining("g", "m1"));
  JoinGroup other_type = joining("g", "m2");
  other_type.protocol_type = "connect";
  EXPECT_EQ(test.join(other_type).value().error, ErrorCode::inconsistent_group_protocol);
  JoinGroup other_protocol = joining("g", "m2");
  other_protocol.protocols[0].name = "roundrobin";
  EXPECT_EQ(test.join(other_protocol).value().error, ErrorCode::inconsistent_group_protocol);
  EXPECT_FALSE(first.arrived()) << "the others are not disturbed";
}

TEST(ClassicJoin, AnUnknownMemberIdIsRefusedAndCreatesNoGroup) {
  TestCoordinator test;
  EXPECT_EQ(test.join(rejoining("g", "stranger")).value().error, ErrorCode::unknown_member_id);
  EXPECT_TRUE(test.list().empty());
  form_group(test, "g", {joining("g", "m1")});
  EXPECT_EQ(test.join(rejoining("g", "stranger")).value().error, ErrorCode::unknown_member_id);
  EXPECT_EQ(test.describe("g").state, "Stable");
}

TEST(ClassicJoin, ANewMemberIsSentAwayForItsIdAndComesBackWithIt) {
  TestCoordinator test;
  JoinGroup request = joining("g", "m1");
  request.must_come_back_with_id = true;
  const auto sent_away = test.join(request);
  EXPECT_EQ(sent_away.value().error, ErrorCode::member_id_required);
  EXPECT_EQ(sent_away.value().member_id, "m1");
  EXPECT_TRUE(test.describe("g").members.empty());

  const auto joined = test.join(rejoining("g", "m1"));
  EXPECT_FALSE(joined.arrived());
  test.advance(3s);
  EXPECT_EQ(joined.value().error, ErrorCode::none);
  EXPECT_EQ(joined.value().member_id, "m1");
  EXPECT_EQ(joined.value().generation, 1);
}

TEST(ClassicJoin, AMemberThatDoesNotComeBackWithItsIdIsForgottenAfterTheSessionTimeout) {
  TestCoordinator test;
  JoinGroup request = joining("g", "m1");
  request.must_come_back_with_id = true;
  test.join(request);
  EXPECT_EQ(test.list().size(), 1);
  test.advance(10s);
  EXPECT_TRUE(test.list().empty());
  EXPECT_EQ(test.join(rejoining("g", "m1")).value().error, ErrorCode::unknown_member_id);
  EXPECT_TRUE(test.log.empty());
}

TEST(ClassicJoin, ARebalanceWaitsForAMemberThatWasSentAwayAndEndsWhenItsTimeIsOver) {
  TestCoordinator test;
  form_group(test, "g", {joining("g", "m1")});
  JoinGroup request = joining("g", "m2");
  request.must_come_back_with_id = true;
  test.join(request);
  const auto leader = test.join(rejoining("g", "m1"));
  EXPECT_FALSE(leader.arrived());
  EXPECT_EQ(test.describe("g").waiting_for, std::vector<std::string>{"m2"});
  test.advance(10s);
  EXPECT_EQ(leader.value().generation, 2);
  EXPECT_EQ(leader.value().members.size(), 1);
}

TEST(ClassicJoin, TheFirstGenerationWaitsForMoreMembersButNotLongerThanTheRebalanceTimeout) {
  TestCoordinator test;
  JoinGroup request = joining("g", "m1");
  request.rebalance_timeout = 7s;
  const auto first = test.join(request);
  test.advance(2s);
  request.fresh_member_id = "m2";
  const auto second = test.join(request);
  test.advance(1s);
  EXPECT_FALSE(first.arrived()) << "somebody came: it is extended";
  request.fresh_member_id = "m3";
  test.join(request);
  test.advance(3s);
  EXPECT_FALSE(first.arrived());
  request.fresh_member_id = "m4";
  test.join(request);
  test.advance(1s);
  EXPECT_EQ(first.value().members.size(), 4) << "seven seconds are over";
  EXPECT_TRUE(second.value().members.empty()) << "only the leader needs them";
  EXPECT_EQ(second.value().leader, "m1");
}

TEST(ClassicJoin, TheFirstGenerationBeginsAfterTheDelayIfNobodyElseComes) {
  TestCoordinator test;
  const auto first = test.join(joining("g", "m1"));
  test.advance(2999ms);
  EXPECT_FALSE(first.arrived());
  test.advance(1ms);
  EXPECT_EQ(first.value().generation, 1);
}

TEST(ClassicJoin, WithoutADelayTheFirstGenerationBeginsAtOnce) {
  TestCoordinator test({.initial_rebalance_delay = 0ms});
  const auto first = test.join(joining("g", "m1"));
  EXPECT_EQ(first.value().generation, 1);
  EXPECT_EQ(first.value().leader, "m1");
  EXPECT_EQ(first.value().protocol_type, "consumer");
  EXPECT_EQ(first.value().protocol_name, "range");
}

TEST(ClassicJoin, TheProtocolIsOneThatAllHaveAndMostPrefer) {
  TestCoordinator test;
  const auto with = [](const std::string& id, const std::vector<std::string>& names) {
    JoinGroup request = joining("g", id);
    request.protocols.clear();
    for (const auto& name : names) request.protocols.push_back({name, test_bytes(name + " of " + id)});
    return request;
  };
  const auto first = test.join(with("m1", {"only mine", "range", "sticky"}));
  test.join(with("m2", {"sticky", "range"}));
  const auto third = test.join(with("m3", {"sticky", "range", "sticky"}));
  test.advance(6s);
  EXPECT_EQ(third.value().protocol_name, "sticky");
  ASSERT_EQ(first.value().members.size(), 3);
  EXPECT_EQ(first.value().members[1].metadata, test_bytes("sticky of m2"));
}

TEST(ClassicJoin, ALaterRebalanceEndsAsSoonAsAllKnownMembersHaveJoined) {
  TestCoordinator test;
  form_group(test, "g", {joining("g", "m1"), joining("g", "m2")});
  const auto third = test.join(joining("g", "m3"));
  EXPECT_EQ(test.describe("g").state, "PreparingRebalance");
  EXPECT_EQ(test.describe("g").waiting_for, (std::vector<std::string>{"m1", "m2"}));
  const auto second = test.join(rejoining("g", "m2"));
  EXPECT_FALSE(third.arrived());
  const auto first = test.join(rejoining("g", "m1"));
  EXPECT_EQ(third.value().generation, 2);
  EXPECT_EQ(first.value().members.size(), 3);
  EXPECT_EQ(first.value().leader, "m1") << "the leader stays";
}

TEST(ClassicJoin, WhoDoesNotJoinAgainWithinTheRebalanceTimeoutIsDropped) {
  TestCoordinator test;
  const int32_t generation = form_group(test, "g", {joining("g", "m1"), joining("g", "m2")});
  const auto second = test.join([] {
    JoinGroup changed = rejoining("g", "m2");
    changed.protocols[0].metadata = test_bytes("changed");
    return changed;
  }());
  for (int i = 0; i < 11; ++i) {
    test.advance(5s);
    EXPECT_EQ(test.heartbeat("g", {"m1", {}, generation}), ErrorCode::rebalance_in_progress);
  }
  EXPECT_FALSE(second.arrived());
  test.advance(5s);
  EXPECT_EQ(second.value().leader, "m2") << "the leader is gone: the first who joined leads";
  EXPECT_EQ(second.value().members.size(), 1);
  EXPECT_EQ(test.heartbeat("g", {"m1", {}, generation}), ErrorCode::unknown_member_id);
}

TEST(ClassicJoin, AFollowerThatJoinsAStableGroupUnchangedIsToldTheGeneration) {
  TestCoordinator test;
  form_group(test, "g", {joining("g", "m1"), joining("g", "m2")});
  const auto answer = test.join(rejoining("g", "m2"));
  EXPECT_EQ(answer.value().generation, 1);
  EXPECT_EQ(answer.value().leader, "m1");
  EXPECT_TRUE(answer.value().members.empty());
  EXPECT_EQ(test.describe("g").state, "Stable");
}

TEST(ClassicJoin, JoiningAgainIsASignOfLife) {
  TestCoordinator test;
  JoinGroup patient = joining("g", "m1");
  patient.session_timeout = 5min;
  form_group(test, "g", {patient, joining("g", "m2")});
  for (int i = 0; i < 3; ++i) {
    test.advance(9s);
    EXPECT_EQ(test.join(rejoining("g", "m2")).value().generation, 1);
  }
}

TEST(ClassicJoin, ALeaderOrChangedMetadataMakesAStableGroupRebalance) {
  TestCoordinator test;
  form_group(test, "g", {joining("g", "m1"), joining("g", "m2")});
  EXPECT_FALSE(test.join(rejoining("g", "m1")).arrived());
  EXPECT_EQ(test.describe("g").state, "PreparingRebalance");

  TestCoordinator other;
  form_group(other, "g", {joining("g", "m1"), joining("g", "m2")});
  JoinGroup changed = rejoining("g", "m2");
  changed.protocols[0].metadata = test_bytes("changed");
  EXPECT_FALSE(other.join(changed).arrived());
  EXPECT_EQ(other.describe("g").state, "PreparingRebalance");
}

TEST(ClassicJoin, WhoMissedTheAnswerGetsItAgainWhileTheLeaderDecides) {
  TestCoordinator test;
  test.join(joining("g", "m1"));
  test.join(joining("g", "m2"));
  test.advance(6s);
  const auto leader = test.join(rejoining("g", "m1"));
  EXPECT_EQ(leader.value().generation, 1);
  EXPECT_EQ(leader.value().members.size(), 2);
  const auto follower = test.join(rejoining("g", "m2"));
  EXPECT_EQ(follower.value().generation, 1);
  EXPECT_TRUE(follower.value().members.empty());
}

TEST(ClassicJoin, AParkedJoinThatIsSentAgainIsReplacedAndNotCountedTwice) {
  TestCoordinator test;
  form_group(test, "g", {joining("g", "m1"), joining("g", "m2")});
  const auto old_request = test.join(rejoining("g", "m1"));
  const auto new_request = test.join(rejoining("g", "m1"));
  EXPECT_EQ(old_request.value().error, ErrorCode::rebalance_in_progress);
  EXPECT_FALSE(new_request.arrived()) << "two requests of one member are not two members";
  test.join(rejoining("g", "m2"));
  EXPECT_EQ(new_request.value().generation, 2);
}

TEST(ClassicJoin, ANewMemberThatIsParkedTooLongWithoutKnowingItsIdIsDropped) {
  TestCoordinator test;
  JoinGroup patient = joining("g", "m1");
  patient.rebalance_timeout = 1h;
  form_group(test, "g", {patient});
  const auto second = test.join(joining("g", "m2"));
  for (int i = 0; i < 59; ++i) {
    test.advance(5s);
    test.heartbeat("g", {"m1", {}, 1});
  }
  EXPECT_FALSE(second.arrived());
  test.advance(5s);
  EXPECT_EQ(second.value().error, ErrorCode::unknown_member_id);
}

TEST(ClassicJoin, AParkedMembersSessionDoesNotEnd) {
  TestCoordinator test;
  form_group(test, "g", {joining("g", "m1"), joining("g", "m2")});
  const auto parked = test.join(rejoining("g", "m1"));
  for (int i = 0; i < 8; ++i) {
    test.advance(5s);
    test.heartbeat("g", {"m2", {}, 1});
  }
  EXPECT_FALSE(parked.arrived()) << "silent for 40 of its 10 seconds: it waits for us, not we for it";
  test.join(rejoining("g", "m2"));
  EXPECT_EQ(parked.value().error, ErrorCode::none);
  test.advance(9999ms);
  EXPECT_EQ(test.heartbeat("g", {"m1", {}, 2}), ErrorCode::none) << "its session began with the answer";
}

TEST(ClassicJoin, AGroupHasNotMoreMembersThanItMayHave) {
  TestCoordinator test({.size_max = 2});
  form_group(test, "g", {joining("g", "m1"), joining("g", "m2")});
  EXPECT_EQ(test.join(joining("g", "m3")).value().error, ErrorCode::group_max_size_reached);
  EXPECT_EQ(test.describe("g").state, "Stable");
  const auto first = test.join(rejoining("g", "m1"));
  EXPECT_FALSE(first.arrived());
  const auto second = test.join(rejoining("g", "m2"));
  EXPECT_EQ(first.value().generation, 2);
  EXPECT_EQ(second.value().generation, 2);
}

TEST(ClassicJoin, WhenTheLimitIsLoweredTheLastToJoinAgainDoNotGetIn) {
  TestCoordinator test;
  form_group(test, "g", {joining("g", "m1"), joining("g", "m2")});
  test.coordinator->set_settings({.size_max = 1});
  const auto first = test.join(rejoining("g", "m1"));
  EXPECT_EQ(test.join(rejoining("g", "m2")).value().error, ErrorCode::group_max_size_reached);
  EXPECT_EQ(first.value().members.size(), 1);
}

TEST(ClassicJoin, MembersThatSayMoreThanARecordCanHoldAreRefused) {
  TestCoordinator test({.group_bytes_max = 1000});
  const auto first = test.join(joining("g", "m1"));
  JoinGroup large = joining("g", "m2");
  large.protocols[0].metadata.resize(900);
  EXPECT_EQ(test.join(large).value().error, ErrorCode::group_max_size_reached);
  test.advance(3s);
  EXPECT_EQ(first.value().members.size(), 1);
}

TEST(ClassicJoin, TheGenerationAfterTheLastNumberIsTheFirst) {
  TestCoordinator test;
  const StoredGroup stored{.protocol_type = "consumer", .generation = INT32_MAX};
  test.log.push_back(group_record("g", &stored));
  test.restart();
  EXPECT_EQ(form_group(test, "g", {joining("g", "m1")}), 1);
}

TEST(ClassicJoin, AnEmptyGroupTakesAnotherProtocolType) {
  TestCoordinator test;
  form_group(test, "g", {joining("g", "m1")});
  test.leave("g", {{"m1"}});
  EXPECT_EQ(test.describe("g").state, "Empty");
  JoinGroup request = joining("g", "worker");
  request.protocol_type = "connect";
  form_group(test, "g", {request});
  EXPECT_EQ(test.describe("g").protocol_type, "connect");
}

// What members say is kept for as long as their sessions last, so it is counted, wherever it comes from.
TEST(ClassicJoin, WhileTheMemoryForStateIsFullMembersHaveToWait) {
  MemoryBudget budget(40'000);  // of which state has a quarter
  {
    TestCoordinator test({}, &budget);
    JoinGroup large = joining("g", "m1");
    large.protocols[0].metadata.resize(3000);
    const auto first = test.join(large);
    EXPECT_GE(budget.used(MemoryAccount::coordinator_state), 6000u);
    JoinGroup another = large;
    another.group_id = "other";
    EXPECT_EQ(test.join(another).value().error, ErrorCode::coordinator_not_available);
    EXPECT_EQ(budget.used(MemoryAccount::coordinator_state), budget.used()) << "a refused one leaves nothing";
    JoinGroup small = joining("small", "m2");
    const auto second = test.join(small);
    test.advance(3s);
    EXPECT_EQ(first.value().error, ErrorCode::none);
    EXPECT_EQ(second.value().error, ErrorCode::none);

    JoinGroup again = rejoining("g", "m1");
    again.protocols[0].metadata.resize(3000);
    again.protocols[0].metadata[0] = std::byte{1};
    EXPECT_EQ(test.join(again).value().error, ErrorCode::none) << "a member that says as much as before stays";
    test.leave("g", {{.member_id = "m1", .instance_id = {}, .reason = {}}});
    EXPECT_LT(budget.used(), 2000u);
    const auto third = test.join(another);
    test.advance(3s);
    EXPECT_EQ(third.value().error, ErrorCode::none);
  }
  EXPECT_EQ(budget.used(), 0u);
}

}  // namespace
}  // namespace naru
