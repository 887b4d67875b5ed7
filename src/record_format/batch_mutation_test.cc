// Random damage with a CRC that fits: what a hostile or mistaken producer can send. Whatever the validator accepts must
// keep the promises that everybody behind it relies on.
#include <gtest/gtest.h>

#include <random>

#include "record_format/batch_validator.h"
#include "record_format/compression.h"
#include "record_format/record_reader.h"
#include "record_format/test_batches.h"
#include "record_format/timestamp_search.h"

namespace naru {
namespace {

using namespace test_batches;

constexpr ProduceRules kRules{.max_decompressed_bytes = 1 << 20};

using Random = std::mt19937_64;

void mutate(Bytes& bytes, size_t begin, Random& random) {
  for (auto left = 1 + random() % 4; left > 0 && begin < bytes.size(); --left) {
    const size_t at = begin + random() % (bytes.size() - begin);
    const auto position = bytes.begin() + static_cast<ptrdiff_t>(at);
    switch (random() % 4) {
      case 0:
        *position = static_cast<std::byte>(random());
        break;
      case 1:
        *position ^= std::byte{1} << (random() % 8);
        break;
      case 2:
        bytes.insert(position, static_cast<std::byte>(random()));
        break;
      case 3:
        bytes.erase(position);
        break;
    }
  }
}

// Returns whether the batch was accepted.
bool check_promises(const Bytes& batch) {
  const auto validated = validate_produced_batch(batch, kRules, kNow);
  if (!validated) {
    EXPECT_FALSE(validated.error().message().empty());
    return false;
  }
  Decompressor decompressor;
  auto reader = open_records(validated->header, batch, decompressor, kRules.max_decompressed_bytes);
  EXPECT_TRUE(reader);
  RecordView record;
  int32_t count = 0;
  WallTimeMs max_timestamp = std::numeric_limits<WallTimeMs>::min();
  for (; reader->next(record); ++count) {
    EXPECT_EQ(record.offset_delta, count);
    max_timestamp = std::max(max_timestamp, record.timestamp);
    RecordHeaders headers = record.headers();
    while (const auto header = headers.next()) EXPECT_LE(header->key.size(), batch.size());
  }
  EXPECT_TRUE(reader->status().ok());
  EXPECT_EQ(count, validated->header.records_count);
  EXPECT_EQ(max_timestamp, validated->timestamp.max);

  const StoredHeader header = make_stored_header(batch, Offset{7}, LeaderEpoch{1}, validated->timestamp);
  Bytes stored(header.begin(), header.end());
  append_bytes(stored, batch_records(batch));
  EXPECT_TRUE(batch_crc_matches(stored));
  EXPECT_EQ(*find_max_timestamp(stored, Offset(0), kRules.max_decompressed_bytes),
            (TimestampedOffset{Offset{7} + validated->max_timestamp_offset_delta, max_timestamp}));
  return true;
}

Bytes small_batch(Compression codec) {
  BatchBuilder builder({.compression = codec});
  builder.add(kNow, "k", "value");
  builder.add({.timestamp = kNow - 7, .value = as_bytes("v"), .headers = {{"h", std::nullopt}, {"i", as_bytes("j")}}});
  builder.add(kNow + 300, std::nullopt, std::nullopt);
  return build(builder);
}

TEST(MutatedBatch, NeverBreaksAPromise) {
  Random random(20240607);
  int accepted = 0;
  for (const Compression codec : kAllCodecs) {
    const Bytes original = small_batch(codec);
    for (int round = 0; round < 20'000; ++round) {
      Bytes batch = original;
      mutate(batch, batch_field::kAttributes, random);
      if (batch.size() < kBatchHeaderSize) continue;
      seal_batch(batch);
      if (check_promises(batch)) ++accepted;
    }
  }
  EXPECT_GT(accepted, 1'000) << "some damage only changes a key, a value or a timestamp";
}

TEST(MutatedRecords, NeverBreakAPromiseWhenCompressedAfterwards) {
  Random random(8);
  const Bytes original = small_batch(Compression::none);
  int accepted = 0;
  for (const Compression codec : kAllCodecs) {
    const Bytes frame = small_batch(codec);
    for (int round = 0; round < 4'000; ++round) {
      Bytes records(original.begin() + kBatchHeaderSize, original.end());
      mutate(records, 0, random);
      if (check_promises(with_records(frame, *compress(codec, records), 3))) ++accepted;
    }
  }
  EXPECT_GT(accepted, 1'000);
}

}  // namespace
}  // namespace naru
