#include "consumer_groups/group_coordinator.h"

#include <gtest/gtest.h>

#include "consumer_groups/group_testing.h"

namespace naru {
namespace {

const GroupPartition kPartition{"t", PartitionIndex(0)};

TEST(GroupCoordinator, AGroupThatIsLoadedWithMembersIsStableAndItsSessionsBeginThen) {
  TestCoordinator test;
  form_group(test, "g", {joining("g", "m1"), joining("g", "m2")});
  test.commit("g", {"m1", {}, 1}, kPartition, 5);
  test.time.now += 1h;
  test.restart();
  EXPECT_EQ(test.describe("g").state, "Stable");
  test.advance(9999ms);
  EXPECT_EQ(test.heartbeat("g", {"m1", {}, 1}), ErrorCode::none);
  EXPECT_EQ(test.commit("g", {"m1", {}, 1}, kPartition, 6), ErrorCode::none);
  EXPECT_EQ(test.sync(syncing("g", "m2", 1)).value().assignment, test_bytes("assignment of m2"));
  test.advance(10s);
  EXPECT_EQ(test.describe("g").state, "Empty") << "nobody was heard of";
}

TEST(GroupCoordinator, AfterLoadingTheGroupRebalancesAsIfNothingHadHappened) {
  TestCoordinator test;
  form_group(test, "g", {joining("g", "m1"), joining("g", "m2")});
  test.restart();
  test.join(joining("g", "m3"));
  EXPECT_EQ(test.heartbeat("g", {"m2", {}, 1}), ErrorCode::rebalance_in_progress);
  test.join(rejoining("g", "m2"));
  const auto leader = test.join(rejoining("g", "m1"));
  EXPECT_EQ(leader.value().generation, 2);
  EXPECT_EQ(leader.value().leader, "m1");
  EXPECT_EQ(leader.value().members.size(), 3);
}

TEST(GroupCoordinator, TheLeaderIsKnownAfterLoading) {
  TestCoordinator test;
  form_group(test, "g", {joining("g", "z"), joining("g", "a")});
  test.restart();
  EXPECT_EQ(test.join(rejoining("g", "a")).value().leader, "z");
}

TEST(GroupCoordinator, AGenerationThatWasNeverGivenOutIsForgottenByACrash) {
  TestCoordinator test;
  form_group(test, "g", {joining("g", "m1")});
  test.join(joining("g", "m2"));
  test.join(rejoining("g", "m1"));
  EXPECT_EQ(test.describe("g").generation, 2);
  test.restart();
  EXPECT_EQ(test.heartbeat("g", {"m1", {}, 2}), ErrorCode::illegal_generation);
  EXPECT_EQ(test.heartbeat("g", {"m2", {}, 2}), ErrorCode::unknown_member_id);
  EXPECT_EQ(test.commit("g", {"m1", {}, 1}, kPartition, 5), ErrorCode::none) << "still the owner";
}

TEST(GroupCoordinator, UnloadingTellsWhoeverIsParkedWhy) {
  TestCoordinator test;
  form_group(test, "g", {joining("g", "m1"), joining("g", "m2")});
  const auto join = test.join(rejoining("g", "m1"));
  test.join(joining("h", "n1"));
  test.join(joining("h", "n2"));
  test.advance(6s);
  const auto sync = test.sync(syncing("h", "n2", 1));
  test.coordinator->unload(Status(ErrorCode::not_coordinator, "moved"));
  EXPECT_EQ(join.failure_status(), ErrorCode::not_coordinator);
  EXPECT_EQ(sync.failure_status(), ErrorCode::not_coordinator);
}

TEST(GroupCoordinator, UnknownTypesOfRecordsAreSkipped) {
  TestCoordinator test;
  test.commit("g", {}, kPartition, 5);
  test.log.push_back(CoordinatorRecord{.key = test_bytes(std::string("\0\x7f"
                                                                     "anything",
                                                                     10)),
                                       .value = test_bytes("at all")});
  test.log.push_back(CoordinatorRecord{.key = test_bytes(std::string("\0\x7e", 2))});
  test.restart();
  EXPECT_EQ(test.committed("g", kPartition), 5);
}

TEST(GroupCoordinator, RecordsThatCannotBeUnderstoodAreRefusedAndChangeNothing) {
  GroupCoordinator coordinator({});
  const CommittedOffset committed{.offset = Offset(1)};
  const CoordinatorRecord record = offset_record("g", kPartition, &committed);
  EXPECT_EQ(coordinator.apply(test_bytes("x"), std::nullopt), ErrorCode::corrupt_data);
  EXPECT_EQ(coordinator.apply(BytesView(record.key).first(5), *record.value), ErrorCode::corrupt_data);
  EXPECT_EQ(coordinator.apply(record.key, BytesView(*record.value).first(9)), ErrorCode::corrupt_data);
  EXPECT_TRUE(coordinator.durable_state() == DurableGroups());
}

TEST(GroupCoordinator, GroupsAreListedByNameWithStateAndType) {
  TestCoordinator test;
  test.commit("simple", {}, kPartition, 5);
  form_group(test, "consumers", {joining("consumers", "m1")});
  test.commit("consumers", {"m1", {}, 1}, kPartition, 5);
  test.join(joining("forming", "m2"));
  const auto listed = test.list();
  ASSERT_EQ(listed.size(), 3);
  EXPECT_EQ(listed[0].group_id, "consumers");
  EXPECT_EQ(listed[0].state, "Stable");
  EXPECT_EQ(listed[0].protocol_type, "consumer");
  EXPECT_EQ(listed[0].type, "classic");
  EXPECT_EQ(listed[1].state, "PreparingRebalance");
  EXPECT_EQ(listed[2].state, "Empty");
  EXPECT_EQ(listed[2].protocol_type, "");
}

TEST(GroupCoordinator, GroupsAreListedPageByPageOfWhateverKindTheyAre) {
  TestCoordinator test;
  const auto name = [](int i) { return "g" + std::string(1, static_cast<char>('a' + i)); };
  for (int i = 0; i < 9; ++i) test.commit(name(i), {}, kPartition, 5);
  for (int i = 0; i < 9; i += 2) form_group(test, name(i), {joining(name(i), "m1")});
  const auto all = test.list();
  ASSERT_EQ(all.size(), 9);
  for (const size_t max : {1, 2, 3, 4, 9, 10}) {
    std::vector<std::string> listed;
    for (ListGroups page{.max = max};;) {
      const auto groups = test.list(page);
      for (const ListedGroup& group : groups) listed.push_back(group.group_id + group.state);
      EXPECT_LE(groups.size(), max);
      if (groups.size() < max) break;
      page.after = groups.back().group_id;
    }
    ASSERT_EQ(listed.size(), all.size()) << max;
    for (size_t i = 0; i < all.size(); ++i) EXPECT_EQ(listed[i], all[i].group_id + all[i].state) << max;
  }
}

TEST(GroupCoordinator, ADescriptionHasAssignmentsOnlyWhileNobodyIsChangingThem) {
  TestCoordinator test;
  form_group(test, "g", {joining_as("g", "m1", "one")});
  const WallTimeMs stable_since = test.time.wall_ms;
  test.advance(1s);
  DescribedGroup group = test.describe("g");
  EXPECT_EQ(group.error, ErrorCode::none);
  EXPECT_EQ(group.protocol, "range");
  EXPECT_EQ(group.state_since, stable_since);
  ASSERT_EQ(group.members.size(), 1);
  EXPECT_EQ(group.members[0].instance_id, "one");
  EXPECT_EQ(group.members[0].client_id, "client");
  EXPECT_EQ(group.members[0].client_host, "/127.0.0.1");
  EXPECT_EQ(group.members[0].metadata, test_bytes("metadata of m1"));
  EXPECT_EQ(group.members[0].assignment, test_bytes("assignment of m1"));

  test.join(joining("g", "m2"));
  group = test.describe("g");
  EXPECT_EQ(group.state, "PreparingRebalance");
  EXPECT_EQ(group.state_since, test.time.wall_ms);
  EXPECT_EQ(group.protocol, "");
  EXPECT_TRUE(group.members[0].assignment.empty());
  EXPECT_TRUE(group.members[0].metadata.empty());
}

TEST(GroupCoordinator, AnUnknownGroupIsDead) {
  TestCoordinator test;
  const DescribedGroup group = test.describe("g");
  EXPECT_EQ(group.error, ErrorCode::group_id_not_found);
  EXPECT_EQ(group.state, "Dead");
  EXPECT_EQ(group.group_id, "g");
}

TEST(GroupCoordinator, OnlyGroupsWithoutMembersAreDeletedWithAllTheyHave) {
  TestCoordinator test;
  EXPECT_EQ(test.delete_group("g"), ErrorCode::group_id_not_found);
  form_group(test, "g", {joining("g", "m1")});
  test.commit("g", {"m1", {}, 1}, kPartition, 5);
  EXPECT_EQ(test.delete_group("g"), ErrorCode::non_empty_group);
  test.leave("g", {{"m1"}});
  EXPECT_EQ(test.delete_group("g"), ErrorCode::none);
  EXPECT_TRUE(test.coordinator->durable_state() == DurableGroups());
  EXPECT_EQ(test.describe("g").error, ErrorCode::group_id_not_found);
  test.restart();
  EXPECT_TRUE(test.list().empty());
  test.commit("simple", {}, kPartition, 5);
  EXPECT_EQ(test.delete_group("simple"), ErrorCode::none);
  EXPECT_TRUE(test.list().empty());
}

TEST(GroupCoordinator, AGroupThatIsDeletedWhileSomebodyWasSentAwayForHisIdIsGone) {
  TestCoordinator test;
  JoinGroup request = joining("g", "m1");
  request.must_come_back_with_id = true;
  test.join(request);
  EXPECT_EQ(test.delete_group("g"), ErrorCode::none);
  EXPECT_EQ(test.join(rejoining("g", "m1")).value().error, ErrorCode::unknown_member_id);
  test.advance(1h);
}

TEST(GroupCoordinator, AHeartbeatSetsNoTimer) {
  TestCoordinator test;
  form_group(test, "g", {joining("g", "m1")});
  const auto deadline = test.coordinator->next_deadline();
  test.time.now += 3s;
  test.heartbeat("g", {"m1", {}, 1});
  EXPECT_EQ(test.coordinator->next_deadline(), deadline);
}

TEST(GroupCoordinator, GroupsDoNotDisturbEachOther) {
  TestCoordinator test;
  form_group(test, "g", {joining("g", "m1")});
  form_group(test, "h", {joining("h", "m1")});
  test.heartbeat("g", {"m1", {}, 1});
  test.leave("g", {{"m1"}});
  EXPECT_EQ(test.heartbeat("h", {"m1", {}, 1}), ErrorCode::none);
  test.delete_group("g");
  EXPECT_EQ(test.describe("h").state, "Stable");
}

}  // namespace
}  // namespace naru
