#include "consumer_groups/offsets/offset_expiry.h"

#include <set>

#include <gtest/gtest.h>

#include "consumer_groups/consumer_protocol/consumer_group_records.h"
#include "consumer_groups/group_testing.h"

namespace naru {
namespace {

constexpr auto kDay = 24h;
const GroupPartition kRead{"t", PartitionIndex(0)};

class TestLogs final : public UnreadRecords {
 public:
  bool has_unread(const GroupPartition& partition, const CommittedOffset&) const override {
    return unread.contains(partition);
  }
  bool topic_exists(std::string_view topic, const CommittedOffset& committed) const override {
    return !gone.contains(topic) && committed.belongs_to(today);
  }

  std::set<GroupPartition> unread;
  std::set<std::string, std::less<>> gone;
  Uuid today{1, 2};  // the id of every topic
};

TEST(OffsetExpiry, ASimpleGroupsOffsetsExpireFromTheirCommit) {
  TestCoordinator test;
  const TestLogs logs;
  test.commit("g", {}, kRead, 5);
  test.advance(30 * kDay - 1ms);
  test.expire_offsets(logs);
  EXPECT_EQ(test.committed("g", kRead), 5);
  test.advance(1ms);
  test.expire_offsets(logs);
  EXPECT_EQ(test.committed("g", kRead), -1);
  EXPECT_TRUE(test.list().empty());
}

TEST(OffsetExpiry, NothingExpiresWhileTheGroupHasMembers) {
  const TestLogs logs;
  TestCoordinator test({.session_timeout_max = Milliseconds(50 * kDay)});
  JoinGroup patient = joining("g", "m1");
  patient.session_timeout = 50 * kDay;
  form_group(test, "g", {patient});
  test.commit("g", {"m1", {}, 1}, kRead, 5);
  test.advance(40 * kDay);
  test.expire_offsets(logs);
  EXPECT_EQ(test.committed("g", kRead), 5);
}

TEST(OffsetExpiry, AGroupsOffsetsExpireFromWhenItBecameEmpty) {
  TestCoordinator test;
  const TestLogs logs;
  form_group(test, "g", {joining("g", "m1")});
  test.commit("g", {"m1", {}, 1}, kRead, 5);
  test.advance(9s);
  test.leave("g", {{"m1"}});
  test.advance(30 * kDay - 1ms);
  test.restart();
  test.expire_offsets(logs);
  EXPECT_EQ(test.committed("g", kRead), 5);
  test.advance(1ms);
  test.expire_offsets(logs);
  EXPECT_EQ(test.committed("g", kRead), -1);
  EXPECT_TRUE(test.coordinator->durable_state() == DurableGroups());
}

// A group of the consumer protocol whose only member has committed and left.
void leave_consumer_group(TestCoordinator& test) {
  const auto beat = [&](ConsumerHeartbeat request) {
    request.group_id = "g";
    request.member_id = "m1";
    return test
        .ask<ConsumerHeartbeatAnswer>([&](auto reply, auto& outcome) {
          test.coordinator->consumer_heartbeat(std::move(request), std::move(reply), test.time, outcome);
        })
        .value();
  };
  CoordinatorOutcome outcome;
  test.coordinator->metadata_changed(
      std::make_shared<const SubscribableTopics>(1, std::vector<SubscribableTopic>{{"t", Uuid{1, 1}, 1}}), test.time,
      outcome);
  const auto joined =
      beat({.rebalance_timeout = 60s, .subscribed_topics = {{"t"}}, .owned = std::vector<TopicIdPartition>()});
  EXPECT_EQ(joined.error, ErrorCode::none);
  test.commit({.group_id = "g",
               .member = {.member_id = "m1", .generation = joined.member_epoch},
               .knows_member_epochs = true,
               .entries = {{.partition = kRead, .offset = Offset(5)}}});
  test.advance(9s);
  EXPECT_EQ(beat({.member_epoch = kLeaveEpoch}).error, ErrorCode::none);
}

TEST(OffsetExpiry, AGroupOfTheConsumerProtocolRemembersWhenItBecameEmpty) {
  TestCoordinator test;
  const TestLogs logs;
  leave_consumer_group(test);
  test.advance(20 * kDay);
  test.restart();
  test.advance(10 * kDay - 1ms);
  test.expire_offsets(logs);
  EXPECT_EQ(test.committed("g", kRead), 5);
  test.advance(1ms);
  test.expire_offsets(logs);
  EXPECT_EQ(test.committed("g", kRead), -1);
  EXPECT_TRUE(test.list().empty());
}

TEST(OffsetExpiry, AGroupWhoseRecordsDoNotTellWhenItBecameEmptyCountsFromLoading) {
  TestCoordinator test;
  const TestLogs logs;
  leave_consumer_group(test);
  test.log.push_back(group_epoch_record("g", ConsumerGroupEpoch{.epoch = 7}));  // as another broker writes it
  test.advance(20 * kDay);
  test.restart();
  test.advance(30 * kDay - 1ms);
  test.expire_offsets(logs);
  EXPECT_EQ(test.committed("g", kRead), 5);
  test.advance(1ms);
  test.expire_offsets(logs);
  EXPECT_EQ(test.committed("g", kRead), -1);
}

TEST(OffsetExpiry, WhatIsSetInAnEmptyGroupCountsFromThen) {
  TestCoordinator test;
  const TestLogs logs;
  form_group(test, "g", {joining("g", "m1")});
  test.leave("g", {{"m1"}});
  test.advance(29 * kDay);
  test.commit("g", {}, kRead, 5);
  test.advance(29 * kDay);
  test.expire_offsets(logs);
  EXPECT_EQ(test.committed("g", kRead), 5);
}

TEST(OffsetExpiry, NothingExpiresWhileThereIsSomethingToRead) {
  TestCoordinator test;
  TestLogs logs;
  const GroupPartition other{"t", PartitionIndex(1)};
  logs.unread = {kRead};
  test.commit("g", {}, kRead, 5);
  test.commit("g", {}, other, 6);
  CommitOffsets request{
      .group_id = "old client", .retention = 1ms, .entries = {{.partition = kRead, .offset = Offset(1)}}};
  test.commit(request);
  test.advance(100 * kDay);
  test.expire_offsets(logs);
  EXPECT_EQ(test.committed("g", kRead), 5);
  EXPECT_EQ(test.committed("g", other), -1);
  EXPECT_EQ(test.committed("old client", kRead), 1);
  logs.unread.clear();
  test.expire_offsets(logs);
  EXPECT_EQ(test.committed("g", kRead), -1);
  EXPECT_EQ(test.committed("old client", kRead), -1);
}

TEST(OffsetExpiry, WhatAnOldClientAskedForItselfHolds) {
  TestCoordinator test;
  const TestLogs logs;
  test.commit({.group_id = "short", .retention = 1h, .entries = {{.partition = kRead, .offset = Offset(1)}}});
  test.commit({.group_id = "long", .retention = 60 * kDay, .entries = {{.partition = kRead, .offset = Offset(1)}}});
  test.advance(1h);
  test.expire_offsets(logs);
  EXPECT_EQ(test.committed("short", kRead), -1);
  test.advance(50 * kDay);
  test.expire_offsets(logs);
  EXPECT_EQ(test.committed("long", kRead), 1);
}

TEST(OffsetExpiry, OffsetsOfTopicsThatAreGoneGoEvenWhileTheGroupIsActive) {
  TestCoordinator test;
  TestLogs logs;
  logs.gone = {"t"};
  form_group(test, "g", {joining("g", "m1")});
  test.commit("g", {"m1", {}, 1}, kRead, 5);
  test.commit("g", {"m1", {}, 1}, {"u", PartitionIndex(0)}, 6);
  test.expire_offsets(logs);
  EXPECT_EQ(test.committed("g", kRead), -1);
  EXPECT_EQ(test.committed("g", {"u", PartitionIndex(0)}), 6);
}

TEST(OffsetExpiry, OffsetsOfAFormerTopicOfTheSameNameGo) {
  TestCoordinator test;
  const TestLogs logs;
  CommitOffsets request{.group_id = "g"};
  request.entries = {{.partition = {"t", PartitionIndex(0)}, .topic_id = Uuid{1, 1}, .offset = Offset(100)},
                     {.partition = {"t", PartitionIndex(1)}, .topic_id = Uuid{1, 2}, .offset = Offset(5)},
                     {.partition = {"t", PartitionIndex(2)}, .topic_id = Uuid{}, .offset = Offset(6)}};
  test.commit(request);
  test.expire_offsets(logs);
  EXPECT_EQ(test.committed("g", {"t", PartitionIndex(0)}), -1);
  EXPECT_EQ(test.committed("g", {"t", PartitionIndex(1)}), 5);
  EXPECT_EQ(test.committed("g", {"t", PartitionIndex(2)}), 6) << "of which nobody knows better";
}

TEST(OffsetExpiry, AClockThatIsSetForwardCostsNobodyHisOffsets) {
  TestCoordinator test;
  const TestLogs logs;
  test.commit("g", {}, kRead, 5);
  test.time.wall_ms += Milliseconds(365 * kDay).count();
  test.expire_offsets(logs);
  EXPECT_EQ(test.committed("g", kRead), 5);
  test.advance(30 * kDay);
  test.expire_offsets(logs);
  EXPECT_EQ(test.committed("g", kRead), -1);
}

TEST(OffsetExpiry, AClockThatIsSetBackMakesOffsetsStayLonger) {
  TestCoordinator test;
  const TestLogs logs;
  test.commit("g", {}, kRead, 5);
  test.time.wall_ms -= Milliseconds(365 * kDay).count();
  test.advance(30 * kDay);
  test.expire_offsets(logs);
  EXPECT_EQ(test.committed("g", kRead), 5);
}

TEST(OffsetExpiry, EmptyGroupsWithoutOffsetsAreRemovedAndThoseWithMembersAreNot) {
  TestCoordinator test;
  const TestLogs logs;
  form_group(test, "left", {joining("left", "m1")});
  test.leave("left", {{"m1"}});
  form_group(test, "alive", {joining("alive", "m2")});
  const auto joining_now = test.join(joining("new", "m3"));
  test.expire_offsets(logs);
  const auto listed = test.list();
  ASSERT_EQ(listed.size(), 2);
  EXPECT_EQ(listed[0].group_id, "alive");
  EXPECT_EQ(listed[1].group_id, "new");
  EXPECT_EQ(test.coordinator->durable_state().groups.size(), 1);
}

}  // namespace
}  // namespace naru
