// Shows anomalies to the checker of groups, and expects it to object.
#include "simulation/group_history.h"

#include <gtest/gtest.h>

namespace naru::simulation {
namespace {

const PartitionName kGroupPartition{"t", PartitionIndex(0)};
const GroupHistory::Claim kFirstMember{"g", "first", 1};

class GroupHistoryTest : public testing::Test {
 protected:
  void commits(const GroupHistory::Claim& claim, int64_t offset) {
    const auto known = history.known(claim, kGroupPartition);
    history.commit_sent(claim, kGroupPartition, Offset(offset));
    history.commit_acknowledged(claim, kGroupPartition, Offset(offset), known);
  }
  std::string violation() const { return history.violation().value_or(""); }

  GroupHistory history;
};

TEST_F(GroupHistoryTest, HasNothingToSayAboutAnOwnerThatCommits) {
  history.assigned(kFirstMember, kGroupPartition);
  commits(kFirstMember, 5);
  history.fetched("g", kGroupPartition, Offset(5), history.known(kFirstMember, kGroupPartition));
  EXPECT_EQ(violation(), "");
}

TEST_F(GroupHistoryTest, ObjectsToACommitOfAFormerOwner) {
  history.assigned(kFirstMember, kGroupPartition);
  history.assigned({"g", "second", 1}, kGroupPartition);
  commits(kFirstMember, 5);
  EXPECT_EQ(violation(), "first committed 5 in t-0, although second had taken it over in generation 1");
}

TEST_F(GroupHistoryTest, ObjectsToAPartitionThatTwoHaveInOneGeneration) {
  history.assigned({"g", "first", 2}, kGroupPartition);
  commits({"g", "first", 2}, 5);  // from now on the group is not forgotten
  history.assigned({"g", "first", 2}, kGroupPartition);
  history.assigned({"g", "first", 3}, kGroupPartition);
  EXPECT_EQ(violation(), "");
  history.assigned({"g", "second", 3}, kGroupPartition);
  EXPECT_EQ(violation(), "second got t-0 in generation 3, although first has it");
}

// The second answer of the later group comes when the first member has committed already.
TEST_F(GroupHistoryTest, AGroupThatWasForgottenMayGiveAPartitionToAnotherInTheSameGeneration) {
  const PartitionName other{"t", PartitionIndex(1)};
  history.assigned(kFirstMember, kGroupPartition);
  history.assigned({"g", "second", 1}, other);
  const auto known = history.known({"g", "second", 1}, other);
  history.commit_sent({"g", "second", 1}, other, Offset(5));
  history.commit_acknowledged({"g", "second", 1}, other, Offset(5), known);
  history.assigned({"g", "third", 1}, kGroupPartition);
  EXPECT_EQ(violation(), "");
  history.assigned({"g", "fourth", 1}, kGroupPartition);
  EXPECT_EQ(violation(), "fourth got t-0 in generation 1, although third has it");
}

TEST_F(GroupHistoryTest, LetsAStaticMemberComeBackUnderAnotherId) {
  history.assigned({"g", "first", 2, false, "instance"}, kGroupPartition);
  history.assigned({"g", "second", 2, false, "instance"}, kGroupPartition);
  EXPECT_EQ(violation(), "");
}

TEST_F(GroupHistoryTest, ObjectsToACommitOfAFormerGeneration) {
  history.assigned(kFirstMember, kGroupPartition);
  history.assigned({"g", "first", 2}, kGroupPartition);
  commits(kFirstMember, 5);
  EXPECT_EQ(violation(), "first committed 5 in t-0 as of generation 1, although generation 2 had been assigned");
}

TEST_F(GroupHistoryTest, ObjectsToACommitOfAMembersOwnPast) {
  GroupHistory::Claim claim{"g", "first", 0};
  history.assigned(claim, kGroupPartition);
  claim.is_past = true;
  commits(claim, 5);
  EXPECT_EQ(violation(), "first committed 5 in t-0 as of a generation before its own");
}

TEST_F(GroupHistoryTest, ObjectsToOffsetsThatGoBackOrThatNobodySent) {
  history.assigned(kFirstMember, kGroupPartition);
  commits(kFirstMember, 5);
  history.fetched("g", kGroupPartition, Offset(4), history.known(kFirstMember, kGroupPartition));
  EXPECT_EQ(violation(), "the offset of g in t-0 went back from 5 to 4");
  GroupHistory other;
  other.fetched("g", kGroupPartition, Offset(1), {});
  EXPECT_EQ(other.violation().value_or(""), "g is at 1 in t-0, and nobody has committed more than -1");
}

TEST_F(GroupHistoryTest, CountsChangesOfTheProtocol) {
  using enum GroupHistory::Protocol;
  for (const auto protocol : {classic, classic, consumer, consumer, classic}) history.seen_as("g", protocol);
  EXPECT_EQ(history.conversions(), 2U);
}

TEST_F(GroupHistoryTest, OfAnswersThatWereOnTheirWayTogetherEitherMayBeTheLast) {
  GroupHistory::Claim late{.group = "g", .member = "late", .generation = 0, .asked_at = history.moment()};
  const GroupHistory::Claim first{.group = "g", .member = "first", .generation = 0, .asked_at = history.moment()};
  history.assigned(first, kGroupPartition);
  history.assigned(late, kGroupPartition);
  commits(first, 5);
  commits(late, 6);
  EXPECT_FALSE(history.violation());
  late.asked_at = history.moment();
  history.assigned(late, kGroupPartition);
  history.assigned({.group = "g", .member = "third", .generation = 0, .asked_at = history.moment()}, kGroupPartition);
  commits(late, 7);
  EXPECT_TRUE(history.violation());
}

}  // namespace
}  // namespace naru::simulation
