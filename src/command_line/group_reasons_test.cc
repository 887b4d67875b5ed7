#include "command_line/group_reasons.h"

#include <gtest/gtest.h>

namespace naru::command_line {
namespace {

using client::GroupMember;

constexpr WallTimeMs kNow = 1'700'000'100'000;

PartitionProgress partition_at(int32_t index, std::optional<int64_t> committed, int64_t start, int64_t end,
                               std::string owner = "m1") {
  PartitionProgress partition{.partition = {"orders", PartitionIndex(index)},
                              .bounds = {PartitionBounds::State::online, Offset(start), Offset(end)},
                              .owner = std::move(owner)};
  if (committed) partition.committed = Offset(*committed);
  return partition;
}

GroupMember member_of(std::string id, std::vector<int32_t> partitions) {
  GroupMember member{.id = std::move(id), .client_id = "app", .host = "10.0.0.7", .topics = {"orders"}};
  for (const int32_t index : partitions) member.partitions.push_back({"orders", PartitionIndex(index)});
  return member;
}

GroupFacts stable(std::vector<PartitionProgress> partitions) {
  return {.group = {.id = "g",
                    .type = "classic",
                    .state = "Stable",
                    .protocol_type = "consumer",
                    .protocol = "range",
                    .members = {member_of("m1", {0, 1})}},
          .partitions = std::move(partitions),
          .now = kNow};
}

TEST(GroupProgress, LagIsWhatIsThereAndNotRead) {
  EXPECT_EQ(partition_at(0, 3, 0, 10).lag(), 7);
  EXPECT_EQ(partition_at(0, 10, 0, 10).lag(), 0);
  EXPECT_EQ(partition_at(0, std::nullopt, 0, 10).lag(), std::nullopt);
  EXPECT_EQ(partition_at(0, 12, 0, 10).lag(), 0) << "beyond the end: a topic was made anew, say";
  EXPECT_EQ(partition_at(0, 3, 5, 10).lag(), 5) << "what retention took cannot be read";
  EXPECT_EQ(partition_at(0, 3, 5, 10).lost(), 2);
  EXPECT_EQ(partition_at(0, 5, 5, 10).lost(), 0);
  PartitionProgress gone = partition_at(0, 3, 0, 10);
  gone.bounds.state = PartitionBounds::State::missing;
  EXPECT_EQ(gone.lag(), std::nullopt);
  EXPECT_EQ(gone.lost(), 0);
}

TEST(GroupProgress, SecondsAreTheAgeOfTheOldestUnreadRecord) {
  PartitionProgress partition = partition_at(0, 3, 0, 10);
  EXPECT_EQ(partition.behind(kNow), std::nullopt) << "not known";
  partition.next_record_time = kNow - 2500;
  EXPECT_EQ(partition.behind(kNow), Duration(2500ms));
  partition.next_record_time = kNow + 1000;
  EXPECT_EQ(partition.behind(kNow), Duration::zero()) << "a clock that is ahead";
  EXPECT_EQ(partition_at(0, 10, 0, 10).behind(kNow), Duration::zero());
  EXPECT_EQ(partition_at(0, std::nullopt, 0, 10).behind(kNow), std::nullopt);
}

TEST(GroupProgress, TheTotalAddsRecordsAndTakesTheOldest) {
  PartitionProgress young = partition_at(0, 3, 0, 10), old = partition_at(1, 9, 0, 10);
  young.next_record_time = kNow - 1000;
  old.next_record_time = kNow - 9000;
  const Lag lag = total_lag({young, old, partition_at(2, std::nullopt, 0, 10)}, kNow);
  EXPECT_EQ(lag.records, 8);
  EXPECT_EQ(lag.behind, Duration(9s));
  EXPECT_EQ(total_lag({}, kNow).behind, std::nullopt);
  EXPECT_EQ(total_lag({partition_at(0, 10, 0, 10)}, kNow).behind, Duration::zero());
  EXPECT_EQ(total_lag({partition_at(0, 10, 0, 10), partition_at(1, 3, 0, 10)}, kNow).behind, std::nullopt)
      << "what is behind has a time that is not known";
}

TEST(GroupReasons, WithoutMembers) {
  GroupFacts facts = stable({partition_at(0, 3, 0, 10, "")});
  facts.group.members.clear();
  facts.group.state = "Empty";
  facts.group.state_since = kNow - 45'000;
  facts.partitions[0].next_record_time = kNow - 60'000;
  const Reason reason = explain(facts);
  EXPECT_EQ(reason.word, "no_members");
  EXPECT_EQ(
      reason.sentence,
      "group g has had no members for 45 s (since 2023-11-14T22:14:15.000Z); it is behind by 7 records (the oldest "
      "is 60 s old)");
  EXPECT_EQ(reason.evidence, std::vector<std::string>{"orders-0: 7 records behind"});
  facts.group.state_since = -1;
  facts.partitions = {partition_at(0, 10, 0, 10, "")};
  EXPECT_EQ(explain(facts).sentence, "group g has no members; it has read everything");
  facts.partitions.clear();
  EXPECT_EQ(explain(facts).sentence, "group g has no members; it has no committed offsets either");
  EXPECT_FALSE(is_worth_watching(facts));
}

GroupFacts waiting_for_a_transaction() {
  GroupFacts facts = stable({partition_at(0, 17, 0, 20)});
  facts.movement = Movement{.watched = 6s};
  const client::ListedTransaction listed{
      .id = "copier", .state = "Ongoing", .producer_id = ProducerId(4000), .coordinator = BrokerId(1)};
  const client::PartitionProducer producer{.producer = {ProducerId(4000), ProducerEpoch(3)},
                                           .last_timestamp = kNow - 90'000,
                                           .transaction_start = Offset(17)};
  facts.blocking = {{.open = {{"orders", PartitionIndex(0)}, producer, listed},
                     .description = client::TransactionDescription{.id = "copier",
                                                                   .state = "Ongoing",
                                                                   .producer = producer.producer,
                                                                   .timeout = 15min,
                                                                   .start = kNow - 180'000}}};
  return facts;
}

TEST(GroupReasons, AnOpenTransactionIsNamedWithItsProducerAndWhatToDo) {
  GroupFacts facts = waiting_for_a_transaction();
  const Reason reason = explain(facts);
  EXPECT_EQ(reason.word, "open-transaction");
  EXPECT_EQ(reason.sentence,
            "group g waits for an open transaction in orders-0: that of transactional id copier (producer 4000, epoch "
            "3), Ongoing for 3 min (since 2023-11-14T22:12:00.000Z), with a timeout of 15 min");
  EXPECT_EQ(reason.evidence, (std::vector<std::string>{
                                 "`naru txn describe copier` tells more, `naru txn abort copier` ends it and shuts "
                                 "its producer out",
                                 "it began at offset 17 of orders-0; its producer's last record there is 90 s old",
                                 "orders-0: 3 records behind, read by m1 (client app, host 10.0.0.7)"}));
  facts.blocking[0].open.known->state = facts.blocking[0].description->state = "PrepareCommit";
  EXPECT_EQ(explain(facts).evidence[0], "`naru txn describe copier` tells more") << "it cannot be aborted any more";
  facts.movement->records = 1;
  EXPECT_EQ(explain(facts).word, "moving") << "it waits, but never for long";
}

TEST(GroupReasons, AnOpenTransactionWithTheOffsetsOfTheGroupIsNamedAsWell) {
  GroupFacts facts = waiting_for_a_transaction();
  facts.blocking[0].has_offset = true;
  const Reason reason = explain(facts);
  EXPECT_EQ(reason.word, "open-transaction");
  EXPECT_TRUE(reason.sentence.starts_with(
      "group g waits for an open transaction that commits its offset of orders-0: that of transactional id copier ("))
      << reason.sentence;
  ASSERT_EQ(reason.evidence.size(), 3u);
  EXPECT_EQ(reason.evidence[1], "until it ends, members that come to a partition are not told where to begin there");
  facts.blocking[0].open.known.reset();
  EXPECT_EQ(explain(facts).evidence[0], "`naru txn list --stuck` looks for transactions that hang");
}

TEST(GroupReasons, AGroupWithPendingOffsetsIsWatchedUnlessThereIsAnotherReason) {
  GroupFacts facts = stable({partition_at(0, 10, 0, 10)});
  EXPECT_FALSE(is_worth_watching(facts));
  facts.has_pending_offsets = true;
  EXPECT_TRUE(is_worth_watching(facts));
  facts.group.state = "PreparingRebalance";
  EXPECT_FALSE(is_worth_watching(facts));
}

TEST(GroupReasons, AnOpenTransactionThatNoCoordinatorKnows) {
  GroupFacts facts = waiting_for_a_transaction();
  BlockingTransaction& blocking = facts.blocking[0];
  blocking.open.known.reset();
  blocking.description.reset();
  EXPECT_TRUE(explain(facts).sentence.ends_with(": that of producer 4000, epoch 3")) << explain(facts).sentence;
  EXPECT_EQ(explain(facts).evidence[0], "`naru txn list` shows who has transactions, once all brokers answer");
  blocking.is_hanging = true;
  blocking.open.producer.last_timestamp = -1;
  facts.blocking.push_back(blocking);
  const Reason hanging = explain(facts);
  EXPECT_TRUE(hanging.sentence.ends_with(": that of producer 4000, epoch 3, which no coordinator knows"))
      << hanging.sentence;
  EXPECT_EQ(hanging.evidence[0], "`naru txn abort --topic orders --partition 0 --producer-id 4000` ends it");
  EXPECT_EQ(hanging.evidence[1], "it began at offset 17 of orders-0");
  EXPECT_EQ(hanging.evidence[2], "it waits so in 2 partitions");
}

TEST(GroupReasons, ARebalanceNamesWhomItWaitsFor) {
  GroupFacts facts = stable({});
  facts.group.state = "PreparingRebalance";
  facts.group.state_since = kNow - 12'000;
  facts.group.members = {member_of("m1", {}), member_of("m2", {})};
  facts.group.waiting_for = {"m2"};
  EXPECT_EQ(explain(facts).word, "rebalancing");
  EXPECT_EQ(
      explain(facts).sentence,
      "group g has been rebalancing for 12 s (since 2023-11-14T22:14:48.000Z), waiting for member m2 (client app, "
      "host 10.0.0.7) to join again");
  facts.group.waiting_for = {"m1", "m2"};
  const Reason both = explain(facts);
  EXPECT_TRUE(both.sentence.ends_with(", waiting for 2 of 2 members to join again")) << both.sentence;
  EXPECT_EQ(both.evidence.at(1), "m2 (client app, host 10.0.0.7)");
  facts.group.waiting_for = {"m3"};
  EXPECT_NE(explain(facts).sentence.find("waiting for member m3 (new)"), std::string::npos);
  facts.group.waiting_for.clear();
  EXPECT_TRUE(explain(facts).sentence.ends_with(", waiting for more members"));
  facts.group.state = "CompletingRebalance";
  facts.group.waiting_for = {"m1"};
  EXPECT_TRUE(explain(facts).sentence.ends_with("to fetch its assignment")) << explain(facts).sentence;
  EXPECT_FALSE(is_worth_watching(facts));
}

TEST(GroupReasons, BehindAndMovingOrNot) {
  GroupFacts facts = stable({partition_at(0, 3, 0, 10), partition_at(1, 0, 0, 2000)});
  EXPECT_TRUE(is_worth_watching(facts));
  facts.movement = {.watched = 1500ms, .records = 30};
  EXPECT_EQ(explain(facts).word, "moving");
  EXPECT_EQ(explain(facts).sentence, "group g is behind by 2,007 records and moving: it committed 30 records in 1.5 s");
  facts.movement = {.watched = 6s, .records = 0};
  const Reason stuck = explain(facts);
  EXPECT_EQ(stuck.word, "not_moving");
  EXPECT_EQ(stuck.sentence, "group g is behind by 2,007 records and not moving: it committed nothing in 6.0 s");
  EXPECT_EQ(stuck.evidence.at(0), "orders-1: 2,000 records behind, read by m1 (client app, host 10.0.0.7)");
  EXPECT_EQ(stuck.evidence.size(), 2u);
}

TEST(GroupReasons, EvidenceIsShort) {
  GroupFacts facts = stable({});
  for (int32_t i = 0; i < 10; ++i) facts.partitions.push_back(partition_at(i, 0, 0, 5));
  const Reason reason = explain(facts);
  ASSERT_EQ(reason.evidence.size(), 4u);
  EXPECT_TRUE(reason.evidence[0].starts_with("orders-0: ")) << "equal ones in the order of their names";
  EXPECT_EQ(reason.evidence[3], "and 7 more partitions");
}

TEST(GroupReasons, LagWhereNobodyReads) {
  const GroupFacts facts = stable({partition_at(0, 10, 0, 10), partition_at(5, 3, 0, 10, "")});
  EXPECT_FALSE(is_worth_watching(facts));
  EXPECT_EQ(explain(facts).word, "unread");
  EXPECT_EQ(explain(facts).sentence, "group g is behind by 7 records, all in partitions that no member reads");
}

TEST(GroupReasons, RecordsLostToRetentionComeBeforeTheLag) {
  const GroupFacts facts = stable({partition_at(0, 3, 5, 10)});
  EXPECT_FALSE(is_worth_watching(facts));
  const Reason reason = explain(facts);
  EXPECT_EQ(reason.word, "lost_records");
  EXPECT_EQ(reason.sentence, "group g has lost 2 records to retention: its committed offsets are below the log start");
  EXPECT_EQ(reason.evidence.at(0), "orders-0: 2 records lost, read by m1 (client app, host 10.0.0.7)");
}

TEST(GroupReasons, APartitionWithoutALeader) {
  GroupFacts facts = stable({partition_at(0, 3, 0, 10), partition_at(1, 3, 0, 10)});
  facts.partitions[1].bounds.state = PartitionBounds::State::offline;
  EXPECT_FALSE(is_worth_watching(facts));
  EXPECT_EQ(explain(facts).word, "offline");
  EXPECT_EQ(explain(facts).sentence, "group g reads orders-1, which has no leader");
}

TEST(GroupReasons, CaughtUpOrWithoutOffsets) {
  GroupFacts facts = stable({partition_at(0, 10, 0, 10), partition_at(1, std::nullopt, 0, 5)});
  EXPECT_EQ(explain(facts).word, "caught_up");
  EXPECT_EQ(explain(facts).sentence, "group g has read everything: it is at the end of 1 partition");
  EXPECT_EQ(explain(facts).evidence.at(0), "nothing is committed for 1 partition with records");
  facts.partitions = {partition_at(0, std::nullopt, 0, 0)};
  EXPECT_EQ(explain(facts).word, "no_offsets");
  EXPECT_EQ(explain(facts).sentence, "group g has 1 member and has not committed an offset yet");
}

TEST(GroupReasons, MembersWithoutPartitions) {
  GroupFacts facts = stable({partition_at(0, 10, 0, 10)});
  facts.group.members.push_back(member_of("m2", {}));
  EXPECT_EQ(explain(facts).evidence.at(0), "1 of 2 members has no partition: there are more members than partitions");
  facts.group.members.erase(facts.group.members.begin());
  EXPECT_EQ(explain(facts).word, "no_partitions");
  facts.missing_topics = {"orders"};
  EXPECT_EQ(explain(facts).sentence, "group g: its only member has no partition: topic orders does not exist");
  facts.group.members[0].unread_bytes = 17;
  EXPECT_EQ(explain(facts).word, "caught_up") << "another protocol: who has what is not for us to know";
}

TEST(GroupReasons, ACoordinatorThatCannotAnswer) {
  EXPECT_EQ(explain_silence("g", Status(ErrorCode::coordinator_load_in_progress, "x")).word, "loading");
  EXPECT_EQ(explain_silence("g", Status(ErrorCode::coordinator_not_available, "x")).word, "no_coordinator");
}

TEST(GroupReasons, NamesFromAClientAreMadePrintable) {
  GroupFacts facts = stable({partition_at(0, 3, 0, 10)});
  facts.group.id = "\x1b[2J";
  facts.group.members[0].client_id = "\x1b[31m";
  const Reason reason = explain(facts);
  EXPECT_EQ(reason.sentence.find('\x1b'), std::string::npos);
  EXPECT_EQ(reason.evidence.at(0).find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace naru::command_line
