// Properties that hold for every group, on random groups.
#include <algorithm>
#include <cstddef>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "consumer_groups/consumer_protocol/assignors/assignor.h"
#include "consumer_groups/consumer_protocol/assignors/range_assignor.h"
#include "consumer_groups/consumer_protocol/assignors/uniform_assignor.h"

namespace naru {
namespace {

// A group whose parts an AssignorInput points to.
struct AssignorGroup {
  struct Member {
    std::string id;
    std::optional<std::string> instance_id;
    std::vector<uint32_t> topics;
    PartitionSet previous;
  };
  std::vector<AssignorTopic> topics;
  std::vector<Member> members;

  void add_topic(int32_t partitions) { topics.push_back({Uuid{7, topics.size() + 1}, partitions}); }
  void add_member(std::string id, std::vector<uint32_t> subscribed) {
    const auto place = std::ranges::lower_bound(members, id, {}, &Member::id);
    members.insert(place, {std::move(id), std::nullopt, std::move(subscribed), {}});
  }
  AssignorInput input() const {
    AssignorInput input{.topics = topics};
    for (const Member& member : members) {
      input.members.push_back({member.id, member.instance_id, member.topics, &member.previous});
    }
    return input;
  }
  void remember(const TargetAssignment& target) {
    for (size_t i = 0; i < members.size(); ++i) members[i].previous = target[i];
  }
};

std::vector<uint32_t> all_topics(const AssignorGroup& group) {
  std::vector<uint32_t> all(group.topics.size());
  for (uint32_t i = 0; i < all.size(); ++i) all[i] = i;
  return all;
}

AssignorGroup equal_group(int members, std::vector<int32_t> partitions) {
  AssignorGroup group;
  for (const int32_t count : partitions) group.add_topic(count);
  for (int i = 0; i < members; ++i) group.add_member(fmt::format("member-{:05}", i), all_topics(group));
  return group;
}

AssignorGroup random_group(std::mt19937_64& random) {
  AssignorGroup group;
  const size_t topics = 1 + random() % 6;
  for (size_t i = 0; i < topics; ++i) group.add_topic(static_cast<int32_t>(random() % 12));
  const size_t members = random() % 9;
  for (size_t i = 0; i < members; ++i) {
    std::vector<uint32_t> subscribed;
    for (uint32_t topic = 0; topic < topics; ++topic) {
      if (random() % 3 != 0) subscribed.push_back(topic);
    }
    group.add_member(fmt::format("member-{}", i), subscribed);
    // What an earlier target, or a damaged log, may say.
    for (size_t n = random() % 6; n > 0; --n) {
      group.members[i].previous.push_back(
          {Uuid{7, 1 + random() % (topics + 1)}, PartitionIndex(static_cast<int32_t>(random() % 14) - 1)});
    }
    group.members[i].previous = make_partition_set(std::move(group.members[i].previous));
  }
  return group;
}

void expect_every_partition_once(const AssignorGroup& group, const TargetAssignment& target) {
  std::map<TopicIdPartition, int> owners;
  for (size_t i = 0; i < group.members.size(); ++i) {
    EXPECT_TRUE(std::ranges::is_sorted(target[i]));
    for (const TopicIdPartition& partition : target[i]) {
      ++owners[partition];
      const uint32_t topic = static_cast<uint32_t>(partition.topic_id.low - 1);
      EXPECT_TRUE(std::ranges::binary_search(group.members[i].topics, topic)) << "not subscribed";
    }
  }
  size_t expected = 0;
  for (uint32_t topic = 0; topic < group.topics.size(); ++topic) {
    const bool subscribed =
        std::ranges::any_of(group.members, [&](const auto& m) { return std::ranges::binary_search(m.topics, topic); });
    for (int32_t p = 0; subscribed && p < group.topics[topic].partitions; ++p, ++expected) {
      EXPECT_EQ((owners[{group.topics[topic].id, PartitionIndex(p)}]), 1);
    }
  }
  EXPECT_EQ(owners.size(), expected);
}

// No partition could go to a subscriber that has at least two less than its owner.
void expect_no_move_helps(const AssignorGroup& group, const TargetAssignment& target) {
  for (size_t owner = 0; owner < group.members.size(); ++owner) {
    for (const TopicIdPartition& partition : target[owner]) {
      const uint32_t topic = static_cast<uint32_t>(partition.topic_id.low - 1);
      for (size_t other = 0; other < group.members.size(); ++other) {
        if (!std::ranges::binary_search(group.members[other].topics, topic)) continue;
        EXPECT_LE(target[owner].size(), target[other].size() + 1);
      }
    }
  }
}

size_t moved(const AssignorGroup& group, const TargetAssignment& target) {
  size_t kept = 0, before = 0;
  for (size_t i = 0; i < group.members.size(); ++i) {
    before += group.members[i].previous.size();
    kept += set_of_both(group.members[i].previous, target[i]).size();
  }
  return before - kept;
}

TEST(Assignors, GiveEveryPartitionOfASubscribedTopicToExactlyOneSubscriberAndAlwaysTheSame) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 3000 && !testing::Test::HasFailure(); ++round) {
    const AssignorGroup group = random_group(random);
    for (auto* assign : {&assign_uniformly, &assign_ranges}) {
      const TargetAssignment target = assign(group.input());
      expect_every_partition_once(group, target);
      EXPECT_EQ(target, assign(group.input()));
    }
  }
}

