#include "command_line/group_reconciliation.h"

#include <gtest/gtest.h>

namespace naru::command_line {
namespace {

using client::GroupDescription;
using client::GroupMember;
using client::TopicPartition;

std::vector<TopicPartition> of_orders(const std::vector<int32_t>& indexes) {
  std::vector<TopicPartition> partitions;
  for (const int32_t index : indexes) partitions.push_back({"orders", PartitionIndex(index)});
  return partitions;
}

GroupMember member_in(std::string id, int32_t epoch, const std::vector<int32_t>& has,
                      const std::vector<int32_t>& target) {
  return {.id = std::move(id),
          .client_id = "app",
          .host = "10.0.0.7",
          .topics = {"orders"},
          .partitions = of_orders(has),
          .target = of_orders(target),
          .epoch = epoch};
}

// In epoch 5, with an assignment for it.
GroupFacts reconciling(std::vector<GroupMember> members) {
  return {.group = {.id = "g",
                    .type = client::kConsumerGroupType,
                    .state = "Reconciling",
                    .protocol_type = "consumer",
                    .protocol = "uniform",
                    .members = std::move(members),
                    .epoch = 5,
                    .assignment_epoch = 5},
          .now = 1'700'000'100'000};
}

TEST(GroupReconciliation, AMemberThatHasNotHeardOfTheAssignmentHasToGiveUpPartitions) {
  const GroupFacts facts = reconciling({member_in("m1", 4, {0, 1, 2}, {0}), member_in("m2", 5, {}, {1, 2})});
  EXPECT_FALSE(is_worth_watching(facts));
  const Reason reason = explain(facts);
  EXPECT_EQ(reason.word, "rebalancing");
  EXPECT_EQ(reason.sentence,
            "group g is rebalancing, waiting for member m1 (client app, host 10.0.0.7) to give up orders 1,2");
  ASSERT_EQ(reason.evidence.size(), 2u);
  EXPECT_EQ(reason.evidence[0], "m2 (client app, host 10.0.0.7) waits for orders 1,2");
  EXPECT_TRUE(reason.evidence[1].starts_with("a member that gives nothing up is dropped")) << reason.evidence[1];
}

TEST(GroupReconciliation, AMemberThatHoldsOnIsSeenByItsEpoch) {
  const Reason reason = explain(reconciling({member_in("m1", 4, {0}, {0}), member_in("m2", 5, {}, {1})}));
  EXPECT_EQ(reason.sentence,
            "group g is rebalancing, waiting for member m1 (client app, host 10.0.0.7) to reach epoch 5 (it is in "
            "epoch 4)");
}

TEST(GroupReconciliation, ANaruBrokerTellsSinceWhenAndWhatAMemberHoldsOnTo) {
  GroupFacts facts = reconciling({member_in("m1", 4, {0}, {0}), member_in("m2", 5, {}, {1})});
  facts.group.members[0].pending_revocation = of_orders({1});
  facts.group.state_since = facts.now - 48'000;
  EXPECT_EQ(
      explain(facts).sentence,
      "group g has been rebalancing for 48 s (since 2023-11-14T22:14:12.000Z), waiting for member m1 (client app, "
      "host 10.0.0.7) to give up orders 1");
  facts.group.members[0].partitions = of_orders({0, 2});
  EXPECT_TRUE(explain(facts).sentence.ends_with("to give up orders 1,2")) << "of 2 it has not heard yet";
}

TEST(GroupReconciliation, SeveralLateMembersAreListed) {
  std::vector<GroupMember> members{member_in("a", 4, {0, 1}, {0})};
  for (const char* id : {"b", "c", "d", "e"}) members.push_back(member_in(id, 3, {}, {}));
  members.push_back(member_in("f", 5, {7}, {7}));
  const Reason reason = explain(reconciling(std::move(members)));
  EXPECT_EQ(reason.sentence, "group g is rebalancing, waiting for 5 of 6 members to reach epoch 5");
  EXPECT_EQ(reason.evidence.at(0), "a (client app, host 10.0.0.7) is in epoch 4 and has to give up orders 1");
  EXPECT_EQ(reason.evidence.at(1), "b (client app, host 10.0.0.7) is in epoch 3");
  EXPECT_EQ(reason.evidence.at(3), "and 2 more members");
}

TEST(GroupReconciliation, WhatIsFreeIsFetched) {
  EXPECT_EQ(explain(reconciling({member_in("m1", 5, {0}, {0}), member_in("m2", 5, {}, {1})})).sentence,
            "group g is rebalancing, waiting for member m2 (client app, host 10.0.0.7) to fetch orders 1 with its next "
            "heartbeat");
  const Reason both = explain(reconciling({member_in("m1", 5, {}, {0}), member_in("m2", 5, {}, {1})}));
  EXPECT_EQ(both.sentence,
            "group g is rebalancing, waiting for 2 members to fetch partitions with their next heartbeats");
  EXPECT_EQ(both.evidence.at(1), "m2 (client app, host 10.0.0.7) is to have orders 1");
}

TEST(GroupReconciliation, AnAssignmentThatIsNotMadeYet) {
  GroupFacts facts = reconciling({member_in("m1", 5, {0}, {0})});
  facts.group.state = "Assigning";
  facts.group.epoch = 6;
  EXPECT_EQ(explain(facts).sentence,
            "group g is rebalancing, waiting for its coordinator to assign partitions for epoch 6 (members have those "
            "of epoch 5)");
}

TEST(GroupReconciliation, WhenNothingIsToBeSeen) {
  EXPECT_EQ(explain(reconciling({member_in("m1", 5, {0}, {0})})).sentence,
            "group g is rebalancing, waiting for the next heartbeats of its members");
}

TEST(GroupReconciliation, StableOnesAreExplainedAsClassicOnes) {
  GroupFacts facts = reconciling({member_in("m1", 5, {0}, {0})});
  facts.group.state = "Stable";
  EXPECT_EQ(explain(facts).word, "no_offsets");
  facts.group.members.clear();
  facts.group.state = "Empty";
  EXPECT_EQ(explain(facts).sentence, "group g has no members; it has no committed offsets either");
}

TEST(GroupReconciliation, NamesFromAClientAreMadePrintable) {
  GroupFacts facts = reconciling({member_in("\x1b[2J", 4, {0, 1}, {0}), member_in("m2", 5, {}, {1})});
  facts.group.id = "\x1b[31m";
  facts.group.members[0].partitions[1].topic = "\x1b[0m";
  EXPECT_EQ(explain(facts).sentence.find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace naru::command_line
