// Groups that change their protocol while they have members, and members of both protocols in one group.
#include "consumer_groups/consumer_protocol/consumer_group_migration.h"

#include <gtest/gtest.h>

#include "consumer_groups/consumer_protocol/consumer_group_protocol.h"
#include "consumer_groups/consumer_protocol/consumer_group_records.h"
#include "consumer_groups/group_testing.h"
#include "kafka_protocol/messages/consumer_protocol_subscription.h"
#include "kafka_protocol/wire_writer.h"

namespace naru {
namespace {

// What a classic consumer says about itself. Who gives partitions back one by one says what it has.
Bytes consumer_metadata(std::vector<std::string> topics, const std::vector<int32_t>& owned = {}) {
  kafka::ConsumerProtocolSubscription subscription;
  subscription.topics = std::move(topics);
  if (!owned.empty()) subscription.owned_partitions.push_back({"t", owned});
  Bytes bytes;
  kafka::WireWriter writer(bytes);
  writer.write<int16_t>(1);
  kafka::encode(writer, subscription, 1);
  return bytes;
}

class GroupMigrationTest : public testing::Test {
 protected:
  GroupMigrationTest() { set_topics(); }

  void set_topics() {
    CoordinatorOutcome outcome;
    test.coordinator->metadata_changed(topics, test.time, outcome);
    EXPECT_TRUE(outcome.records.empty());
  }
  void restart() {
    test.restart(true);
    set_topics();
  }

  ConsumerHeartbeatAnswer beat(ConsumerHeartbeat request) {
    request.group_id = "g";
    return test
        .ask<ConsumerHeartbeatAnswer>([&](auto reply, auto& outcome) {
          test.coordinator->consumer_heartbeat(std::move(request), std::move(reply), test.time, outcome);
        })
        .value();
  }
  ConsumerHeartbeatAnswer consumer_joins(std::string member_id, std::optional<std::string> instance_id = {}) {
    ConsumerHeartbeat request{.member_id = std::move(member_id), .instance_id = std::move(instance_id)};
    request.rebalance_timeout = 60s;
    request.subscribed_topics = {"t"};
    request.owned.emplace();
    return beat(std::move(request));
  }
  DescribedConsumerGroup described() {
    return test
        .ask<DescribedConsumerGroup>([&](auto reply, auto& outcome) {
          test.coordinator->describe_consumer_group("g", std::move(reply), test.time, outcome);
        })
        .value();
  }

  static JoinGroup classic_joining(std::string fresh_member_id, const std::vector<int32_t>& owned = {}) {
    JoinGroup request = joining("g", std::move(fresh_member_id));
    request.protocols = {{"range", consumer_metadata({"t"}, owned)}};
    return request;
  }
  static JoinGroup classic_rejoining(const std::string& member_id, const std::vector<int32_t>& owned = {}) {
    JoinGroup request = classic_joining("unused", owned);
    request.member_id = member_id;
    return request;
  }
  // Partitions that a classic member is told to have.
  std::vector<int32_t> synced(const std::string& member_id, int32_t generation) {
    const SyncAnswer answer = test.sync(syncing("g", member_id, generation)).value();
    EXPECT_EQ(answer.error, ErrorCode::none);
    EXPECT_EQ(answer.protocol_name, "range");
    const auto partitions = read_protocol_assignment(answer.assignment);
    EXPECT_TRUE(partitions.has_value());
    std::vector<int32_t> numbers;
    for (const GroupPartition& partition : *partitions) numbers.push_back(partition.partition.value());
    return numbers;
  }
  // A stable classic group of one member that reads all four partitions. Returns its generation.
  int32_t form_classic_group(std::optional<std::string> instance_id = {}) {
    JoinGroup request = classic_joining("old");
    request.instance_id = instance_id;
    auto joined = test.join(request);
    test.advance(3s);
    const int32_t generation = joined.value().generation;
    SyncGroup sync = syncing("g", "old", generation);
    sync.assignments = {{"old", write_protocol_assignment(all(), *topics, 1)}};
    EXPECT_EQ(test.sync(sync).value().error, ErrorCode::none);
    return generation;
  }
  PartitionSet all() const {
    PartitionSet partitions;
    for (int32_t i = 0; i < 4; ++i) partitions.push_back({Uuid{1, 1}, PartitionIndex(i)});
    return partitions;
  }
  ErrorCode commit(const std::string& member_id, int32_t generation, bool knows_epochs = false) {
    return test
        .commit({.group_id = "g",
                 .member = {.member_id = member_id, .generation = generation},
                 .knows_member_epochs = knows_epochs,
                 .entries = {{.partition = {"t", PartitionIndex(0)}, .offset = Offset(7)}}})
        .at(0);
  }
  std::string type_of_group() {
    const auto listed = test.list();
    return listed.size() == 1 ? listed[0].type : "";
  }

