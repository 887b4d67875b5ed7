// Counts what is done in one step: requests of others come between two of them.
#include "consumer_groups/offsets/offset_sweeps.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "consumer_groups/group_coordinator.h"
#include "consumer_groups/group_records.h"
#include "foundation/request_canary_testing.h"

namespace naru {
namespace {

const Uuid kSweptTopic{1, 1};
const std::vector<FormerTopic> kSweptTopics{{"t", kSweptTopic}};

class OffsetSweepsTest : public testing::Test {
 protected:
  ~OffsetSweepsTest() override { plant(RequestCanary::none); }

  void commit(const std::string& group_id, const std::string& topic, int32_t partition,
              const Uuid& topic_id = kSweptTopic) {
    const CommittedOffset committed{.offset = Offset(1), .committed_at = 1, .topic_id = topic_id};
    const CoordinatorRecord record = offset_record(group_id, {topic, PartitionIndex(partition)}, &committed);
    ASSERT_TRUE(coordinator.apply(record.key, BytesView(*record.value)).ok());
  }
  void commit_pending(const std::string& group_id, int32_t partition, ProducerId producer) {
    const CommittedOffset committed{.offset = Offset(1), .committed_at = 1, .topic_id = kSweptTopic};
    const CoordinatorRecord record = pending_offset_record(group_id, {"t", PartitionIndex(partition)}, committed, {});
    ASSERT_TRUE(coordinator.apply_pending({producer, ProducerEpoch(0)}, record.key, BytesView(*record.value)).ok());
  }
  size_t offsets() const {
    size_t count = 0;
    for (const auto& [group_id, of_group] : coordinator.durable_state().offsets) count += of_group.size();
    return count;
  }
  // Records of each step.
  template <class Step>
  std::vector<size_t> run(Step step) {
    std::vector<size_t> records;
    for (bool more = true; more;) {
      CoordinatorOutcome outcome;
      more = step(outcome);
      records.push_back(outcome.records.size());
      EXPECT_LE(outcome.cuts.size(), outcome.records.size() + 1);
    }
    return records;
  }
  std::vector<size_t> remove(std::vector<FormerTopic> topics = kSweptTopics) {
    TopicRemoval removal(std::move(topics));
    return run([&](CoordinatorOutcome& outcome) { return coordinator.topics_deleted(removal, time, outcome); });
  }

  CoordinatorTime time{.now = MonotonicTime{}, .wall_ms = 1'000};
  GroupCoordinator coordinator{GroupSettings{}};
};

TEST_F(OffsetSweepsTest, ADeletedTopicIsForgottenByManyGroupsInManySteps) {
  constexpr int kGroups = 3500;
  for (int i = 0; i < kGroups; ++i) commit(fmt::format("g{}", i), "t", 0);
  commit("other", "u", 0);
  const auto records = remove();
  EXPECT_LE(std::ranges::max(records), kOffsetsPerStep);
  EXPECT_EQ(std::accumulate(records.begin(), records.end(), size_t{0}), size_t{kGroups});
  EXPECT_EQ(offsets(), 1U);
}

TEST_F(OffsetSweepsTest, SoDoesAGroupThatHasReadManyPartitionsOfIt) {
  for (int i = 0; i < 2500; ++i) commit("g", "t", i);
  const auto records = remove();
  EXPECT_LE(std::ranges::max(records), kOffsetsPerStep);
  EXPECT_EQ(offsets(), 0U);
}

TEST_F(OffsetSweepsTest, OffsetsForOtherTopicsAreNotLookedAtOneByOne) {
  for (int i = 0; i < 20'000; ++i) commit("g", fmt::format("t{}", i % 10), i / 10);
  commit("g", "t5b", 0);
  EXPECT_LE(remove({{"t5b", kSweptTopic}, {"unknown", kSweptTopic}}).size(), 3U);
  EXPECT_EQ(offsets(), 20'000U);
}

TEST_F(OffsetSweepsTest, WhatIsPendingForADeletedTopicGoesInSteps) {
  for (int i = 0; i < 2500; ++i) commit_pending(fmt::format("g{}", i), 0, ProducerId(i % 7));
  for (int i = 0; i < 10; ++i) commit(fmt::format("g{}", i), "t", 0);
  const auto records = remove();
  EXPECT_LE(std::ranges::max(records), kOffsetsPerStep);
  EXPECT_TRUE(coordinator.durable_state().pending.all().empty());
  EXPECT_EQ(offsets(), 0U);
}

TEST_F(OffsetSweepsTest, WhatIsCommittedBetweenTwoStepsForTheNextTopicOfTheNameStays) {
  for (int i = 0; i < 1500; ++i) commit(fmt::format("g{:04}", i), "t", 0);
  TopicRemoval removal(kSweptTopics);
  CoordinatorOutcome outcome;
  ASSERT_TRUE(coordinator.topics_deleted(removal, time, outcome));
  const Uuid next{1, 2};
  commit("g0000", "t", 0, next);
  commit("g1400", "t", 0, next);
  while (coordinator.topics_deleted(removal, time, outcome)) {
  }
  EXPECT_EQ(offsets(), 2U);
}

TEST_F(OffsetSweepsTest, TwoTopicsOfOneNameMayHaveGone) {
  const Uuid second{1, 2};
  commit("g", "t", 0, kSweptTopic);
  commit("g", "t", 1, second);
  commit("g", "t", 2, Uuid{1, 3});
  remove({{"t", second}, {"t", kSweptTopic}});
  EXPECT_EQ(offsets(), 1U);
}

TEST_F(OffsetSweepsTest, ForgettingAtOnceIsNoticed) {
  for (int i = 0; i < 3500; ++i) commit(fmt::format("g{}", i), "t", 0);
  plant(RequestCanary::offsets_in_one_step);
  EXPECT_GT(std::ranges::max(remove()), kOffsetsPerStep);
}

class NothingIsThere final : public UnreadRecords {
 public:
  bool has_unread(const GroupPartition&, const CommittedOffset&) const override { return false; }
  bool topic_exists(std::string_view topic, const CommittedOffset&) const override { return topic != "t"; }
};

TEST_F(OffsetSweepsTest, OffsetsExpireInSteps) {
  for (int i = 0; i < 2500; ++i) commit(fmt::format("g{}", i), "t", 0);
  for (int i = 0; i < 2500; ++i) commit("large", "t", i);
  commit("kept", "u", 0);
  coordinator.loaded(time);
  GroupExpiry expiry;
  const auto records = run(
      [&](CoordinatorOutcome& outcome) { return coordinator.expire_offsets(expiry, NothingIsThere(), time, outcome); });
  EXPECT_LE(std::ranges::max(records), kOffsetsPerStep);
  EXPECT_EQ(offsets(), 1U);
}

TEST_F(OffsetSweepsTest, GroupsWithoutOffsetsAndMembersGoInSteps) {
  for (int i = 0; i < 2500; ++i) {
    const StoredGroup empty{.protocol_type = "consumer", .generation = 1, .state_since = 1};
    const CoordinatorRecord record = group_record(fmt::format("g{}", i), &empty);
    ASSERT_TRUE(coordinator.apply(record.key, BytesView(*record.value)).ok());
  }
  commit("g7", "u", 0);
  coordinator.loaded(time);
  GroupExpiry expiry;
  const auto records = run(
      [&](CoordinatorOutcome& outcome) { return coordinator.expire_offsets(expiry, NothingIsThere(), time, outcome); });
  EXPECT_LE(std::ranges::max(records), kOffsetsPerStep);
  EXPECT_EQ(coordinator.durable_state().groups.size(), 1U);
}

}  // namespace
}  // namespace naru
