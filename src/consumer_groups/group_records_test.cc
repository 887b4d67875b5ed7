#include "consumer_groups/group_records.h"

#include <gtest/gtest.h>

#include "consumer_groups/group_testing.h"
#include "internal_records/group_metadata_value.h"
#include "internal_records/offset_commit_value.h"
#include "kafka_protocol/stored_value.h"

namespace naru {
namespace {

std::string hex_of(BytesView bytes) {
  std::string text;
  for (const std::byte byte : bytes) text += fmt::format("{:02x}", static_cast<unsigned>(byte));
  return text;
}

StoredGroup group_of_one() {
  return {.protocol_type = "consumer",
          .generation = 7,
          .protocol = "range",
          .leader = "m1",
          .state_since = 1'700'000'000'000,
          .members = {{.member_id = "m1",
                       .instance_id = "one",
                       .client_id = "c",
                       .client_host = "/h",
                       .rebalance_timeout = 300s,
                       .session_timeout = 45s,
                       .metadata = test_bytes("s"),
                       .assignment = test_bytes("a")}}};
}

TEST(GroupRecords, AnOffsetHasTheBytesThatOtherBrokersWrite) {
  const CommittedOffset committed{
      .offset = Offset(42), .leader_epoch = LeaderEpoch(5), .metadata = "m", .committed_at = 1'700'000'000'000};
  const CoordinatorRecord record = offset_record("g1", {"t", PartitionIndex(3)}, &committed);
  EXPECT_EQ(hex_of(record.key),
            "0001"
            "00026731"
            "000174"
            "00000003");
  EXPECT_EQ(hex_of(*record.value),
            "0003"
            "000000000000002a"
            "00000005"
            "00016d"
            "0000018bcfe56800");
}

TEST(GroupRecords, AnOffsetInATransactionSaysOfWhichOneInAFieldThatOtherReadersSkip) {
  const CommittedOffset committed{
      .offset = Offset(42), .leader_epoch = LeaderEpoch(5), .metadata = "m", .committed_at = 1'700'000'000'000};
  const CoordinatorRecord record =
      pending_offset_record("g1", {"t", PartitionIndex(3)}, committed, TransactionNumber(7));
  EXPECT_EQ(record.key, offset_record("g1", {"t", PartitionIndex(3)}, nullptr).key);
  EXPECT_EQ(hex_of(*record.value),
            "0004"
            "000000000000002a"
            "00000005"
            "026d"
            "0000018bcfe56800"
            "01"      // tagged fields
            "904e08"  // 10000, and its size
            "0000000000000007");
  EXPECT_EQ(*decode_offset_value(*record.value), committed);
  EXPECT_EQ(*decode_transaction_number(*record.value), TransactionNumber(7));
  const CoordinatorRecord unknown =
      pending_offset_record("g1", {"t", PartitionIndex(3)}, committed, kNoTransactionNumber);
  EXPECT_EQ(unknown.value, offset_record("g1", {"t", PartitionIndex(3)}, &committed).value);
  EXPECT_EQ(*decode_transaction_number(*unknown.value), kNoTransactionNumber);
}

TEST(GroupRecords, AGroupHasTheBytesThatOtherBrokersWrite) {
  const StoredGroup group = group_of_one();
  const CoordinatorRecord record = group_record("g1", &group);
  EXPECT_EQ(hex_of(record.key),
            "0002"
            "00026731");
  EXPECT_EQ(hex_of(*record.value),
            "0003"
            "0008636f6e73756d6572"
            "00000007"
            "000572616e6765"
            "00026d31"
            "0000018bcfe56800"
            "00000001"
            "00026d31"
            "00036f6e65"
            "000163"
            "00022f68"
            "000493e0"
            "0000afc8"
            "0000000173"
            "0000000161");
}

TEST(GroupRecords, WhatIsWrittenIsReadAgain) {
  const StoredGroup group = group_of_one();
  EXPECT_EQ(decode_group_value(*group_record("g", &group).value), group);
  const StoredGroup empty{.protocol_type = "consumer", .generation = 8, .state_since = 5};
  EXPECT_EQ(decode_group_value(*group_record("g", &empty).value), empty);
  EXPECT_FALSE(group_record("g", nullptr).value);
  EXPECT_EQ(decode_group_key(group_record("g", nullptr).key), "g");

  CommittedOffset committed{.offset = Offset(1), .metadata = "x", .committed_at = 9};
  const auto again = [&] {
    return decode_offset_value(*offset_record("g", {"t", PartitionIndex(0)}, &committed).value);
  };
  EXPECT_EQ(again(), committed);
  committed.topic_id = Uuid::from_random_bits(3, 4);
  committed.leader_epoch = LeaderEpoch(2);
  EXPECT_EQ(again(), committed);
  committed = {.offset = Offset(-5), .committed_at = 9, .expires_at = 10};
  EXPECT_EQ(again(), committed);
}

TEST(GroupRecords, AnExpiryIsKeptRatherThanTopicIdAndLeaderEpoch) {
  CommittedOffset committed{.offset = Offset(1),
                            .leader_epoch = LeaderEpoch(2),
                            .committed_at = 9,
                            .expires_at = 10,
                            .topic_id = Uuid::from_random_bits(3, 4)};
  const auto read = decode_offset_value(*offset_record("g", {"t", PartitionIndex(0)}, &committed).value);
  EXPECT_EQ(read->expires_at, 10);
  EXPECT_EQ(read->leader_epoch, kNoLeaderEpoch);
  EXPECT_TRUE(read->topic_id.is_zero());
}

TEST(GroupRecords, ValuesOfAllVersionsAreRead) {
  for (int16_t version = 0; version <= internal::OffsetCommitValue::kMaxVersion; ++version) {
    const internal::OffsetCommitValue value{
        .offset = Offset(7), .leader_epoch = LeaderEpoch(1), .metadata = "m", .commit_timestamp = 5};
    const auto read = decode_offset_value(kafka::encode_stored_value(value, version));
    ASSERT_TRUE(read) << version;
    EXPECT_EQ(read->offset, Offset(7));
    EXPECT_EQ(read->committed_at, 5);
    EXPECT_EQ(read->leader_epoch, version >= 3 ? LeaderEpoch(1) : kNoLeaderEpoch);
  }
  for (int16_t version = 0; version <= internal::GroupMetadataValue::kMaxVersion; ++version) {
    internal::GroupMetadataValue value{
        .protocol_type = "consumer", .generation = 3, .protocol = "range", .current_state_timestamp = 6};
    value.members.push_back({.member_id = "m", .rebalance_timeout = 20, .session_timeout = 10});
    const auto read = decode_group_value(kafka::encode_stored_value(value, version));
    ASSERT_TRUE(read) << version;
    EXPECT_EQ(read->generation, 3);
    EXPECT_EQ(read->members[0].rebalance_timeout, version >= 1 ? 20ms : 10ms);
    EXPECT_EQ(read->state_since, version >= 2 ? 6 : -1);
  }
}

TEST(GroupRecords, GroupsThatContradictThemselvesAreCorrupt) {
  StoredGroup group = group_of_one();
  group.members.push_back(group.members[0]);
  EXPECT_EQ(decode_group_value(*group_record("g", &group).value).error(), ErrorCode::corrupt_data);
  group.members[1].member_id = "m2";
  EXPECT_EQ(decode_group_value(*group_record("g", &group).value).error(), ErrorCode::corrupt_data) << "instance id";
  group.members[1].instance_id = "two";
  EXPECT_TRUE(decode_group_value(*group_record("g", &group).value));
  group.protocol.reset();
  EXPECT_EQ(decode_group_value(*group_record("g", &group).value).error(), ErrorCode::corrupt_data);
}

TEST(GroupRecords, BytesThatDoNotDecodeAreCorruptAndNewerVersionsAreNamed) {
  EXPECT_EQ(group_record_type({}).error(), ErrorCode::corrupt_data);
  const StoredGroup group = group_of_one();
  Bytes value = *group_record("g", &group).value;
  value.pop_back();
  EXPECT_EQ(decode_group_value(value).error(), ErrorCode::corrupt_data);
  value[1] = std::byte{99};
  EXPECT_EQ(decode_group_value(value).error(), ErrorCode::unsupported_format);
}

}  // namespace
}  // namespace naru