  SharedTopics topics = std::make_shared<const SubscribableTopics>(
      1, std::vector<SubscribableTopic>{{.name = "t", .id = Uuid{1, 1}, .partitions = 4}});
  TestCoordinator test;
};

TEST_F(GroupMigrationTest, AnEmptyClassicGroupBecomesOneOfTheConsumerProtocolAndKeepsItsOffsets) {
  const int32_t generation = form_classic_group();
  EXPECT_EQ(commit("old", generation), ErrorCode::none);
  test.leave("g", {{.member_id = "old"}});
  EXPECT_EQ(type_of_group(), "classic");
  EXPECT_EQ(consumer_joins("new").error, ErrorCode::none);
  EXPECT_EQ(type_of_group(), "consumer");
  EXPECT_EQ(test.committed("g", {"t", PartitionIndex(0)}), 7);
}

TEST_F(GroupMigrationTest, AnEmptyGroupOfTheConsumerProtocolBecomesAClassicOne) {
  const auto joined = consumer_joins("new");
  EXPECT_EQ(commit("new", joined.member_epoch, true), ErrorCode::none);
  beat({.member_id = "new", .member_epoch = kLeaveEpoch});
  EXPECT_EQ(type_of_group(), "consumer");
  EXPECT_EQ(test.join(classic_rejoining("stranger")).value().error, ErrorCode::unknown_member_id);
  EXPECT_EQ(type_of_group(), "consumer");
  form_classic_group();
  EXPECT_EQ(type_of_group(), "classic");
  EXPECT_EQ(described().error, ErrorCode::group_id_not_found);
  EXPECT_EQ(test.committed("g", {"t", PartitionIndex(0)}), 7);
}

TEST_F(GroupMigrationTest, AClassicJoinThatIsRefusedOrSentAwayLeavesAnEmptyGroupAsItIs) {
  const auto joined = consumer_joins("new");
  EXPECT_EQ(commit("new", joined.member_epoch, true), ErrorCode::none);
  test.advance(20s);
  beat({.member_id = "new", .member_epoch = kLeaveEpoch});
  const auto durable = test.coordinator->durable_consumer_groups();
  JoinGroup nothing_to_offer = classic_joining("refused");
  nothing_to_offer.protocols.clear();
  EXPECT_EQ(test.join(nothing_to_offer).value().error, ErrorCode::inconsistent_group_protocol);
  JoinGroup request = classic_joining("second");
  request.must_come_back_with_id = true;
  EXPECT_EQ(test.join(request).value().error, ErrorCode::member_id_required);
  EXPECT_EQ(test.coordinator->durable_consumer_groups(), durable);
  EXPECT_EQ(type_of_group(), "consumer");

  request.member_id = "second";
  auto second = test.join(request);
  EXPECT_TRUE(test.coordinator->durable_consumer_groups().empty());
  test.advance(3s);
  EXPECT_EQ(second.value().error, ErrorCode::none);
  EXPECT_EQ(type_of_group(), "classic");
}

TEST_F(GroupMigrationTest, AMemberThatWasSentAwayForAnIdDoesNotHinderTheConsumerProtocol) {
  consumer_joins("new");
  beat({.member_id = "new", .member_epoch = kLeaveEpoch});
  JoinGroup request = classic_joining("second");
  request.must_come_back_with_id = true;
  EXPECT_EQ(test.join(request).value().error, ErrorCode::member_id_required);
  EXPECT_EQ(consumer_joins("new").error, ErrorCode::none);
  request.member_id = "second";
  EXPECT_EQ(test.join(request).value().error, ErrorCode::none);
  EXPECT_EQ(described().members.size(), 2U);
}

TEST_F(GroupMigrationTest, AGroupWhoseMembersSayMoreThanOneOfTheConsumerProtocolMayStaysClassic) {
  const int32_t generation = form_classic_group();
  GroupSettings settings;
  settings.consumer.group_subscription_bytes_max = 100;
  test.coordinator->set_settings(settings);
  EXPECT_EQ(consumer_joins("new").error, ErrorCode::group_max_size_reached);
  EXPECT_EQ(type_of_group(), "classic");
  EXPECT_EQ(commit("old", generation), ErrorCode::none);
}

TEST_F(GroupMigrationTest, AHeartbeatThatSaysTooMuchConvertsNothing) {
  const int32_t generation = form_classic_group();
  test.settings.consumer.group_subscription_bytes_max = 5000;
  test.coordinator->set_settings(test.settings);
  ConsumerHeartbeat request{.member_id = "new", .client_id = std::string(5000, 'x')};
  request.rebalance_timeout = 60s;
  request.subscribed_topics = {"t"};
  request.owned.emplace();
  EXPECT_EQ(beat(request).error, ErrorCode::group_max_size_reached);
  EXPECT_EQ(type_of_group(), "classic");
  EXPECT_EQ(commit("old", generation), ErrorCode::none);
  test.leave("g", {{.member_id = "old"}});
  EXPECT_EQ(beat(request).error, ErrorCode::group_max_size_reached);
  EXPECT_EQ(type_of_group(), "classic") << "also when nobody is in it";
  EXPECT_EQ(consumer_joins("new").error, ErrorCode::none);
}

TEST_F(GroupMigrationTest, AClassicGroupWithMembersIsConvertedAndItsMembersGoOn) {
  const int32_t generation = form_classic_group();
  const auto joined = consumer_joins("new");
  EXPECT_EQ(joined.error, ErrorCode::none);
  EXPECT_EQ(joined.member_epoch, generation + 1);
  EXPECT_EQ(joined.assignment, PartitionSet{}) << "the old member still has everything";
  EXPECT_EQ(type_of_group(), "consumer");
  EXPECT_EQ(commit("old", generation), ErrorCode::none) << "it has not been told of anything yet";

  EXPECT_EQ(test.heartbeat("g", {.member_id = "old", .generation = generation}), ErrorCode::rebalance_in_progress);
  const JoinAnswer again = test.join(classic_rejoining("old")).value();
  EXPECT_EQ(again.error, ErrorCode::none);
  EXPECT_EQ(again.generation, generation + 1);
  EXPECT_EQ(again.leader, "") << "the broker decides";
  EXPECT_EQ(synced("old", again.generation).size(), 2U);
  EXPECT_EQ(commit("old", generation), ErrorCode::illegal_generation);
  EXPECT_EQ(beat({.member_id = "new", .member_epoch = joined.member_epoch}).assignment->size(), 2U);
  EXPECT_EQ(test.heartbeat("g", {.member_id = "old", .generation = again.generation}), ErrorCode::none);
  EXPECT_EQ(described().state, "Stable");
  EXPECT_TRUE(described().members[1].is_classic) << "by id: new, old";
}

TEST_F(GroupMigrationTest, AClassicMemberThatKeepsPartitionsGivesThemBackBeforeOthersGetThem) {
  const int32_t generation = form_classic_group();
  const auto joined = consumer_joins("new");
  const JoinAnswer told = test.join(classic_rejoining("old", {0, 1, 2, 3})).value();
  EXPECT_EQ(told.generation, generation) << "it can still commit what it has to give back";
  const std::vector<int32_t> kept = synced("old", told.generation);
  EXPECT_EQ(kept.size(), 2U);
  EXPECT_EQ(commit("old", generation), ErrorCode::none);
  EXPECT_FALSE(beat({.member_id = "new", .member_epoch = joined.member_epoch}).assignment.has_value());
  EXPECT_EQ(test.heartbeat("g", {.member_id = "old", .generation = generation}), ErrorCode::rebalance_in_progress);

  const JoinAnswer again = test.join(classic_rejoining("old", kept)).value();
  EXPECT_EQ(again.generation, generation + 1);
  EXPECT_EQ(synced("old", again.generation), kept);
  EXPECT_EQ(beat({.member_id = "new", .member_epoch = joined.member_epoch}).assignment->size(), 2U);
}

TEST_F(GroupMigrationTest, ClassicMembersCanJoinAGroupOfTheConsumerProtocol) {
  const auto joined = consumer_joins("new");
  JoinGroup request = classic_joining("second");
  request.must_come_back_with_id = true;
  const JoinAnswer sent_away = test.join(request).value();
  EXPECT_EQ(sent_away.error, ErrorCode::member_id_required);
  EXPECT_EQ(sent_away.member_id, "second");
  request.member_id = "second";
  const JoinAnswer second = test.join(request).value();
  EXPECT_EQ(second.error, ErrorCode::none);
  EXPECT_TRUE(synced("second", second.generation).empty());
  EXPECT_EQ(test.heartbeat("g", {.member_id = "second", .generation = second.generation}), ErrorCode::none);

  const auto told = beat({.member_id = "new", .member_epoch = joined.member_epoch});
  beat({.member_id = "new", .member_epoch = joined.member_epoch, .owned = *told.assignment});
  EXPECT_EQ(test.heartbeat("g", {.member_id = "second", .generation = second.generation}),
            ErrorCode::rebalance_in_progress)
      << "there is something for it";
  const JoinAnswer again = test.join(classic_rejoining("second")).value();
  EXPECT_EQ(synced("second", again.generation).size(), 2U);
}

TEST_F(GroupMigrationTest, MembersWhoseMetadataBreaksOffBehindTheTopicsAreTakenAlong) {
  // As kafka-go writes it: the version says that owned partitions follow, and they do not.
  Bytes cut = consumer_metadata({"t"});
  cut.resize(cut.size() - sizeof(int32_t));
  JoinGroup request = classic_joining("old");
  request.protocols[0].metadata = cut;
  test.join(request);
  test.advance(3s);
  EXPECT_EQ(consumer_joins("new").error, ErrorCode::none);
  request.fresh_member_id = "second";
  EXPECT_EQ(test.join(request).value().error, ErrorCode::none);
}

TEST_F(GroupMigrationTest, AMixedGroupRefusesWhatAClassicOneWouldRefuse) {
  consumer_joins("new");
  JoinGroup connect = classic_joining("x");
  connect.protocol_type = "connect";
  EXPECT_EQ(test.join(connect).value().error, ErrorCode::inconsistent_group_protocol);
  JoinGroup garbage = classic_joining("x");
  garbage.protocols = {{"range", test_bytes("?")}};
  EXPECT_EQ(test.join(garbage).value().error, ErrorCode::inconsistent_group_protocol);
  EXPECT_EQ(test.join(classic_joining("one")).value().error, ErrorCode::none);
  JoinGroup other = classic_joining("two");
  other.protocols[0].name = "roundrobin";
  EXPECT_EQ(test.join(other).value().error, ErrorCode::inconsistent_group_protocol);

  EXPECT_EQ(test.heartbeat("g", {.member_id = "nobody", .generation = 1}), ErrorCode::unknown_member_id);
  EXPECT_EQ(test.heartbeat("g", {.member_id = "new", .generation = 1}), ErrorCode::unknown_member_id);
  EXPECT_EQ(test.heartbeat("g", {.member_id = "one", .generation = 99}), ErrorCode::illegal_generation);
  EXPECT_EQ(test.sync(syncing("g", "one", 99)).value().error, ErrorCode::illegal_generation);
  EXPECT_EQ(test.leave("g", {{.member_id = "nobody"}, {.member_id = "new"}}),
            (std::vector{ErrorCode::unknown_member_id, ErrorCode::unknown_member_id}));
}

TEST_F(GroupMigrationTest, AGroupGoesBackWhenItsLastMemberOfTheConsumerProtocolLeaves) {
  form_classic_group();
  const auto joined = consumer_joins("new");
  const JoinAnswer again = test.join(classic_rejoining("old")).value();
  synced("old", again.generation);
  beat({.member_id = "new", .member_epoch = joined.member_epoch});
  beat({.member_id = "new", .member_epoch = kLeaveEpoch});
  EXPECT_EQ(type_of_group(), "classic");
  EXPECT_EQ(test.describe("g").state, "PreparingRebalance");
  EXPECT_EQ(test.heartbeat("g", {.member_id = "old", .generation = again.generation}),
            ErrorCode::rebalance_in_progress);
  EXPECT_EQ(commit("old", again.generation), ErrorCode::none) << "what it has read so far";
  const auto rejoined = test.join(classic_rejoining("old"));
  EXPECT_EQ(rejoined.value().error, ErrorCode::none);
  EXPECT_EQ(rejoined.value().leader, "old") << "the members decide again";
  EXPECT_GT(rejoined.value().generation, again.generation);
}

TEST_F(GroupMigrationTest, RecordsOfNobodyDoNotHinderAGroupThatGoesBack) {
  form_classic_group();
  consumer_joins("new");
  const PartitionSet partitions = all();
  test.log.push_back(target_assignment_record("g", "a ghost", &partitions));
  restart();
  beat({.member_id = "new", .member_epoch = kLeaveEpoch});
  EXPECT_EQ(type_of_group(), "classic");
  EXPECT_EQ(test.describe("g").members.size(), 1U);
  EXPECT_TRUE(test.coordinator->durable_consumer_groups().empty());
}

TEST_F(GroupMigrationTest, AGroupGoesBackWhenTheSessionOfItsLastMemberOfTheConsumerProtocolEnds) {
  const int32_t generation = form_classic_group();
  consumer_joins("new");
  restart();
  EXPECT_EQ(type_of_group(), "consumer");
  int32_t epoch = generation;
  for (int i = 0; i < 10; ++i) {
    test.advance(5s);
    if (test.heartbeat("g", {.member_id = "old", .generation = epoch}) != ErrorCode::rebalance_in_progress) continue;
    const auto joined = test.join(classic_rejoining("old"));
    if (type_of_group() == "classic") break;
    epoch = joined.value().generation;
    synced("old", epoch);
  }
  EXPECT_EQ(type_of_group(), "classic");
  restart();
  EXPECT_EQ(type_of_group(), "classic");
  EXPECT_EQ(test.describe("g").members.size(), 1U);
}

TEST_F(GroupMigrationTest, ClassicMembersAreRemovedWhenTheyAreSilentOrDoNotFollow) {
  form_classic_group();
  const auto joined = consumer_joins("new");
  test.advance(10s);
  EXPECT_EQ(described().members.size(), 1U) << "ten seconds are its session";
  EXPECT_EQ(beat({.member_id = "new", .member_epoch = joined.member_epoch}).assignment, all());

  const JoinAnswer second = test.join(classic_joining("second")).value();
  for (int i = 0; i < 12; ++i) {
    EXPECT_EQ(described().members.size(), 2U);
    test.heartbeat("g", {.member_id = "second", .generation = second.generation});
    beat({.member_id = "new", .member_epoch = joined.member_epoch + 1, .owned = PartitionSet{}});
    test.advance(5s);
  }
  EXPECT_EQ(described().members.size(), 1U) << "it never asked for its assignment";
}

TEST_F(GroupMigrationTest, AStaticMemberKeepsItsPartitionsWhenItChangesItsProtocol) {
  const int32_t generation = form_classic_group("instance");
  const auto upgraded = consumer_joins("new", "instance");
  EXPECT_EQ(upgraded.error, ErrorCode::none);
  EXPECT_EQ(upgraded.assignment, all());
  EXPECT_EQ(described().members.size(), 1U);
  EXPECT_EQ(commit("old", generation), ErrorCode::unknown_member_id);

  JoinGroup back = classic_joining("newest");
  back.instance_id = "instance";
  const JoinAnswer downgraded = test.join(back).value();
  EXPECT_EQ(downgraded.error, ErrorCode::none);
  EXPECT_EQ(type_of_group(), "classic") << "nobody else is there";
  EXPECT_EQ(test.describe("g").members[0].member_id, "newest");
}

TEST_F(GroupMigrationTest, WhatWasDueInAGroupThatIsGoneDoesNotConcernTheNextOneOfItsName) {
  consumer_joins("new", "instance");
  JoinGroup back = classic_joining("newest");
  back.instance_id = "instance";
  EXPECT_EQ(test.join(back).value().error, ErrorCode::none);  // until it syncs, the group has a timer for it
  EXPECT_EQ(type_of_group(), "classic");
  EXPECT_EQ(test.join(classic_rejoining("newest")).value().error, ErrorCode::none);
  EXPECT_EQ(consumer_joins("other").error, ErrorCode::none);
  EXPECT_EQ(type_of_group(), "consumer");
  const JoinAnswer again = test.join(classic_rejoining("newest")).value();
  EXPECT_EQ(again.error, ErrorCode::none);
  synced("newest", again.generation);
  for (int i = 0; i < 15; ++i) {
    test.advance(5s);
    EXPECT_NE(test.heartbeat("g", {.member_id = "newest", .generation = again.generation}),
              ErrorCode::unknown_member_id);
    beat({.member_id = "other", .member_epoch = again.generation});
  }
  EXPECT_EQ(described().members.size(), 2U);
}

TEST_F(GroupMigrationTest, MembersThatWaitInAClassicGroupAreCalledToJoinTheOtherOne) {
  auto parked = test.join(classic_joining("waiting"));
  EXPECT_EQ(consumer_joins("new").error, ErrorCode::none);
  EXPECT_EQ(parked.value().error, ErrorCode::rebalance_in_progress);
  EXPECT_EQ(described().members.size(), 1U) << "it has never been told of a generation";
  EXPECT_EQ(test.join(classic_rejoining("waiting")).value().error, ErrorCode::none);
}

TEST_F(GroupMigrationTest, WhatAMemberHasInTheMiddleOfARebalanceIsNotGivenAway) {
  form_classic_group();
  test.join(classic_rejoining("old", {0, 1, 2, 3}));  // completes at once: its assignment is decided anew
  EXPECT_EQ(test.describe("g").state, "CompletingRebalance");
  EXPECT_EQ(consumer_joins("new").assignment, PartitionSet{});
}

TEST_F(GroupMigrationTest, GroupsThatAreNoneOfConsumersAreNotConverted) {
  auto joined = test.join(joining("g", "worker"));
  test.advance(3s);
  EXPECT_EQ(joined.value().error, ErrorCode::none);
  EXPECT_EQ(consumer_joins("new").error, ErrorCode::group_id_not_found) << "its metadata is not that of a consumer";
  EXPECT_EQ(type_of_group(), "classic");
  EXPECT_EQ(beat({.member_id = "worker", .member_epoch = 1}).error, ErrorCode::group_id_not_found);
}

TEST_F(GroupMigrationTest, ThePolicyDecidesWhichGroupsChange) {
  test.settings.consumer.migration = GroupMigration::downgrade;
  restart();
  form_classic_group();
  EXPECT_EQ(consumer_joins("new").error, ErrorCode::group_id_not_found);
  test.settings.consumer.migration = GroupMigration::upgrade;
  restart();
  EXPECT_EQ(consumer_joins("new").error, ErrorCode::none);
  beat({.member_id = "new", .member_epoch = kLeaveEpoch});
  EXPECT_EQ(type_of_group(), "consumer") << "with a classic member only";
}

TEST_F(GroupMigrationTest, ARefusedHeartbeatConvertsNothing) {
  form_classic_group();
  ConsumerHeartbeat bad{.member_id = "new", .subscribed_expression = "("};
  bad.rebalance_timeout = 60s;
  bad.owned.emplace();
  EXPECT_EQ(beat(bad).error, ErrorCode::invalid_regular_expression);
  EXPECT_EQ(type_of_group(), "classic");
}

TEST_F(GroupMigrationTest, OffsetsOfGroupsOfTheConsumerProtocolAreCheckedListedAndDeleted) {
  const auto joined = consumer_joins("new");
  EXPECT_EQ(commit("new", joined.member_epoch), ErrorCode::unsupported_version);
  EXPECT_EQ(commit("new", joined.member_epoch + 1, true), ErrorCode::stale_member_epoch);
  EXPECT_EQ(commit("new", joined.member_epoch, true), ErrorCode::none);
  EXPECT_EQ(test.fetch({.group_id = "g", .member_id = "new", .member_epoch = 0}).error, ErrorCode::stale_member_epoch);
  EXPECT_EQ(test.delete_offsets("g", {{"t", PartitionIndex(0)}}).partitions.at(0),
            ErrorCode::group_subscribed_to_topic);
  EXPECT_EQ(test.describe("g").error, ErrorCode::group_id_not_found) << "it is no classic group";
  EXPECT_EQ(test.delete_group("g"), ErrorCode::non_empty_group);
  beat({.member_id = "new", .member_epoch = kLeaveEpoch});
  EXPECT_EQ(test.delete_offsets("g", {{"t", PartitionIndex(0)}}).partitions.at(0), ErrorCode::none);
  EXPECT_EQ(test.delete_group("g"), ErrorCode::none);
  EXPECT_TRUE(compacted(test.log, true).empty());
}

TEST_F(GroupMigrationTest, ADeletedGroupLeavesNoRecord) {
  ConsumerHeartbeat request{.member_id = "new"};
  request.rebalance_timeout = 60s;
  request.subscribed_topics = {"t"};
  request.subscribed_expression = "x.*";
  request.owned.emplace();
  EXPECT_EQ(beat(request).error, ErrorCode::none);
  EXPECT_EQ(test.delete_group("g"), ErrorCode::non_empty_group);
  beat({.member_id = "new", .member_epoch = kLeaveEpoch});
  EXPECT_EQ(test.delete_group("g"), ErrorCode::none);
  EXPECT_EQ(test.delete_group("g"), ErrorCode::group_id_not_found);
  EXPECT_TRUE(compacted(test.log, true).empty());
}

TEST_F(GroupMigrationTest, AnEmptyGroupOfTheConsumerProtocolWithoutOffsetsIsForgotten) {
  class NothingUnread final : public UnreadRecords {
   public:
    bool has_unread(const GroupPartition&, const CommittedOffset&) const override { return false; }
    bool topic_exists(std::string_view, const CommittedOffset&) const override { return true; }
  };
  const auto joined = consumer_joins("new");
  commit("new", joined.member_epoch, true);
  beat({.member_id = "new", .member_epoch = kLeaveEpoch});
  test.advance(test.settings.offsets_retention - 1ms);
  test.expire_offsets(NothingUnread());
  EXPECT_EQ(type_of_group(), "consumer");
  test.advance(1ms);
  test.expire_offsets(NothingUnread());
  EXPECT_EQ(type_of_group(), "");
  EXPECT_TRUE(compacted(test.log, true).empty());
}

TEST_F(GroupMigrationTest, OneEpochIsBegunForAllMembersThatAnAdministratorRemoves) {
  for (const char* id : {"a", "b", "c", "d"}) consumer_joins(id, std::string("instance-") + id);
  const int32_t epoch = described().group_epoch;
  std::vector<LeaveGroup::Member> leavers;
  for (const char* id : {"a", "b", "c", "a"}) {
    leavers.push_back({.member_id = "", .instance_id = std::string("instance-") + id, .reason = {}});
  }
  EXPECT_EQ(test.leave("g", leavers),
            (std::vector{ErrorCode::none, ErrorCode::none, ErrorCode::none, ErrorCode::unknown_member_id}));
  EXPECT_EQ(described().members.size(), 1U);
  EXPECT_EQ(described().group_epoch, epoch + 1);
}

}  // namespace
}  // namespace naru
