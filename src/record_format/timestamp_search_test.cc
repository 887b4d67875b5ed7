#include "record_format/timestamp_search.h"

#include <gtest/gtest.h>

#include <vector>

#include "record_format/batch_builder.h"
#include "record_format/compression.h"
#include "record_format/test_batches.h"

namespace naru {
namespace {

using namespace test_batches;

constexpr size_t kDecompressedLimit = 1 << 20;
constexpr Offset kBase{100};

Bytes batch_at(const std::vector<WallTimeMs>& timestamps, Compression codec,
               TimestampType type = TimestampType::create_time) {
  BatchBuilder builder({.base_offset = kBase, .compression = codec, .timestamp_type = type});
  for (const WallTimeMs timestamp : timestamps) builder.add(timestamp, "k", "v");
  return build(builder);
}

std::optional<TimestampedOffset> first_at(const Bytes& batch, WallTimeMs target, Offset from = Offset{0}) {
  const auto found = find_first_at_or_after(batch, target, from, kDecompressedLimit);
  EXPECT_TRUE(found) << found.error().to_string();
  return found.value_or(std::nullopt);
}

TEST(TimestampSearch, AgreesWithLookingAtEveryRecord) {
  const std::vector<WallTimeMs> timestamps{50, 20, 70, 70, 10, 90, 30};
  for (const Compression codec : kAllCodecs) {
    const Bytes batch = batch_at(timestamps, codec);
    for (WallTimeMs target = 0; target <= 100; target += 5) {
      for (int64_t from = 0; from <= static_cast<int64_t>(timestamps.size()); ++from) {
        std::optional<TimestampedOffset> expected;
        for (size_t i = static_cast<size_t>(from); i < timestamps.size() && !expected; ++i)
          if (timestamps[i] >= target) expected = {kBase + static_cast<int64_t>(i), timestamps[i]};
        EXPECT_EQ(first_at(batch, target, kBase + from), expected) << compression_name(codec) << " " << target;
      }
    }
  }
}

TEST(TimestampSearch, FindsTheFirstOfTheLatestRecords) {
  for (const Compression codec : kAllCodecs) {
    const auto found = find_max_timestamp(batch_at({10, 70, 30, 70}, codec), Offset(0), kDecompressedLimit);
    ASSERT_TRUE(found) << found.error().to_string();
    EXPECT_EQ(*found, (TimestampedOffset{kBase + 1, 70}));
  }
}

TEST(TimestampSearch, WithLogAppendTimeTheFirstRecordIsTheAnswer) {
  for (const Compression codec : kAllCodecs) {
    const Bytes batch = batch_at({10, 70, 30}, codec, TimestampType::log_append_time);
    EXPECT_EQ(first_at(batch, 70), (TimestampedOffset{kBase, 70}));
    EXPECT_EQ(first_at(batch, 71), std::nullopt);
    EXPECT_EQ(*find_max_timestamp(batch, Offset(0), kDecompressedLimit), (TimestampedOffset{kBase, 70}));
  }
}

TEST(TimestampSearch, FindsNothingInAnEmptiedBatch) {
  Bytes batch = with_records(batch_at({10}, Compression::none), {}, 1);
  set_field(batch, batch_field::kRecordsCount, int32_t{0});
  EXPECT_EQ(first_at(batch, 0), std::nullopt);
  EXPECT_EQ(*find_max_timestamp(batch, Offset(0), kDecompressedLimit), std::nullopt);
}

TEST(TimestampSearch, ReportsWhatItCannotRead) {
  const Bytes batch = batch_at(std::vector<WallTimeMs>(1'000, 10), Compression::zstd);
  EXPECT_EQ(find_first_at_or_after(batch, 10, Offset{0}, 100).error().code(), ErrorCode::message_too_large);
  Bytes broken = batch_at({10}, Compression::none);
  broken[kBatchHeaderSize] = std::byte{0x7e};
  EXPECT_EQ(find_first_at_or_after(broken, 10, Offset{0}, kDecompressedLimit).error().code(),
            ErrorCode::invalid_record);
  EXPECT_EQ(find_max_timestamp(broken, Offset(0), kDecompressedLimit).error().code(), ErrorCode::invalid_record);
}

}  // namespace
}  // namespace naru
