#include "record_format/batch_validator.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "record_format/compression.h"
#include "record_format/test_batches.h"

namespace naru {
namespace {

using namespace test_batches;

Status rejection(const Bytes& batch, const ProduceRules& rules = {}) {
  const auto result = validate_produced_batch(batch, rules, kNow);
  return result ? Status() : result.error();
}

template <class T>
Bytes fixture_with(size_t position, T value) {
  Bytes batch = two_records_fixture();
  set_field(batch, position, value);
  seal_batch(batch);
  return batch;
}

Bytes batch_at(std::initializer_list<WallTimeMs> timestamps) {
  BatchBuilder builder;
  for (const WallTimeMs timestamp : timestamps) builder.add(timestamp, "k", "v");
  return build(builder);
}

TEST(BatchValidator, AcceptsTheTwoRecordsFixture) {
  const Bytes batch = two_records_fixture();
  const auto validated = validate_produced_batch(batch, {}, kNow);
  ASSERT_TRUE(validated) << validated.error().to_string();
  EXPECT_EQ(validated->header.records_count, 2);
  EXPECT_EQ(validated->timestamp, (BatchTimestamp{TimestampType::create_time, kNow + 5}));
  EXPECT_EQ(validated->max_timestamp_offset_delta, 1);
  EXPECT_EQ(validated->uncompressed_size, 82 - kBatchHeaderSize);
}

TEST(BatchValidator, AcceptsEveryCodecAndKnowsTheUncompressedSize) {
  const size_t size = make_batch(500, 200).size() - kBatchHeaderSize;
  for (const Compression codec : kAllCodecs) {
    const auto validated = validate_produced_batch(make_batch(500, 200, {.compression = codec}), {}, kNow);
    ASSERT_TRUE(validated) << compression_name(codec) << ": " << validated.error().to_string();
    EXPECT_EQ(validated->uncompressed_size, size);
    EXPECT_EQ(validated->timestamp.max, kNow + 499);
    EXPECT_EQ(validated->max_timestamp_offset_delta, 499);
  }
}

TEST(BatchValidator, RefusesNoBatchAndMoreThanOne) {
  EXPECT_EQ(rejection({}), ErrorCode::invalid_record);
  Bytes two = two_records_fixture();
  append_bytes(two, two_records_fixture());
  EXPECT_EQ(rejection(two), ErrorCode::invalid_record);
  Bytes and_a_byte = two_records_fixture();
  and_a_byte.push_back(std::byte{0});
  EXPECT_EQ(rejection(and_a_byte), ErrorCode::invalid_record);
}

TEST(BatchValidator, RefusesEveryTruncationAsCorrupt) {
  const Bytes batch = two_records_fixture();
  for (size_t size = 1; size < batch.size(); ++size)
    EXPECT_EQ(rejection({batch.begin(), batch.begin() + static_cast<ptrdiff_t>(size)}), ErrorCode::corrupt_message);
}

TEST(BatchValidator, RefusesEveryFlippedBitThatTheCrcCovers) {
  for (const Compression codec : kAllCodecs) {
    Bytes batch = make_batch(3, 20, {.compression = codec});
    for (size_t bit = 0; bit < batch.size() * 8; ++bit) {
      const size_t byte = bit / 8;
      const auto flip = [&] { batch[byte] ^= std::byte{1} << (bit % 8); };
      flip();
      // The broker overwrites base offset and leader epoch anyway; all others would change the meaning.
      const bool overwritten =
          byte < batch_field::kBatchLength || (byte >= batch_field::kLeaderEpoch && byte < batch_field::kMagic);
      const Status status = rejection(batch);
      if (!overwritten) EXPECT_FALSE(status.ok()) << compression_name(codec) << " bit " << bit;
      if (byte >= batch_field::kCrc) EXPECT_EQ(status, ErrorCode::corrupt_message) << "bit " << bit;
      flip();
    }
  }
}

TEST(BatchValidator, RefusesOldFormatsAsInvalidRecord) {
  for (const int8_t magic : {0, 1, 3})
    EXPECT_EQ(rejection(fixture_with(batch_field::kMagic, magic)), ErrorCode::invalid_record);
}

TEST(BatchValidator, MeasuresTheBatchAsSent) {
  const Bytes batch = two_records_fixture();
  EXPECT_TRUE(rejection(batch, {.max_message_bytes = 82}).ok());
  const Status status = rejection(batch, {.max_message_bytes = 81});
  EXPECT_EQ(status, ErrorCode::message_too_large);
  EXPECT_EQ(status.message(), "the batch has 82 bytes, max.message.bytes is 81");
}

TEST(BatchValidator, BoundsWhatComesOutOfACompressedBatch) {
  for (const Compression codec : kAllCodecs) {
    const Bytes batch = make_batch(100, 1'000, {.compression = codec});
    const size_t size = make_batch(100, 1'000).size() - kBatchHeaderSize;
    EXPECT_TRUE(rejection(batch, {.max_decompressed_bytes = size}).ok()) << compression_name(codec);
    EXPECT_EQ(rejection(batch, {.max_decompressed_bytes = size - 1}), ErrorCode::message_too_large)
        << compression_name(codec);
  }
}

TEST(BatchValidator, RefusesUnknownCodecsAndZstdForOldRequests) {
  for (const int16_t codec : {5, 6, 7})
    EXPECT_EQ(rejection(fixture_with(batch_field::kAttributes, codec)), ErrorCode::unsupported_compression_type);
  EXPECT_EQ(rejection(make_batch(1, 1, {.compression = Compression::zstd}), {.allow_zstd = false}),
            ErrorCode::unsupported_compression_type);
  EXPECT_TRUE(rejection(make_batch(1, 1, {.compression = Compression::lz4}), {.allow_zstd = false}).ok());
}

TEST(BatchValidator, RefusesCompressedDataThatIsNone) {
  for (const Compression codec : {Compression::gzip, Compression::snappy, Compression::lz4, Compression::zstd}) {
    const Status status = rejection(fixture_with(batch_field::kAttributes, static_cast<int16_t>(codec)));
    EXPECT_EQ(status, ErrorCode::invalid_record);
    EXPECT_NE(status.message().find(compression_name(codec)), std::string::npos) << status.message();
  }
}

TEST(BatchValidator, RefusesWhatOnlyBrokersMayWrite) {
  EXPECT_EQ(rejection(commit_marker_fixture()), ErrorCode::invalid_record);
  EXPECT_EQ(rejection(fixture_with(batch_field::kAttributes, batch_attribute::kDeleteHorizon)),
            ErrorCode::invalid_record);
  EXPECT_EQ(rejection(fixture_with(batch_field::kAttributes, batch_attribute::kLogAppendTime)),
            ErrorCode::invalid_timestamp);
}

TEST(BatchValidator, RefusesCountsAndOffsetsThatDisagree) {
  EXPECT_EQ(rejection(fixture_with(batch_field::kLastOffsetDelta, int32_t{0})), ErrorCode::invalid_record);
  EXPECT_EQ(rejection(fixture_with(batch_field::kLastOffsetDelta, int32_t{2})), ErrorCode::invalid_record);
  EXPECT_EQ(rejection(fixture_with(batch_field::kLastOffsetDelta, int32_t{-1})), ErrorCode::invalid_record);
  EXPECT_EQ(rejection(fixture_with(batch_field::kRecordsCount, int32_t{0})), ErrorCode::invalid_record);
  EXPECT_EQ(rejection(fixture_with(batch_field::kRecordsCount, int32_t{-1})), ErrorCode::invalid_record);
  EXPECT_EQ(rejection(fixture_with(batch_field::kRecordsCount, std::numeric_limits<int32_t>::max())),
            ErrorCode::invalid_record);
  const Bytes fixture = two_records_fixture();
  for (const int32_t count : {1, 3, std::numeric_limits<int32_t>::max()})
    EXPECT_EQ(rejection(with_records(fixture, batch_records(fixture), count)), ErrorCode::invalid_record) << count;
}

TEST(BatchValidator, RefusesOffsetDeltasThatAreNotZeroOneTwo) {
  constexpr std::string_view kZero = "0c 00 00 00 01 01 00", kOne = "0c 00 00 02 01 01 00",
                             kTwo = "0c 00 00 04 01 01 00";
  const auto batch = [](std::initializer_list<std::string_view> records) {
    Bytes bytes;
    for (const std::string_view record : records) append_bytes(bytes, from_hex(record));
    return with_records(two_records_fixture(), bytes, static_cast<int32_t>(records.size()));
  };
  EXPECT_TRUE(rejection(batch({kZero, kOne, kTwo})).ok());
  EXPECT_EQ(rejection(batch({kZero, kTwo, kOne})), ErrorCode::invalid_record);
  EXPECT_EQ(rejection(batch({kZero, kZero, kOne})), ErrorCode::invalid_record);
  EXPECT_EQ(rejection(batch({kOne, kTwo})), ErrorCode::invalid_record);
  EXPECT_EQ(rejection(batch({kOne})), ErrorCode::invalid_record);
}

TEST(BatchValidator, RefusesMalformedRecordsInEveryCodec) {
  const Bytes good = from_hex("0c 00 00 00 01 01 00");
  for (const Compression codec : kAllCodecs) {
    const Bytes frame = make_batch(1, 1, {.compression = codec});
    const auto with = [&](BytesView records) { return with_records(frame, *compress(codec, records), 1); };
    EXPECT_TRUE(rejection(with(good)).ok());
    for (size_t size = 0; size < good.size(); ++size)
      EXPECT_EQ(rejection(with(BytesView(good).first(size))), ErrorCode::invalid_record) << compression_name(codec);
    Bytes longer = good;
    longer.push_back(std::byte{0});
    EXPECT_EQ(rejection(with(longer)), ErrorCode::invalid_record) << compression_name(codec);
  }
}

TEST(BatchValidator, RefusesHalfAProducerIdentity) {
  const BatchOptions whole{.producer_id = ProducerId{0}, .producer_epoch = ProducerEpoch{0}, .base_sequence = 0};
  EXPECT_TRUE(rejection(make_batch(1, 1, whole)).ok());
  BatchOptions no_sequence = whole, no_epoch = whole;
  no_sequence.base_sequence = -1;
  no_epoch.producer_epoch = ProducerEpoch{-1};
  EXPECT_EQ(rejection(make_batch(1, 1, no_sequence)), ErrorCode::invalid_record);
  EXPECT_EQ(rejection(make_batch(1, 1, no_epoch)), ErrorCode::invalid_record);
  EXPECT_EQ(rejection(make_batch(1, 1, {.transactional = true})), ErrorCode::invalid_record);
}

std::vector<int32_t> indexes(const std::vector<RejectedRecord>& records) {
  std::vector<int32_t> all;
  for (const RejectedRecord& record : records) all.push_back(record.index);
  return all;
}

TEST(BatchValidator, NamesAllRecordsWithoutAKeyWhereKeysAreRequired) {
  BatchBuilder builder;
  for (int i = 0; i < 10; ++i) {
    const bool has_key = i != 2 && i != 5 && i != 7;
    builder.add(kNow, has_key ? std::optional<std::string_view>("") : std::nullopt, "an empty key is a key");
  }
  const Bytes batch = build(builder);
  EXPECT_TRUE(rejection(batch).ok());
  std::vector<RejectedRecord> rejected;
  const auto result = validate_produced_batch(batch, {.key_required = true}, kNow, &rejected);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error(), ErrorCode::invalid_record);
  EXPECT_EQ(result.error().message(), "3 records have no key, which a compacted topic needs");
  EXPECT_EQ(indexes(rejected), (std::vector<int32_t>{2, 5, 7}));
}

TEST(BatchValidator, NamesNoMoreRecordsThanFitIntoAnAnswer) {
  BatchBuilder builder;
  for (size_t i = 0; i < kRejectedRecordsMax + 10; ++i) builder.add(kNow, std::nullopt, "");
  std::vector<RejectedRecord> rejected;
  EXPECT_FALSE(validate_produced_batch(build(builder), {.key_required = true}, kNow, &rejected));
  EXPECT_EQ(rejected.size(), kRejectedRecordsMax);
}

TEST(BatchValidator, KeepsCreateTimeWithinTheBounds) {
  const ProduceRules rules{.timestamp_before_max_ms = 1'000, .timestamp_after_max_ms = 10};
  EXPECT_TRUE(rejection(batch_at({kNow - 1'000, kNow, kNow + 10}), rules).ok());
  EXPECT_EQ(rejection(batch_at({kNow - 1'001}), rules), ErrorCode::invalid_timestamp);
  std::vector<RejectedRecord> rejected;
  const auto result = validate_produced_batch(batch_at({kNow, kNow + 11, kNow, kNow - 1'001}), rules, kNow, &rejected);
  EXPECT_EQ(result.error(), ErrorCode::invalid_timestamp);
  EXPECT_EQ(indexes(rejected), (std::vector<int32_t>{1, 3}));
  EXPECT_TRUE(rejection(batch_at({kNoTimestamp}), rules).ok()) << "no timestamp is not an old one";
}

TEST(BatchValidator, UnlimitedBoundsDoNotOverflow) {
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  const ProduceRules unlimited{.timestamp_before_max_ms = kMax, .timestamp_after_max_ms = kMax};
  EXPECT_TRUE(rejection(batch_at({0, kMax}), unlimited).ok());
  EXPECT_TRUE(rejection(batch_at({-2}), unlimited).ok());
  EXPECT_EQ(rejection(batch_at({kMax})), ErrorCode::invalid_timestamp) << "by default one hour ahead";
}

TEST(BatchValidator, IgnoresCreateTimeWhenTheTopicUsesLogAppendTime) {
  const ProduceRules rules{.timestamp_type = TimestampType::log_append_time, .timestamp_before_max_ms = 0};
  const auto validated = validate_produced_batch(batch_at({1, 2, 3}), rules, kNow);
  ASSERT_TRUE(validated) << validated.error().to_string();
  EXPECT_EQ(validated->timestamp, (BatchTimestamp{TimestampType::log_append_time, kNow}));
  EXPECT_EQ(validated->max_timestamp_offset_delta, 0);
}

TEST(BatchValidator, FindsTheMaximumTimestampItselfAndTheFirstRecordThatHasIt) {
  for (const WallTimeMs claimed : {kNoTimestamp, WallTimeMs{0}, kNow + 1'000'000}) {
    Bytes batch = batch_at({kNow - 5, kNow - 1, kNow - 3, kNow - 1});
    set_field(batch, batch_field::kMaxTimestamp, claimed);
    seal_batch(batch);
    const auto validated = validate_produced_batch(batch, {}, kNow);
    ASSERT_TRUE(validated) << validated.error().to_string();
    EXPECT_EQ(validated->timestamp.max, kNow - 1) << "claimed " << claimed;
    EXPECT_EQ(validated->max_timestamp_offset_delta, 1);
  }
}

}  // namespace
}  // namespace naru
