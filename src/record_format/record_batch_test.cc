#include "record_format/record_batch.h"

#include <gtest/gtest.h>

#include <limits>

#include "record_format/batch_builder.h"
#include "record_format/test_batches.h"

namespace naru {
namespace {

using namespace test_batches;

TEST(BatchHeader, IsReadFromTheTwoRecordsFixture) {
  const Bytes batch = two_records_fixture();
  ASSERT_EQ(batch.size(), 82u);
  const auto header = parse_batch_header(batch);
  ASSERT_TRUE(header) << header.error().to_string();
  EXPECT_EQ(header->base_offset, Offset{0});
  EXPECT_EQ(header->total_size, 82u);
  EXPECT_EQ(header->leader_epoch, LeaderEpoch{0});
  EXPECT_EQ(header->crc, 0x3291c928u);
  EXPECT_EQ(header->compression(), Compression::none);
  EXPECT_EQ(header->timestamp_type(), TimestampType::create_time);
  EXPECT_FALSE(header->is_transactional() || header->is_control() || header->has_delete_horizon());
  EXPECT_EQ(header->base_timestamp, kNow);
  EXPECT_EQ(header->max_timestamp, kNow + 5);
  EXPECT_EQ(header->producer_id, kNoProducerId);
  EXPECT_EQ(header->producer_epoch, ProducerEpoch{-1});
  EXPECT_EQ(header->base_sequence, -1);
  EXPECT_EQ(header->records_count, 2);
  EXPECT_EQ(header->last_offset(), Offset{1});
  EXPECT_EQ(header->next_offset(), Offset{2});
  EXPECT_TRUE(batch_crc_matches(batch));
}

TEST(BatchHeader, IsReadFromTheCommitMarkerFixture) {
  const Bytes batch = commit_marker_fixture();
  ASSERT_EQ(batch.size(), 78u);
  const auto header = parse_batch_header(batch);
  ASSERT_TRUE(header) << header.error().to_string();
  EXPECT_EQ(header->base_offset, Offset{42});
  EXPECT_EQ(header->leader_epoch, LeaderEpoch{5});
  EXPECT_TRUE(header->is_transactional() && header->is_control());
  EXPECT_EQ(header->producer_id, ProducerId{4000});
  EXPECT_EQ(header->producer_epoch, ProducerEpoch{3});
  EXPECT_TRUE(batch_crc_matches(batch));
}

TEST(BatchHeader, OnlyNeedsItsOwnBytes) {
  const Bytes batch = two_records_fixture();
  EXPECT_TRUE(parse_batch_header(BytesView(batch).first(kBatchHeaderSize)));
  for (size_t size = 0; size < kBatchHeaderSize; ++size)
    EXPECT_EQ(parse_batch_header(BytesView(batch).first(size)).error().code(), ErrorCode::corrupt_message) << size;
}

TEST(BatchHeader, RefusesOtherMagicsAsInvalidRecord) {
  for (const int8_t magic : {-1, 0, 1, 3, 127}) {
    Bytes batch = two_records_fixture();
    set_field(batch, batch_field::kMagic, magic);
    EXPECT_EQ(parse_batch_header(batch).error().code(), ErrorCode::invalid_record) << int{magic};
  }
}

TEST(BatchHeader, RefusesLengthsShorterThanAHeader) {
  for (const int32_t length : {std::numeric_limits<int32_t>::min(), -12, -1, 0, 48}) {
    Bytes batch = two_records_fixture();
    set_field(batch, batch_field::kBatchLength, length);
    EXPECT_EQ(parse_batch_header(batch).error().code(), ErrorCode::corrupt_message) << length;
  }
  Bytes batch = two_records_fixture();
  set_field(batch, batch_field::kBatchLength, std::numeric_limits<int32_t>::max());
  EXPECT_EQ(parse_batch_header(batch)->total_size, (size_t{1} << 31) - 1 + 12) << "the sum needs more than 32 bits";
}

TEST(BatchHeader, RefusesCountsThatContradictTheOffsets) {
  struct Case {
    int32_t last_offset_delta, count;
    bool fine;
  };
  constexpr int32_t kMax = std::numeric_limits<int32_t>::max(), kMin = std::numeric_limits<int32_t>::min();
  for (const Case c : {Case{0, 1, true},
                       {5, 2, true},
                       {5, 0, true},
                       {kMax, kMax, true},
                       {0, 2, false},
                       {-1, 0, false},
                       {-1, 1, false},
                       {0, -1, false},
                       {kMin, kMin, false},
                       {kMax, kMin, false}}) {
    Bytes batch = two_records_fixture();
    set_field(batch, batch_field::kLastOffsetDelta, c.last_offset_delta);
    set_field(batch, batch_field::kRecordsCount, c.count);
    const auto header = parse_batch_header(batch);
    EXPECT_EQ(header.has_value(), c.fine) << c.last_offset_delta << " " << c.count;
    if (!header) EXPECT_EQ(header.error().code(), ErrorCode::invalid_record);
  }
}

TEST(BatchHeader, RefusesOffsetsWhoseSuccessorDoesNotExist) {
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  Bytes batch = two_records_fixture();
  for (const int64_t base : {int64_t{-1}, std::numeric_limits<int64_t>::min(), kMax, kMax - 1}) {
    set_field(batch, batch_field::kBaseOffset, base);
    EXPECT_EQ(parse_batch_header(batch).error().code(), ErrorCode::invalid_record) << base;
  }
  set_field(batch, batch_field::kBaseOffset, kMax - 2);
  EXPECT_EQ(parse_batch_header(batch)->next_offset(), Offset{kMax});
}

TEST(BatchHeader, HasNoCompressionForUnknownCodecs) {
  for (int16_t codec = 0; codec < 8; ++codec)
    EXPECT_EQ((BatchHeader{.attributes = codec}).compression().has_value(), codec <= 4) << codec;
}

TEST(BatchCrc, DoesNotMatchBytesThatAreNoBatch) {
  EXPECT_FALSE(batch_crc_matches({}));
  EXPECT_FALSE(batch_crc_matches(Bytes(kBatchHeaderSize - 1)));
}

Bytes stored(const Bytes& batch, const StoredHeader& header) {
  Bytes whole(header.begin(), header.end());
  append_bytes(whole, batch_records(batch));
  return whole;
}

TEST(StoredHeader, AssignsOffsetAndEpochWithoutTouchingTheCrc) {
  const Bytes batch = two_records_fixture();
  const StoredHeader stored_header =
      make_stored_header(batch, Offset{1'000}, LeaderEpoch{7}, {TimestampType::create_time, kNow + 5});
  const Bytes whole = stored(batch, stored_header);
  const auto header = parse_batch_header(whole);
  ASSERT_TRUE(header);
  EXPECT_EQ(header->base_offset, Offset{1'000});
  EXPECT_EQ(header->leader_epoch, LeaderEpoch{7});
  EXPECT_EQ(header->crc, 0x3291c928u);
  EXPECT_TRUE(batch_crc_matches(whole));
  EXPECT_TRUE(equal_bytes(batch, two_records_fixture())) << "the received bytes stay as they are";
}

TEST(StoredHeader, WritesLogAppendTimeAndANewCrc) {
  const Bytes batch = two_records_fixture();
  const Bytes whole =
      stored(batch, make_stored_header(batch, Offset{3}, LeaderEpoch{1}, {TimestampType::log_append_time, kNow + 99}));
  const auto header = parse_batch_header(whole);
  ASSERT_TRUE(header);
  EXPECT_EQ(header->timestamp_type(), TimestampType::log_append_time);
  EXPECT_EQ(header->max_timestamp, kNow + 99);
  EXPECT_EQ(header->base_timestamp, kNow);
  EXPECT_TRUE(batch_crc_matches(whole));
}

TEST(StoredHeader, RepairsAMaximumTimestampThatTheProducerLeftUnset) {
  Bytes batch = two_records_fixture();
  set_field(batch, batch_field::kMaxTimestamp, kNoTimestamp);
  seal_batch(batch);
  const Bytes whole =
      stored(batch, make_stored_header(batch, Offset{0}, LeaderEpoch{0}, {TimestampType::create_time, kNow + 5}));
  EXPECT_TRUE(equal_bytes(whole, two_records_fixture()));
}

TEST(BatchBuilder, WritesTheTwoRecordsFixture) {
  BatchBuilder builder({.leader_epoch = LeaderEpoch{0}});
  builder.add(kNow, "k", "v");
  builder.add({.timestamp = kNow + 5, .value = as_bytes("hi"), .headers = {{.key = "h", .value = std::nullopt}}});
  EXPECT_TRUE(equal_bytes(build(builder), two_records_fixture()));
}

TEST(BatchBuilder, WritesTheCommitMarkerFixture) {
  BatchBuilder builder({.base_offset = Offset{42},
                        .leader_epoch = LeaderEpoch{5},
                        .transactional = true,
                        .control = true,
                        .producer_id = ProducerId{4000},
                        .producer_epoch = ProducerEpoch{3}});
  const Bytes key = from_hex("0000 0001"), value = from_hex("0000 00000007");
  builder.add({.timestamp = kNow, .key = key, .value = value});
  EXPECT_TRUE(equal_bytes(build(builder), commit_marker_fixture()));
}

TEST(BatchBuilder, RefusesTimestampsThatADeltaCannotExpress) {
  BatchBuilder builder;
  builder.add(std::numeric_limits<int64_t>::min(), "k", "v");
  builder.add(std::numeric_limits<int64_t>::max(), "k", "v");
  EXPECT_EQ(builder.build().error().code(), ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace naru
