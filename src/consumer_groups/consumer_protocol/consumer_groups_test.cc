#include "consumer_groups/consumer_protocol/consumer_groups.h"

#include <gtest/gtest.h>

#include "consumer_groups/consumer_protocol/consumer_group_records.h"
#include "consumer_groups/consumer_protocol/consumer_group_testing.h"

namespace naru {
namespace {

using enum ReconciliationState;

class ConsumerGroupsTest : public testing::Test {
 protected:
  void SetUp() override { f.set_topic("t", 4); }

  ConsumerGroupsFixture f;
};

// --- Validation ------------------------------------------------------------------------------------------------------

TEST_F(ConsumerGroupsTest, RefusesHeartbeatsThatDoNotSayWhatTheyHaveToSay) {
  using Mistake = void (*)(ConsumerHeartbeat&);
  const Mistake mistakes[] = {
      [](ConsumerHeartbeat& r) { r.group_id = ""; },
      [](ConsumerHeartbeat& r) { r.member_id = ""; },
      [](ConsumerHeartbeat& r) { r.instance_id = ""; },
      [](ConsumerHeartbeat& r) { r.rack_id = ""; },
      [](ConsumerHeartbeat& r) { r.rebalance_timeout.reset(); },
      [](ConsumerHeartbeat& r) { r.rebalance_timeout = -5ms; },
      [](ConsumerHeartbeat& r) { r.owned.reset(); },
      [](ConsumerHeartbeat& r) { r.owned = {{Uuid{1, 1}, PartitionIndex(0)}}; },
      [](ConsumerHeartbeat& r) { r.subscribed_topics.reset(); },
      [](ConsumerHeartbeat& r) { r.subscribed_topics->emplace_back(2 << 20, 'x'); },
      [](ConsumerHeartbeat& r) { r.member_epoch = -3; },
      [](ConsumerHeartbeat& r) { r.member_epoch = -2; },
  };
  int number = 0;
  for (const Mistake mistake : mistakes) {
    ConsumerHeartbeat request = f.joining("m", {"t"});
    mistake(request);
    EXPECT_EQ(f.heartbeat(request).error, ErrorCode::invalid_request) << number++;
  }
  EXPECT_EQ(f.records(), 0U);
}

TEST_F(ConsumerGroupsTest, GivesAMemberOfAnOldVersionAnId) {
  ConsumerHeartbeat request = f.joining("", {"t"});
  request.must_bring_member_id = false;
  request.fresh_member_id = "fresh";
  EXPECT_EQ(f.heartbeat(request).member_id, "fresh");
  EXPECT_NE(f.group().find("fresh"), nullptr);
}

TEST_F(ConsumerGroupsTest, RefusesAssignorsAndExpressionsThatItDoesNotKnowWithoutMakingAGroup) {
  ConsumerHeartbeat request = f.joining("m", {"t"});
  request.assignor = "random";
  EXPECT_EQ(f.heartbeat(request).error, ErrorCode::unsupported_assignor);
  request.assignor.reset();
  request.subscribed_expression = "(";
  EXPECT_EQ(f.heartbeat(request).error, ErrorCode::invalid_regular_expression);
  EXPECT_EQ(f.groups().find("g"), nullptr);
}

TEST_F(ConsumerGroupsTest, KnowsOnlyTheAssignorsThatAreConfiguredAndTakesTheFirstUnlessAsked) {
  f.set_settings({.assignors = {"range"}});
  f.join("a", {"t"});
  EXPECT_EQ(f.groups().describe("g").assignor, "range");
  ConsumerHeartbeat request = f.joining("b", {"t"});
  request.assignor = "uniform";
  const ConsumerHeartbeatAnswer refused = f.heartbeat(request);
  EXPECT_EQ(refused.error, ErrorCode::unsupported_assignor);
  EXPECT_EQ(refused.message, "there is no assignor uniform here, only range (group.consumer.assignors)");
  EXPECT_EQ(f.group().find("b"), nullptr);
  f.set_settings({.assignors = {"range", "uniform"}});
  EXPECT_EQ(f.heartbeat(request).error, ErrorCode::none);
  EXPECT_EQ(f.groups().describe("g").assignor, "uniform") << "the only vote";
}

TEST_F(ConsumerGroupsTest, LimitsWhatAllMembersOfAGroupSubscribeToTogether) {
  f.join("a", {"t"});
  f.set_settings({.group_subscription_bytes_max = 2 * f.group().subscription_bytes()});
  EXPECT_EQ(f.join("b", {"t"}).error, ErrorCode::none);
  const size_t records = f.records();
  EXPECT_EQ(f.join("c", {"t"}).error, ErrorCode::group_max_size_reached);
  ConsumerHeartbeat more = f.beat("a", f.current("a").epoch);
  more.subscribed_topics = {"t", "u"};
  EXPECT_EQ(f.heartbeat(more).error, ErrorCode::group_max_size_reached);
  EXPECT_EQ(f.records(), records) << "who is refused changes nothing";
  EXPECT_EQ(f.heartbeat(f.beat("a", f.current("a").epoch, PartitionSet{})).error, ErrorCode::none);
  f.heartbeat(f.beat("b", kLeaveEpoch));
  EXPECT_EQ(f.join("c", {"t"}).error, ErrorCode::none);
  // A limit that has become smaller does not throw anybody out.
  f.set_settings({.group_subscription_bytes_max = 1});
  EXPECT_EQ(f.heartbeat(f.beat("a", f.current("a").epoch)).error, ErrorCode::none);
}

TEST_F(ConsumerGroupsTest, LimitsHowManyExpressionsAGroupUses) {
  f.set_settings({.group_expressions_max = 1});
  ConsumerHeartbeat first = f.joining("a", {});
  first.subscribed_expression = "t.*";
  EXPECT_EQ(f.heartbeat(first).error, ErrorCode::none);
  ConsumerHeartbeat second = f.joining("b", {});
  second.subscribed_expression = "u.*";
  EXPECT_EQ(f.heartbeat(second).error, ErrorCode::group_max_size_reached);
  second.subscribed_expression = "t.*";
  EXPECT_EQ(f.heartbeat(second).error, ErrorCode::none) << "one that is in use already";
}

TEST_F(ConsumerGroupsTest, KnowsNeitherGroupsNorMembersThatDidNotJoin) {
  EXPECT_EQ(f.heartbeat(f.beat("m", 3)).error, ErrorCode::group_id_not_found);
  EXPECT_EQ(f.heartbeat(f.beat("m", kLeaveEpoch)).error, ErrorCode::group_id_not_found);
  f.join("m", {"t"});
  EXPECT_EQ(f.heartbeat(f.beat("other", 1)).error, ErrorCode::unknown_member_id);
  EXPECT_EQ(f.heartbeat(f.beat("other", kLeaveEpoch)).error, ErrorCode::unknown_member_id);
}

TEST_F(ConsumerGroupsTest, AsksToComeBackWhileTheTopicsAreNotKnown) {
  ConsumerGroups groups{ConsumerGroupSettings{}};
  CoordinatorOutcome outcome;
  EXPECT_EQ(groups.heartbeat(f.joining("m", {"t"}), {}, outcome).error, ErrorCode::coordinator_load_in_progress);
}

TEST_F(ConsumerGroupsTest, TakesNoMoreMembersThanAllowed) {
  ConsumerGroupSettings settings;
  settings.size_max = 1;
  f.set_settings(settings);
  EXPECT_EQ(f.join("a", {"t"}).error, ErrorCode::none);
  EXPECT_EQ(f.join("b", {"t"}).error, ErrorCode::group_max_size_reached);
  EXPECT_EQ(f.join("a", {"t"}).error, ErrorCode::none);
}

// --- Reconciliation --------------------------------------------------------------------------------------------------

TEST_F(ConsumerGroupsTest, GivesTheFirstMemberEverythingAtOnce) {
  const auto answer = f.join("a", {"t"});
  EXPECT_EQ(answer.error, ErrorCode::none);
  EXPECT_EQ(answer.member_epoch, 1);
  EXPECT_EQ(answer.heartbeat_interval, 5s);
  EXPECT_EQ(answer.assignment, f.all_of("t"));
  EXPECT_EQ(f.group().state(), "Stable");
}

TEST_F(ConsumerGroupsTest, SaysNothingNewAndWritesNothingWhileNothingChanges) {
  f.join("a", {"t"});
  const size_t before = f.records();
  const auto answer = f.heartbeat(f.beat("a", 1));
  EXPECT_EQ(answer.member_epoch, 1);
  EXPECT_FALSE(answer.assignment.has_value());
  EXPECT_EQ(f.records(), before);
}

TEST_F(ConsumerGroupsTest, MovesPartitionsOnlyAfterTheirOwnerHasGivenThemBack) {
  f.join("a", {"t"});
  const auto b_joined = f.join("b", {"t"});
  EXPECT_EQ(b_joined.member_epoch, 2);
  EXPECT_EQ(b_joined.assignment, PartitionSet{});
  EXPECT_EQ(f.current("b").state, unreleased);

  const auto a_told = f.heartbeat(f.beat("a", 1));
  EXPECT_EQ(a_told.member_epoch, 1) << "it can still commit what it has to give back";
  ASSERT_TRUE(a_told.assignment.has_value());
  EXPECT_EQ(a_told.assignment->size(), 2U);
  EXPECT_EQ(f.current("a").state, unrevoked);
  EXPECT_FALSE(f.heartbeat(f.beat("b", 2)).assignment.has_value());

  EXPECT_EQ(f.heartbeat(f.beat("a", 1, f.all_of("t"))).member_epoch, 1) << "it has not given anything back yet";
  const auto a_done = f.heartbeat(f.beat("a", 1, a_told.assignment));
  EXPECT_EQ(a_done.member_epoch, 2);
  EXPECT_FALSE(a_done.assignment.has_value());

  const auto b_gets = f.heartbeat(f.beat("b", 2));
  EXPECT_EQ(b_gets.assignment, set_without(f.all_of("t"), *a_told.assignment));
  EXPECT_EQ(f.group().state(), "Stable");
}

TEST_F(ConsumerGroupsTest, EndsTheEpochOfWhoGaveSomethingBackEvenIfThereIsMoreToGiveBack) {
  f.join("a", {"t"});
  f.join("b", {"t"});
  const auto told = f.heartbeat(f.beat("a", 1));
  f.join("c", {"t"});
  f.join("d", {"t"});
  const auto told_more = f.heartbeat(f.beat("a", 1, told.assignment));
  EXPECT_EQ(f.current("a").state, unrevoked);
  EXPECT_EQ(told_more.member_epoch, 2) << "what it commits for the partitions it gave back is refused";
  EXPECT_EQ(f.commit("a", 1), ErrorCode::stale_member_epoch);
}

TEST_F(ConsumerGroupsTest, KnowsItsStateInKafkasWords) {
  f.join("a", {"t"});
  EXPECT_EQ(f.group().state(), "Stable");
  f.join("b", {"t"});
  EXPECT_EQ(f.group().state(), "Reconciling");
  f.set_topic("t", 5);
  EXPECT_EQ(f.group().state(), "Assigning");
  f.heartbeat(f.beat("a", kLeaveEpoch));
  f.heartbeat(f.beat("b", kLeaveEpoch));
  EXPECT_EQ(f.group().state(), "Empty");
}

TEST_F(ConsumerGroupsTest, TellsTheWholeAssignmentToWhoeverSaysEverything) {
  const auto joined = f.join("a", {"t"});
  ConsumerHeartbeat full = f.joining("a", {"t"});
  full.member_epoch = 1;
  full.owned = *joined.assignment;
  EXPECT_EQ(f.heartbeat(full).assignment, joined.assignment);
}

TEST_F(ConsumerGroupsTest, FencesMembersInAnotherEpochThanTheirs) {
  f.join("a", {"t"});
  EXPECT_EQ(f.heartbeat(f.beat("a", 2)).error, ErrorCode::fenced_member_epoch);
  f.set_topic("t", 5);
  f.heartbeat(f.beat("a", 1));
  f.set_topic("t", 6);
  f.heartbeat(f.beat("a", 2));
  EXPECT_EQ(f.heartbeat(f.beat("a", 1, PartitionSet{})).error, ErrorCode::fenced_member_epoch);
}

TEST_F(ConsumerGroupsTest, ForgivesAMemberWhoseAnswerWasLost) {
  f.join("a", {"t"});
  f.set_topic("t", 5);
  EXPECT_EQ(f.heartbeat(f.beat("a", 1)).member_epoch, 2);
  const auto again = f.heartbeat(f.beat("a", 1, PartitionSet{f.at("t", 0)}));
  EXPECT_EQ(again.error, ErrorCode::none);
  EXPECT_EQ(again.member_epoch, 2);
  EXPECT_EQ(again.assignment, f.all_of("t"));
  EXPECT_EQ(f.heartbeat(f.beat("a", 1)).error, ErrorCode::fenced_member_epoch) << "it does not say what it has";
  EXPECT_EQ(f.heartbeat(f.beat("a", 1, PartitionSet{{Uuid{9, 9}, PartitionIndex(0)}})).error,
            ErrorCode::fenced_member_epoch)
      << "it has what it was not given";
}

TEST_F(ConsumerGroupsTest, LetsAMemberJoinAgainAtAnyTime) {
  f.join("a", {"t"});
  const auto again = f.join("a", {"t"});
  EXPECT_EQ(again.error, ErrorCode::none);
  EXPECT_EQ(again.assignment, f.all_of("t"));
}

TEST_F(ConsumerGroupsTest, GivesWhatALeavingMemberHadToTheOthers) {
  f.join("a", {"t"});
  f.join("b", {"t"});
  const auto left = f.heartbeat(f.beat("a", kLeaveEpoch));
  EXPECT_EQ(left.member_epoch, kLeaveEpoch);
  EXPECT_EQ(f.heartbeat(f.beat("b", 2)).assignment, f.all_of("t"));
  EXPECT_EQ(f.group().size(), 1U);
}

TEST_F(ConsumerGroupsTest, FollowsChangedSubscriptions) {
  f.set_topic("u", 2);
  f.join("a", {"t"});
  ConsumerHeartbeat change = f.beat("a", 1);
  change.subscribed_topics = {"u", "t", "u"};
  const auto answer = f.heartbeat(change);
  EXPECT_EQ(answer.assignment, set_of_either(f.all_of("t"), f.all_of("u")));
  EXPECT_EQ(f.group().find("a")->subscription->topics, (std::vector<std::string>{"t", "u"}));
}

TEST_F(ConsumerGroupsTest, UsesTheAssignorThatMostMembersAskFor) {
  for (const char* id : {"a", "b"}) {
    ConsumerHeartbeat request = f.joining(id, {"t"});
    request.assignor = "range";
    f.heartbeat(request);
  }
  ConsumerHeartbeat request = f.joining("c", {"t"});
  request.assignor = "uniform";
  f.heartbeat(request);
  EXPECT_EQ(f.groups().describe("g").assignor, "range");
  EXPECT_EQ(*f.group().find("a")->target, (PartitionSet{f.at("t", 0), f.at("t", 1)}));
}

// --- Time ------------------------------------------------------------------------------------------------------------

TEST_F(ConsumerGroupsTest, RemovesWhoIsNotHeardOfForASession) {
  f.join("a", {"t"});
  f.advance(44s);
  EXPECT_EQ(f.heartbeat(f.beat("a", 1)).error, ErrorCode::none);
  f.advance(44s);
  EXPECT_EQ(f.group().size(), 1U);
  f.advance(1s);
  EXPECT_EQ(f.group().size(), 0U);
  EXPECT_EQ(f.heartbeat(f.beat("a", 1)).error, ErrorCode::unknown_member_id);
}

// What begins an epoch looks at the whole group.
TEST_F(ConsumerGroupsTest, BeginsOneEpochForAllWhoseSessionsEndTogether) {
  for (const char* id : {"a", "b", "c", "d"}) f.join(id, {"t"});
  const int32_t epoch = f.group().epoch();
  f.advance(30s);
  f.heartbeat(f.beat("a", f.current("a").epoch, PartitionSet{}));
  f.advance(20s);
  EXPECT_EQ(f.group().size(), 1U);
  EXPECT_EQ(f.group().epoch(), epoch + 1);
}

TEST_F(ConsumerGroupsTest, ObeysTheTimeoutsOfTheGroupItself) {
  ConsumerGroupSettings settings;
  settings.timeouts_of_groups["g"] = {.session_timeout = 60s, .heartbeat_interval = 7s};
  f.set_settings(settings);
  EXPECT_EQ(f.join("a", {"t"}).heartbeat_interval, 7s);
  f.advance(59s);
  EXPECT_EQ(f.group().size(), 1U);
  f.advance(1s);
  EXPECT_EQ(f.group().size(), 0U);
}

TEST_F(ConsumerGroupsTest, RemovesWhoDoesNotGivePartitionsBackInTime) {
  f.join("a", {"t"});
  f.join("b", {"t"});
  f.heartbeat(f.beat("a", 1));
  for (int i = 0; i < 5; ++i) {
    f.advance(10s);
    f.heartbeat(f.beat("a", 1, f.all_of("t")));
    f.heartbeat(f.beat("b", 2));
  }
  EXPECT_EQ(f.group().size(), 2U);
  f.advance(10s);
  EXPECT_EQ(f.group().find("a"), nullptr);
  EXPECT_EQ(f.heartbeat(f.beat("b", 2)).assignment, f.all_of("t"));
}

TEST_F(ConsumerGroupsTest, LeavesWhoHasGivenPartitionsBackInPeace) {
  f.join("a", {"t"});
  f.join("b", {"t"});
  const auto told = f.heartbeat(f.beat("a", 1));
  f.heartbeat(f.beat("a", 1, told.assignment));
  for (int i = 0; i < 10; ++i) {
    f.advance(10s);
    f.heartbeat(f.beat("a", 2));
    f.heartbeat(f.beat("b", 2));
  }
  EXPECT_EQ(f.group().size(), 2U);
}

TEST_F(ConsumerGroupsTest, StartsSessionsAndRevocationsAnewAfterLoading) {
  f.join("a", {"t"});
  f.join("b", {"t"});
  f.heartbeat(f.beat("a", 1));
  f.advance(40s);
  f.reload(true);
  f.advance(44s);
  EXPECT_EQ(f.group().size(), 2U);
  EXPECT_EQ(f.heartbeat(f.beat("a", 1)).error, ErrorCode::none);
  EXPECT_EQ(f.heartbeat(f.beat("b", 2)).error, ErrorCode::none);
  f.advance(16s);
  EXPECT_EQ(f.group().find("a"), nullptr) << "sixty seconds to give back";
  EXPECT_NE(f.group().find("b"), nullptr);
}

// --- Static members --------------------------------------------------------------------------------------------------

class StaticConsumerGroupsTest : public ConsumerGroupsTest {
 protected:
  ConsumerHeartbeat joining_as(std::string member_id, std::string instance_id) {
    ConsumerHeartbeat request = f.joining(std::move(member_id), {"t"});
    request.instance_id = std::move(instance_id);
    return request;
  }
  ConsumerHeartbeat beat_as(std::string member_id, std::string instance_id, int32_t epoch) {
    ConsumerHeartbeat request = f.beat(std::move(member_id), epoch);
    request.instance_id = std::move(instance_id);
    return request;
  }
};

TEST_F(StaticConsumerGroupsTest, GivesARestartedMemberItsPartitionsBackWithoutTroublingAnybody) {
  f.heartbeat(joining_as("a1", "a"));
  f.heartbeat(joining_as("b1", "b"));
  const auto told = f.heartbeat(f.beat("a1", 1));
  f.heartbeat(f.beat("a1", 1, told.assignment));
  f.heartbeat(f.beat("b1", 2));
  const auto left = f.heartbeat(beat_as("a1", "a", kTemporaryLeaveEpoch));
  EXPECT_EQ(left.member_epoch, kTemporaryLeaveEpoch);
  f.advance(30s);
  f.heartbeat(f.beat("b1", 2));
  const auto back = f.heartbeat(joining_as("a2", "a"));
  EXPECT_EQ(back.error, ErrorCode::none);
  EXPECT_EQ(back.member_epoch, 2) << "the group has not moved";
  EXPECT_EQ(back.assignment, told.assignment);
  EXPECT_EQ(f.group().find("a1"), nullptr);
  EXPECT_FALSE(f.heartbeat(f.beat("b1", 2)).assignment.has_value());
}

TEST_F(StaticConsumerGroupsTest, RefusesASecondMemberWithAnInstanceIdInUse) {
  f.heartbeat(joining_as("a1", "a"));
  EXPECT_EQ(f.heartbeat(joining_as("a2", "a")).error, ErrorCode::unreleased_instance_id);
  EXPECT_EQ(f.heartbeat(beat_as("a2", "a", 1)).error, ErrorCode::fenced_instance_id);
  EXPECT_EQ(f.heartbeat(beat_as("a2", "a", kLeaveEpoch)).error, ErrorCode::fenced_instance_id);
  EXPECT_EQ(f.heartbeat(beat_as("a1", "other", 1)).error, ErrorCode::unknown_member_id);
  EXPECT_EQ(f.heartbeat(beat_as("a1", "a", 1)).error, ErrorCode::none);
}

TEST_F(StaticConsumerGroupsTest, FencesTheOldMemberAfterItsPlaceWasTaken) {
  f.heartbeat(joining_as("a1", "a"));
  f.heartbeat(beat_as("a1", "a", kTemporaryLeaveEpoch));
  EXPECT_EQ(f.commit("a1", 1), ErrorCode::stale_member_epoch);
  EXPECT_EQ(f.heartbeat(f.beat("a1", 1)).error, ErrorCode::fenced_member_epoch);
  f.heartbeat(joining_as("a2", "a"));
  EXPECT_EQ(f.heartbeat(beat_as("a1", "a", 1)).error, ErrorCode::fenced_instance_id);
  EXPECT_EQ(f.commit("a1", 1), ErrorCode::unknown_member_id);
}

TEST_F(StaticConsumerGroupsTest, GivesUpOnWhoDoesNotComeBackWithinItsSession) {
  f.heartbeat(joining_as("a1", "a"));
  f.heartbeat(beat_as("a1", "a", kTemporaryLeaveEpoch));
  f.advance(45s);
  EXPECT_EQ(f.group().size(), 0U);
}

TEST_F(StaticConsumerGroupsTest, LeavesForGoodWhenAskedTo) {
  f.heartbeat(joining_as("a1", "a"));
  EXPECT_EQ(f.heartbeat(beat_as("a1", "a", kLeaveEpoch)).error, ErrorCode::none);
  EXPECT_EQ(f.group().size(), 0U);
}

TEST_F(StaticConsumerGroupsTest, TakesARestartedMemberEvenIfTheGroupIsFull) {
  ConsumerGroupSettings settings;
  settings.size_max = 1;
  f.set_settings(settings);
  f.heartbeat(joining_as("a1", "a"));
  f.heartbeat(beat_as("a1", "a", kTemporaryLeaveEpoch));
  EXPECT_EQ(f.heartbeat(joining_as("a2", "a")).error, ErrorCode::none);
  EXPECT_EQ(f.group().size(), 1U);
}

// --- Topics ----------------------------------------------------------------------------------------------------------

TEST_F(ConsumerGroupsTest, HandsOutPartitionsThatAreAdded) {
  f.join("a", {"t"});
  f.set_topic("t", 6);
  EXPECT_EQ(f.group().epoch(), 2);
  EXPECT_EQ(f.heartbeat(f.beat("a", 1)).assignment, f.all_of("t"));
}

TEST_F(ConsumerGroupsTest, TakesPartitionsOfDeletedTopicsAway) {
  f.join("a", {"t"});
  const PartitionSet gone = f.all_of("t");
  f.delete_topic("t");
  EXPECT_EQ(f.heartbeat(f.beat("a", 1)).assignment, PartitionSet{});
  EXPECT_EQ(f.heartbeat(f.beat("a", 1, gone)).member_epoch, 1);
  EXPECT_EQ(f.heartbeat(f.beat("a", 1, PartitionSet{})).member_epoch, 2);
  f.set_topic("t", 4);
  EXPECT_EQ(f.heartbeat(f.beat("a", 2)).assignment, f.all_of("t")) << "another topic of the same name";
  EXPECT_TRUE(set_of_both(gone, f.all_of("t")).empty());
}

TEST_F(ConsumerGroupsTest, DoesNotMindTopicsThatNobodyIsSubscribedTo) {
  f.join("a", {"t"});
  const size_t before = f.records();
  f.set_topic("unrelated", 6);
  EXPECT_EQ(f.records(), before);
}

TEST_F(ConsumerGroupsTest, WaitsForTopicsThatDoNotExistYet) {
  EXPECT_EQ(f.join("a", {"later"}).assignment, PartitionSet{});
  f.set_topic("later", 2);
  EXPECT_EQ(f.heartbeat(f.beat("a", 1)).assignment, f.all_of("later"));
}

TEST_F(ConsumerGroupsTest, NoticesAfterLoadingThatTopicsHaveChangedMeanwhile) {
  f.join("a", {"t"});
  f.reload(true);
  EXPECT_EQ(f.heartbeat(f.beat("a", 1)).member_epoch, 1);
  f.reload(false);
  f.set_topic("t", 5);
  EXPECT_EQ(f.heartbeat(f.beat("a", 1)).assignment, f.all_of("t"));
}

TEST_F(ConsumerGroupsTest, ResolvesExpressionsAndFollowsTheTopicsThatMatch) {
  f.set_topic("orders-eu", 1);
  f.set_internal_topic("orders-internal");
  ConsumerHeartbeat request = f.joining("a", {});
  request.subscribed_expression = "orders-.*";
  EXPECT_EQ(f.heartbeat(request).assignment, f.all_of("orders-eu"));
  f.set_topic("orders-us", 1);
  EXPECT_EQ(f.heartbeat(f.beat("a", 1)).assignment, set_of_either(f.all_of("orders-eu"), f.all_of("orders-us")));
  f.delete_topic("orders-eu");
  EXPECT_EQ(f.heartbeat(f.beat("a", 2)).assignment, f.all_of("orders-us"));
  f.set_topic("unrelated", 1);
  EXPECT_EQ(f.group().expressions().at("orders-.*").topics, (std::vector<std::string>{"orders-us"}));
}

TEST_F(ConsumerGroupsTest, AddsExpressionsToNamesAndForgetsThoseThatNobodyUses) {
  f.set_topic("u", 1);
  ConsumerHeartbeat request = f.joining("a", {"t"});
  request.subscribed_expression = "u.*";
  EXPECT_EQ(f.heartbeat(request).assignment, set_of_either(f.all_of("t"), f.all_of("u")));
  ConsumerHeartbeat change = f.beat("a", 1);
  change.subscribed_expression = "";
  f.heartbeat(change);
  EXPECT_TRUE(f.group().expressions().empty());
  EXPECT_EQ(f.heartbeat(f.beat("a", 1, f.all_of("t"))).member_epoch, 2);
}

TEST_F(ConsumerGroupsTest, ForgetsTheExpressionOfALeavingMember) {
  ConsumerHeartbeat request = f.joining("a", {});
  request.subscribed_expression = "t";
  f.heartbeat(request);
  f.heartbeat(f.beat("a", kLeaveEpoch));
  EXPECT_TRUE(f.group().expressions().empty());
}

// --- Offsets and administration --------------------------------------------------------------------------------------

TEST_F(ConsumerGroupsTest, LetsOnlyMembersInTheirEpochCommit) {
  f.join("a", {"t"});
  EXPECT_EQ(f.commit("a", 1), ErrorCode::none);
  EXPECT_EQ(f.commit("a", 0), ErrorCode::stale_member_epoch);
  EXPECT_EQ(f.commit("a", 2), ErrorCode::stale_member_epoch);
  EXPECT_EQ(f.commit("a", 1, false), ErrorCode::unsupported_version);
  EXPECT_EQ(f.commit("nobody", 1), ErrorCode::unknown_member_id);
  EXPECT_EQ(f.commit("", -1), ErrorCode::unknown_member_id);
  f.heartbeat(f.beat("a", kLeaveEpoch));
  EXPECT_EQ(f.commit("", -1), ErrorCode::none) << "administrators may, while nobody is there";
}

TEST_F(ConsumerGroupsTest, ChecksWhoFetchesOffsetsOnlyIfItSaysWhoItIs) {
  f.join("a", {"t"});
  EXPECT_EQ(f.groups().check_fetch({.group_id = "g"}), ErrorCode::none);
  EXPECT_EQ(f.groups().check_fetch({.group_id = "g", .member_id = "a", .member_epoch = 1}), ErrorCode::none);
  EXPECT_EQ(f.groups().check_fetch({.group_id = "g", .member_id = "a", .member_epoch = 0}),
            ErrorCode::stale_member_epoch);
  EXPECT_EQ(f.groups().check_fetch({.group_id = "g", .member_id = "b", .member_epoch = 1}),
            ErrorCode::unknown_member_id);
}

TEST_F(ConsumerGroupsTest, DescribesGroups) {
  ConsumerHeartbeat request = f.joining("a", {"t"});
  request.instance_id = "i";
  request.rack_id = "r";
  request.client_id = "client";
  request.client_host = "/127.0.0.1";
  f.heartbeat(request);
  const DescribedConsumerGroup described = f.groups().describe("g");
  EXPECT_EQ(described.state, "Stable");
  EXPECT_EQ(described.group_epoch, 1);
  EXPECT_EQ(described.assignment_epoch, 1);
  EXPECT_EQ(described.assignor, "uniform");
  ASSERT_EQ(described.members.size(), 1U);
  EXPECT_EQ(described.members[0].instance_id, "i");
  EXPECT_EQ(described.members[0].rack_id, "r");
  EXPECT_EQ(described.members[0].client_host, "/127.0.0.1");
  ASSERT_EQ(described.members[0].assignment.size(), 1U);
  EXPECT_EQ(described.members[0].assignment[0].topic, "t");
  EXPECT_EQ(described.members[0].assignment[0].partitions.size(), 4U);
  EXPECT_EQ(described.members[0].target.size(), 1U);
  EXPECT_EQ(f.groups().describe("other").error, ErrorCode::group_id_not_found);
  ASSERT_EQ(f.groups().list().size(), 1U);
  EXPECT_EQ(f.groups().list()[0].type, "consumer");
}

TEST_F(ConsumerGroupsTest, DescribesSinceWhenItIsUnsettledAndWhatMembersHoldOnTo) {
  f.join("a", {"t"});
  EXPECT_EQ(f.groups().describe("g").state_since, -1) << "it is stable";
  const WallTimeMs begin = f.wall_ms() + 1000;
  f.advance(1s);
  f.join("b", {"t"});
  f.advance(1s);
  f.heartbeat(f.beat("a", 1, f.all_of("t")));
  DescribedConsumerGroup described = f.groups().describe("g");
  EXPECT_EQ(described.state, "Reconciling");
  EXPECT_EQ(described.state_since, begin);
  ASSERT_EQ(described.members[0].pending_revocation.size(), 1U);
  EXPECT_EQ(described.members[0].pending_revocation[0].topic, "t");
  EXPECT_EQ(described.members[0].pending_revocation[0].partitions.size(), 2U);
  f.advance(1s);
  f.join("c", {"t"});
  EXPECT_EQ(f.groups().describe("g").state_since, begin) << "still the same rebalance";
  f.reload(true);
  EXPECT_EQ(f.groups().describe("g").state_since, f.wall_ms()) << "at least since it was loaded";
  for (const char* member : {"a", "b", "c"}) f.heartbeat(f.beat(member, kLeaveEpoch));
  const WallTimeMs empty_since = f.wall_ms();
  f.advance(1s);
  f.reload(true);
  EXPECT_EQ(f.groups().describe("g").state_since, empty_since);
}

TEST_F(ConsumerGroupsTest, AStaticMemberThatIsAwayForAWhileUnsettlesItsGroup) {
  ConsumerHeartbeat request = f.joining("a", {"t"});
  request.instance_id = "i";
  f.heartbeat(request);
  f.advance(1s);
  ConsumerHeartbeat leaving = f.beat("a", kTemporaryLeaveEpoch);
  leaving.instance_id = "i";
  EXPECT_EQ(f.heartbeat(leaving).error, ErrorCode::none);
  EXPECT_EQ(f.groups().describe("g").state_since, f.wall_ms());
}

// Nobody writes such a log in one go; what is left of one that somebody else has written must not hurt.
TEST(ConsumerGroups, AGroupWithoutEpochsGoesWithItsLastMember) {
  for (const bool leaves : {false, true}) {
    ConsumerGroups groups{ConsumerGroupSettings{}};
    const ConsumerSubscription subscription{.topics = {"t"}, .rebalance_timeout = 60s};
    const CoordinatorRecord record = subscription_record("g", "only", &subscription);
    ASSERT_TRUE(groups.apply(record.key, record.value).ok());
    CoordinatorTime time{MonotonicTime{} + 1h, 1'000'000};
    groups.loaded(time);
    CoordinatorOutcome outcome;
    if (leaves) {
      ConsumerHeartbeat goodbye{.group_id = "g", .member_id = "only", .member_epoch = kLeaveEpoch};
      EXPECT_EQ(groups.heartbeat(goodbye, time, outcome).error, ErrorCode::none);
    } else {
      time.now += 1h;
      groups.on_timer(time, outcome);
    }
    EXPECT_EQ(groups.find("g"), nullptr);
  }
}

}  // namespace
}  // namespace naru