TEST(UniformAssignor, LeavesNoPartitionThatAPoorerSubscriberCouldTake) {
  std::mt19937_64 random(2);
  for (int round = 0; round < 3000 && !testing::Test::HasFailure(); ++round) {
    const AssignorGroup group = random_group(random);
    expect_no_move_helps(group, assign_uniformly(group.input()));
  }
}

TEST(UniformAssignor, ChangesNothingWhenNothingChanged) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 1000 && !testing::Test::HasFailure(); ++round) {
    AssignorGroup group = random_group(random);
    const TargetAssignment first = assign_uniformly(group.input());
    group.remember(first);
    EXPECT_EQ(assign_uniformly(group.input()), first);
  }
}

TEST(UniformAssignor, GivesANewMemberItsShareAndMovesNothingElse) {
  AssignorGroup group = equal_group(3, {6, 6});
  group.remember(assign_uniformly(group.input()));
  group.add_member("newcomer", all_topics(group));
  const TargetAssignment target = assign_uniformly(group.input());
  for (const PartitionSet& partitions : target) EXPECT_EQ(partitions.size(), 3U);
  EXPECT_EQ(moved(group, target), 3U);
}

TEST(UniformAssignor, GivesOnlyThePartitionsOfAMemberThatLeftToTheOthers) {
  AssignorGroup group = equal_group(4, {8, 4});
  group.remember(assign_uniformly(group.input()));
  group.members.erase(group.members.begin() + 1);
  const TargetAssignment target = assign_uniformly(group.input());
  for (const PartitionSet& partitions : target) EXPECT_EQ(partitions.size(), 4U);
  EXPECT_EQ(moved(group, target), 0U);
}

TEST(UniformAssignor, LeavesSomeIdleWhenThereAreMoreMembersThanPartitions) {
  const AssignorGroup group = equal_group(5, {3});
  size_t idle = 0;
  for (const PartitionSet& partitions : assign_uniformly(group.input())) idle += partitions.empty() ? 1 : 0;
  EXPECT_EQ(idle, 2U);
}

// Checked by the work that is done, not by the clock: a quadratic assignor would not come back.
TEST(Assignors, ServeThousandsOfMembers) {
  AssignorGroup group = equal_group(5000, {6000, 6000});
  const TargetAssignment target = assign_uniformly(group.input());
  expect_every_partition_once(group, target);
  for (const PartitionSet& partitions : target) EXPECT_LE(partitions.size(), 3U);
  group.remember(target);
  group.add_member("newcomer", all_topics(group));
  EXPECT_LE(moved(group, assign_uniformly(group.input())), 3U);
  expect_every_partition_once(group, assign_ranges(group.input()));
}

TEST(RangeAssignor, CutsEachTopicIntoRangesOfWhichTheFirstOnesAreLarger) {
  const AssignorGroup group = equal_group(3, {7});
  const TargetAssignment target = assign_ranges(group.input());
  EXPECT_EQ(target[0].size(), 3U);
  EXPECT_EQ(target[1].size(), 2U);
  EXPECT_EQ(target[1].front().partition, PartitionIndex(3));
  EXPECT_EQ(target[2].front().partition, PartitionIndex(5));
}

TEST(RangeAssignor, GivesEqualNumbersOfTopicsThatAreAlikeToTheSameMember) {
  const AssignorGroup group = equal_group(3, {7, 7});
  for (const PartitionSet& partitions : assign_ranges(group.input())) {
    std::map<PartitionIndex, int> numbers;
    for (const TopicIdPartition& partition : partitions) ++numbers[partition.partition];
    for (const auto& [number, count] : numbers) EXPECT_EQ(count, 2) << number.value();
  }
}

TEST(RangeAssignor, KnowsStaticMembersByTheirInstanceIdWhateverTheirMemberId) {
  AssignorGroup group = equal_group(3, {3});
  group.members[2].instance_id = "a";
  group.members[1].instance_id = "b";
  const TargetAssignment target = assign_ranges(group.input());
  EXPECT_EQ(target[2].front().partition, PartitionIndex(0));
  EXPECT_EQ(target[1].front().partition, PartitionIndex(1));
  EXPECT_EQ(target[0].front().partition, PartitionIndex(2));
}

}  // namespace
}  // namespace naru
