#include "consumer_groups/offsets/group_offsets.h"

#include <gtest/gtest.h>

#include "consumer_groups/group_testing.h"
#include "kafka_protocol/messages/consumer_protocol_subscription.h"
#include "kafka_protocol/stored_value.h"

namespace naru {
namespace {

const GroupPartition kT0{"t", PartitionIndex(0)};
const GroupPartition kT1{"t", PartitionIndex(1)};
const GroupPartition kU0{"u", PartitionIndex(0)};

JoinGroup subscribing(const std::string& group, const std::string& member_id, std::vector<std::string> topics) {
  JoinGroup request = joining(group, member_id);
  request.protocols = {
      {"range", kafka::encode_stored_value(kafka::ConsumerProtocolSubscription{.topics = std::move(topics)})}};
  return request;
}

TEST(GroupOffsets, AnybodyCommitsInAGroupWithoutMembersAndTherebyCreatesIt) {
  TestCoordinator test;
  EXPECT_EQ(test.commit("g", {}, kT0, 5), ErrorCode::none);
  EXPECT_EQ(test.committed("g", kT0), 5);
  ASSERT_EQ(test.list().size(), 1);
  EXPECT_EQ(test.list()[0].state, "Empty");
  EXPECT_EQ(test.list()[0].protocol_type, "");
  EXPECT_EQ(test.describe("g").error, ErrorCode::none);
}

TEST(GroupOffsets, AGenerationOfAGroupThatDoesNotExistIsIllegal) {
  TestCoordinator test;
  EXPECT_EQ(test.commit("g", {"m1", {}, 3}, kT0, 5), ErrorCode::illegal_generation);
  test.commit("simple", {}, kT0, 5);
  EXPECT_EQ(test.commit("simple", {"m1", {}, 3}, kT0, 6), ErrorCode::unknown_member_id);
  EXPECT_EQ(test.committed("simple", kT0), 5);
}

TEST(GroupOffsets, OnlyMembersOfTheCurrentGenerationCommitInAGroupThatHasMembers) {
  TestCoordinator test;
  form_group(test, "g", {joining("g", "m1"), joining("g", "m2")});
  EXPECT_EQ(test.commit("g", {}, kT0, 1), ErrorCode::unknown_member_id);
  EXPECT_EQ(test.commit("g", {"m1", {}, 1}, kT0, 2), ErrorCode::none);
  EXPECT_EQ(test.commit("g", {"m1", {}, 0}, kT0, 3), ErrorCode::illegal_generation);
  EXPECT_EQ(test.commit("g", {"m1", {}, -1}, kT0, 3), ErrorCode::illegal_generation);
  EXPECT_EQ(test.commit("g", {"stranger", {}, 1}, kT0, 3), ErrorCode::unknown_member_id);
  EXPECT_EQ(test.committed("g", kT0), 2);
}

TEST(GroupOffsets, WhileOthersJoinMembersCommitButNotOnceTheNewGenerationIsAnnounced) {
  TestCoordinator test;
  form_group(test, "g", {joining("g", "m1")});
  test.join(joining("g", "m2"));
  EXPECT_EQ(test.commit("g", {"m1", {}, 1}, kT0, 7), ErrorCode::none);
  test.join(rejoining("g", "m1"));
  EXPECT_EQ(test.describe("g").state, "CompletingRebalance");
  EXPECT_EQ(test.commit("g", {"m1", {}, 1}, kT0, 8), ErrorCode::illegal_generation);
  EXPECT_EQ(test.commit("g", {"m1", {}, 2}, kT0, 8), ErrorCode::rebalance_in_progress);
  EXPECT_EQ(test.committed("g", kT0), 7);
}

TEST(GroupOffsets, ACommitIsASignOfLife) {
  TestCoordinator test;
  form_group(test, "g", {joining("g", "m1")});
  for (int i = 0; i < 5; ++i) {
    test.advance(9s);
    EXPECT_EQ(test.commit("g", {"m1", {}, 1}, kT0, i), ErrorCode::none);
  }
}

TEST(GroupOffsets, AfterTheLastMemberHasGoneAnybodyCommitsAgainButNotWithAnOldGeneration) {
  TestCoordinator test;
  form_group(test, "g", {joining("g", "m1")});
  test.leave("g", {{"m1"}});
  EXPECT_EQ(test.commit("g", {"m1", {}, 1}, kT0, 1), ErrorCode::unknown_member_id);
  EXPECT_EQ(test.commit("g", {}, kT0, 2), ErrorCode::none);
}

TEST(GroupOffsets, EveryEntryHasItsOwnAnswerAndTooMuchMetadataIsRefused) {
  TestCoordinator test;
  const std::vector<ErrorCode> codes =
      test.commit({.group_id = "g",
                   .entries = {{.partition = kT0, .offset = Offset(1), .metadata = std::string(4096, 'x')},
                               {.partition = kT1, .offset = Offset(2), .metadata = std::string(4097, 'x')},
                               {.partition = {std::string(40'000, 't'), PartitionIndex(0)}, .offset = Offset(3)}}});
  EXPECT_EQ(codes, (std::vector<ErrorCode>{ErrorCode::none, ErrorCode::offset_metadata_too_large,
                                           ErrorCode::invalid_topic_exception}));
  EXPECT_EQ(test.committed("g", kT0), 1);
  EXPECT_EQ(test.committed("g", kT1), -1);
}

TEST(GroupOffsets, WhatWasCommittedIsReadAsItWas) {
  TestCoordinator test;
  const Uuid id = Uuid::from_random_bits(1, 2);
  test.commit({.group_id = "g",
               .entries = {{.partition = kT0,
                            .topic_id = id,
                            .offset = Offset(5),
                            .leader_epoch = LeaderEpoch(3),
                            .metadata = "note"}}});
  const CommittedOffset expected{.offset = Offset(5),
                                 .leader_epoch = LeaderEpoch(3),
                                 .metadata = "note",
                                 .committed_at = test.time.wall_ms,
                                 .topic_id = id};
  test.restart();
  EXPECT_EQ(test.fetch({.group_id = "g", .partitions = {{kT0}}}).offsets[0].committed, expected);
}

TEST(GroupOffsets, ReadingAnswersInTheOrderOfTheRequestOrAllInOrder) {
  TestCoordinator test;
  test.commit("g", {}, kU0, 3);
  test.commit("g", {}, kT1, 2);
  test.commit("g", {}, kT0, 1);
  const auto some = test.fetch({.group_id = "g", .partitions = {{kU0, {"nothing", PartitionIndex(9)}, kT0}}});
  ASSERT_EQ(some.offsets.size(), 3);
  EXPECT_EQ(some.offsets[0].committed->offset, Offset(3));
  EXPECT_FALSE(some.offsets[1].committed);
  EXPECT_EQ(some.offsets[2].committed->offset, Offset(1));
  const auto all = test.fetch({.group_id = "g"});
  ASSERT_EQ(all.offsets.size(), 3);
  EXPECT_EQ(all.offsets[0].partition, kT0);
  EXPECT_EQ(all.offsets[2].partition, kU0);
  EXPECT_TRUE(test.fetch({.group_id = "unknown"}).offsets.empty());
  EXPECT_EQ(test.fetch({.group_id = "unknown"}).error, ErrorCode::none);
}

TEST(GroupOffsets, AnOldClientsOwnRetentionIsKeptEvenIfItIsForEver) {
  TestCoordinator test;
  CommitOffsets request{.group_id = "g", .retention = 1h, .entries = {{.partition = kT0, .offset = Offset(1)}}};
  test.commit(request);
  EXPECT_EQ(test.fetch({.group_id = "g"}).offsets[0].committed->expires_at, test.time.wall_ms + 3'600'000);
  request.retention = Milliseconds::max();
  test.commit(request);
  EXPECT_EQ(test.fetch({.group_id = "g"}).offsets[0].committed->expires_at, INT64_MAX);
  request.retention = -5ms;
  test.commit(request);
  EXPECT_FALSE(test.fetch({.group_id = "g"}).offsets[0].committed->expires_at);
}

TEST(GroupOffsets, DeletingLeavesTombstonesOnlyWhereThereWasSomething) {
  TestCoordinator test;
  EXPECT_EQ(test.delete_offsets("g", {kT0}).error, ErrorCode::group_id_not_found);
  test.commit("g", {}, kT0, 1);
  const auto answer = test.delete_offsets("g", {kT0, kT1});
  EXPECT_EQ(answer.partitions, (std::vector<ErrorCode>{ErrorCode::none, ErrorCode::none}));
  EXPECT_EQ(test.committed("g", kT0), -1);
  ASSERT_EQ(test.log.size(), 2);
  EXPECT_FALSE(test.log[1].record.value);
}

TEST(GroupOffsets, OffsetsOfTopicsThatTheGroupReadsAreNotDeleted) {
  TestCoordinator test;
  form_group(test, "g", {subscribing("g", "m1", {"t"}), subscribing("g", "m2", {"other"})});
  test.commit("g", {"m1", {}, 1}, kT0, 1);
  test.commit("g", {"m1", {}, 1}, kU0, 1);
  EXPECT_EQ(test.delete_offsets("g", {kT0, kU0}).partitions,
            (std::vector<ErrorCode>{ErrorCode::group_subscribed_to_topic, ErrorCode::none}));
  EXPECT_EQ(test.committed("g", kT0), 1);
  EXPECT_EQ(test.committed("g", kU0), -1);
  test.leave("g", {{"m1"}, {"m2"}});
  EXPECT_EQ(test.delete_offsets("g", {kT0}).partitions, std::vector<ErrorCode>{ErrorCode::none});
}

TEST(GroupOffsets, SubscriptionsOfNewerVersionsAndThoseThatBreakOffAreUnderstood) {
  TestCoordinator test;
  JoinGroup newer = subscribing("g", "m1", {"t"});
  newer.protocols[0].metadata[1] = std::byte{9};
  newer.protocols[0].metadata.push_back(std::byte{77});
  // As kafka-go writes it: version 1 without the fields of version 1.
  JoinGroup broken_off = joining("g", "m2");
  broken_off.protocols[0].metadata = test_bytes(std::string("\0\1\0\0\0\1\0\1v\xff\xff\xff\xff", 13));
  form_group(test, "g", {newer, broken_off});
  EXPECT_EQ(test.delete_offsets("g", {kT0, kU0, {"v", PartitionIndex(0)}}).partitions,
            (std::vector<ErrorCode>{ErrorCode::group_subscribed_to_topic, ErrorCode::none,
                                    ErrorCode::group_subscribed_to_topic}));
}

TEST(GroupOffsets, AMemberWhoseSubscriptionCannotBeReadMayReadAnything) {
  for (const std::string& metadata : {std::string("\0\1\x7f\xff\xff\xff", 6), std::string()}) {
    TestCoordinator test;
    JoinGroup garbage = joining("g", "m2");
    garbage.protocols[0].metadata = test_bytes(metadata);
    form_group(test, "g", {subscribing("g", "m1", {"t"}), garbage});
    EXPECT_EQ(test.delete_offsets("g", {kU0}).partitions, std::vector<ErrorCode>{ErrorCode::group_subscribed_to_topic});
  }
}

TEST(GroupOffsets, OffsetsOfAGroupOfWorkersAreNotDeletedWhileItHasMembers) {
  TestCoordinator test;
  JoinGroup worker = joining("g", "m1");
  worker.protocol_type = "connect";
  form_group(test, "g", {worker});
  test.commit("g", {"m1", {}, 1}, kT0, 1);
  EXPECT_EQ(test.delete_offsets("g", {kT0}).error, ErrorCode::non_empty_group);
}

TEST(GroupOffsets, AGenerationOfAGroupThatDoesNotExistIsRefusedInTheWordsOfTheVersion) {
  TestCoordinator test;
  CommitOffsets request{.group_id = "g", .member = {.member_id = "m", .generation = 1}};
  request.entries = {{.partition = {"t", PartitionIndex(0)}, .offset = Offset(1)}};
  EXPECT_EQ(test.commit(request), std::vector{ErrorCode::illegal_generation});
  request.knows_member_epochs = true;
  EXPECT_EQ(test.commit(request), std::vector{ErrorCode::group_id_not_found});
}

TEST(GroupOffsets, WhatWasCommittedForTheNextTopicOfTheNameStays) {
  TestCoordinator test;
  CommitOffsets request{.group_id = "g"};
  request.entries = {
      {.partition = {"t", PartitionIndex(0)}, .topic_id = Uuid{1, 1}, .offset = Offset(100)},
      {.partition = {"t", PartitionIndex(1)}, .topic_id = Uuid{1, 2}, .offset = Offset(5)},
  };
  test.commit(request);
  test.topics_deleted({{"t", Uuid{1, 1}}});
  EXPECT_EQ(test.committed("g", {"t", PartitionIndex(0)}), -1);
  EXPECT_EQ(test.committed("g", {"t", PartitionIndex(1)}), 5);
}

TEST(GroupOffsets, ACommitThatIsTooLargeForABatchIsRefusedAsAWhole) {
  TestCoordinator test({.commit_bytes_max = 10'000});
  CommitOffsets request{.group_id = "g"};
  for (int32_t i = 0; i < 4; ++i) {
    request.entries.push_back(
        {.partition = {"t", PartitionIndex(i)}, .offset = Offset(1), .metadata = std::string(3000, 'x')});
  }
  EXPECT_EQ(test.commit(request), std::vector<ErrorCode>(4, ErrorCode::offset_metadata_too_large));
  EXPECT_TRUE(test.log.empty());
  request.entries.pop_back();
  EXPECT_EQ(test.commit(request), std::vector<ErrorCode>(3, ErrorCode::none));
}

TEST(GroupOffsets, ADeletedTopicsOffsetsGoInAllGroups) {
  TestCoordinator test;
  form_group(test, "g", {joining("g", "m1")});
  test.commit("g", {"m1", {}, 1}, kT0, 1);
  test.commit("g", {"m1", {}, 1}, kT1, 1);
  test.commit("g", {"m1", {}, 1}, {"tt", PartitionIndex(0)}, 1);
  test.commit("h", {}, kT0, 1);
  test.topics_deleted({{"t", Uuid{1, 1}}, {"unknown", Uuid{1, 2}}});
  EXPECT_EQ(test.committed("g", kT0), -1);
  EXPECT_EQ(test.committed("g", kT1), -1);
  EXPECT_EQ(test.committed("g", {"tt", PartitionIndex(0)}), 1);
  EXPECT_EQ(test.committed("h", kT0), -1);
}

}  // namespace
}  // namespace naru
