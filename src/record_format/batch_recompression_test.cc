#include "record_format/batch_recompression.h"

#include <gtest/gtest.h>
#include <zstd.h>

#include <random>
#include <vector>

#include "foundation/sanitized_testing.h"
#include "record_format/batch_validator.h"
#include "record_format/record_reader.h"
#include "record_format/test_batches.h"

namespace naru {
namespace {

using namespace test_batches;

Bytes rich_batch(Compression codec, TimestampType type = TimestampType::create_time) {
  BatchBuilder builder({.base_offset = Offset(100),
                        .leader_epoch = LeaderEpoch(7),
                        .compression = codec,
                        .timestamp_type = type,
                        .transactional = true,
                        .producer_id = ProducerId(9),
                        .producer_epoch = ProducerEpoch(3),
                        .base_sequence = 40});
  const std::string large(300, 'v');
  for (int i = 0; i < 20; ++i) {
    NewRecord record{.timestamp = kNow - 100 * i, .key = as_bytes("key"), .value = as_bytes(large)};
    if (i % 3 == 0) record.key = std::nullopt;
    if (i % 4 == 0) record.value = std::nullopt;
    if (i % 2 == 0) record.headers = {{"h", as_bytes("w")}, {"", std::nullopt}};
    builder.add(record);
  }
  return build(builder);
}

Bytes records_of(BytesView batch) {
  const BatchHeader header = parse_batch_header(batch).value();
  return decompress(*header.compression(), batch_records(batch), 1 << 20).value();
}

void expect_same_but_for_the_codec(BytesView before, BytesView after, Compression codec) {
  ASSERT_TRUE(batch_crc_matches(after));
  BatchHeader expected = parse_batch_header(before).value();
  const BatchHeader header = parse_batch_header(after).value();
  EXPECT_EQ(header.compression(), codec);
  EXPECT_EQ(header.total_size, after.size());
  EXPECT_EQ(header.attributes & ~batch_attribute::kCompressionMask,
            expected.attributes & ~batch_attribute::kCompressionMask);
  EXPECT_EQ(header.base_offset, expected.base_offset);
  EXPECT_EQ(header.leader_epoch, expected.leader_epoch);
  EXPECT_EQ(header.last_offset_delta, expected.last_offset_delta);
  EXPECT_EQ(header.base_timestamp, expected.base_timestamp);
  EXPECT_EQ(header.max_timestamp, expected.max_timestamp);
  EXPECT_EQ(header.producer_id, expected.producer_id);
  EXPECT_EQ(header.producer_epoch, expected.producer_epoch);
  EXPECT_EQ(header.base_sequence, expected.base_sequence);
  EXPECT_EQ(header.records_count, expected.records_count);
  EXPECT_TRUE(equal_bytes(records_of(after), records_of(before))) << "keys, values, headers and deltas";
}

TEST(BatchRecompression, FromEachCodecToEachOtherChangesTheCodecAlone) {
  for (const Compression from : kAllCodecs) {
    for (const Compression to : kAllCodecs) {
      for (const TimestampType type : {TimestampType::create_time, TimestampType::log_append_time}) {
        SCOPED_TRACE(fmt::format("{} to {}", compression_name(from), compression_name(to)));
        const Bytes before = rich_batch(from, type);
        const auto after = recompress_batch(before, records_of(before), {to});
        ASSERT_TRUE(after.has_value()) << after.error().to_string();
        expect_same_but_for_the_codec(before, *after, to);
      }
    }
  }
}

TEST(BatchRecompression, ThereAndBackGivesTheSameBytes) {
  const Bytes before = rich_batch(Compression::none);
  for (const Compression codec : kAllCodecs) {
    const Bytes there = recompress_batch(before, records_of(before), {codec}).value();
    EXPECT_TRUE(equal_bytes(recompress_batch(there, records_of(there), {Compression::none}).value(), before));
  }
}

TEST(BatchRecompression, EveryLevelCanBeReadAndHigherOnesMakeLess) {
  BatchBuilder builder;
  std::mt19937 random(3);
  for (int i = 0; i < 200; ++i) {
    std::string value;
    for (int word = 0; word < 40; ++word) value += fmt::format("word{} ", random() % 97);
    builder.add(kNow, "key", value);
  }
  const Bytes before = build(builder);
  const auto size_with = [&](Compression codec, int level) {
    const Bytes after = recompress_batch(before, records_of(before), {codec, level}).value();
    expect_same_but_for_the_codec(before, after, codec);
    return after.size();
  };
  for (int level = 1; level <= 9; ++level) size_with(Compression::gzip, level);
  for (int level = 1; level <= 17; ++level) size_with(Compression::lz4, level);
  for (const int level : {-131072, -7, -1, 0, 1, 3, 9, 19, 22}) size_with(Compression::zstd, level);
  EXPECT_LT(size_with(Compression::gzip, 9), size_with(Compression::gzip, 1));
  EXPECT_LT(size_with(Compression::lz4, 12), size_with(Compression::lz4, 9)) << "level 9 is the fast one";
  EXPECT_LT(size_with(Compression::zstd, 19), size_with(Compression::zstd, -7));
}

TEST(BatchRecompression, TakesNoMoreMemoryThanItSays) {
  std::mt19937 random(5);
  for (const size_t size : {0uz, 1uz, 1000uz, 100'000uz, 1'000'000uz, 4'000'000uz}) {
    Bytes incompressible(size);
    for (std::byte& byte : incompressible) byte = static_cast<std::byte>(random());
    for (const Compression codec : kAllCodecs) {
      Bytes output;
      ASSERT_TRUE(append_compressed({codec}, incompressible, output).ok());
      EXPECT_LE(output.capacity(), compression_memory({codec}, size)) << compression_name(codec) << " " << size;
    }
    if (kSanitized && size > 100'000) continue;
    const Bytes zeros(size);
    Bytes output(ZSTD_compressBound(size));
    for (int level = 1; level <= ZSTD_maxCLevel(); ++level) {
      ZSTD_CCtx* context = ZSTD_createCCtx();
      ZSTD_compressCCtx(context, output.data(), output.size(), zeros.data(), zeros.size(), level);
      EXPECT_LE(ZSTD_sizeof_CCtx(context) + output.size(), compression_memory({Compression::zstd, level}, size))
          << "level " << level << ", " << size;
      ZSTD_freeCCtx(context);
    }
  }
}

TEST(BatchRecompression, IsWhatAProducerMightHaveSent) {
  for (const Compression to : kAllCodecs) {
    const Bytes before = make_batch(5, 1000, {.compression = Compression::gzip});
    const Bytes after = recompress_batch(before, records_of(before), {to}).value();
    const auto validated = validate_produced_batch(after, {}, kNow);
    EXPECT_TRUE(validated.has_value()) << compression_name(to) << ": " << validated.error().to_string();
  }
}

}  // namespace
}  // namespace naru
