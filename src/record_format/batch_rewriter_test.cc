#include "record_format/batch_rewriter.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "record_format/batch_builder.h"

namespace naru {
namespace {

constexpr std::array kAllCodecs{Compression::none, Compression::gzip, Compression::snappy, Compression::lz4,
                                Compression::zstd};
constexpr size_t kLimit = 1 << 20;

struct Rewritten {
  BatchHeader header;
  std::vector<std::string> records;  // offset, time, key, value and headers as text
};

std::string describe(const RecordView& record) {
  const auto text = [](const std::optional<BytesView>& bytes) {
    return bytes ? fmt::format("'{}'", as_text(*bytes)) : std::string("null");
  };
  std::string line = fmt::format("{} {} {}={}", record.offset, record.timestamp, text(record.key), text(record.value));
  for (auto headers = record.headers(); auto header = headers.next();) {
    line += fmt::format(" {}:{}", header->key, text(header->value));
  }
  return line;
}

Rewritten read(BytesView batch) {
  EXPECT_TRUE(batch_crc_matches(batch));
  Rewritten result{.header = parse_batch_header(batch).value()};
  Decompressor decompressor;
  auto reader = open_records(result.header, batch, decompressor, kLimit);
  EXPECT_TRUE(reader.has_value()) << reader.error().to_string();
  for (RecordView record; reader->next(record);) result.records.push_back(describe(record));
  EXPECT_TRUE(reader->status().ok()) << reader->status().to_string();
  return result;
}

Bytes batch_of_six(Compression codec, TimestampType type = TimestampType::create_time) {
  BatchBuilder builder({.base_offset = Offset(100),
                        .leader_epoch = LeaderEpoch(7),
                        .compression = codec,
                        .timestamp_type = type,
                        .producer_id = ProducerId(9),
                        .producer_epoch = ProducerEpoch(3),
                        .base_sequence = 40});
  for (int i = 0; i < 6; ++i) {
    const std::string key = fmt::format("key {}", i % 4);
    const std::string value(static_cast<size_t>(i * 20), 'v');
    NewRecord record{.timestamp = 5000 - 100 * i, .key = as_bytes(key), .value = as_bytes(value)};
    if (i == 3) record.value = std::nullopt;
    if (i % 2 == 0) record.headers = {{"h", as_bytes(value)}, {"", std::nullopt}};
    builder.add(record);
  }
  return builder.build().value();
}

// Keeps the records whose bit is set.
Result<Bytes> rewrite(BytesView batch, unsigned kept, std::optional<WallTimeMs> horizon = {}) {
  const BatchHeader header = parse_batch_header(batch).value();
  BatchRewriter rewriter(header, horizon);
  Decompressor decompressor;
  auto reader = open_records(header, batch, decompressor, kLimit).value();
  for (RecordView record; reader.next(record);) {
    if ((kept >> record.offset_delta & 1u) != 0) rewriter.keep(record);
  }
  return rewriter.build();
}

TEST(BatchRewriter, KeepsWhatIsToldAndNothingOfItChanges) {
  for (const Compression codec : kAllCodecs) {
    const Bytes original = batch_of_six(codec);
    const Rewritten before = read(original);
    for (unsigned kept = 1; kept < 64; ++kept) {
      for (const auto horizon : {std::optional<WallTimeMs>(), std::optional<WallTimeMs>(1'700'000'000'000)}) {
        const Rewritten after = read(rewrite(original, kept, horizon).value());
        std::vector<std::string> expected;
        WallTimeMs latest = 0;
        for (unsigned i = 0; i < 6; ++i) {
          if ((kept >> i & 1u) == 0) continue;
          expected.push_back(before.records[i]);
          latest = std::max<WallTimeMs>(latest, 5000 - 100 * i);
        }
        EXPECT_EQ(after.records, expected);
        EXPECT_EQ(after.header.base_offset, Offset(100));
        EXPECT_EQ(after.header.last_offset(), Offset(105));
        EXPECT_EQ(after.header.leader_epoch, LeaderEpoch(7));
        EXPECT_EQ(after.header.producer_id, ProducerId(9));
        EXPECT_EQ(after.header.producer_epoch, ProducerEpoch(3));
        EXPECT_EQ(after.header.base_sequence, 40);
        EXPECT_EQ(after.header.compression(), codec);
        EXPECT_EQ(after.header.max_timestamp, latest);
        EXPECT_EQ(after.header.has_delete_horizon(), horizon.has_value());
        if (horizon) EXPECT_EQ(after.header.base_timestamp, *horizon);
      }
    }
  }
}

TEST(BatchRewriter, ADeleteHorizonIsSetOnce) {
  const Bytes first = rewrite(batch_of_six(Compression::lz4), 0b111111, 9000).value();
  const Rewritten second = read(rewrite(first, 0b001000, 12'000).value());
  EXPECT_EQ(second.header.base_timestamp, 9000);
  EXPECT_EQ(second.records, (std::vector<std::string>{"103 4700 'key 3'=null"}));
}

TEST(BatchRewriter, LogAppendTimeStaysTheTimeOfAllRecords) {
  const Bytes original = batch_of_six(Compression::none, TimestampType::log_append_time);
  const Rewritten after = read(rewrite(original, 0b100100, 1'000'000).value());
  EXPECT_EQ(after.header.max_timestamp, 5000);
  EXPECT_EQ(after.header.timestamp_type(), TimestampType::log_append_time);
  for (const std::string& record : after.records) EXPECT_NE(record.find(" 5000 "), std::string::npos) << record;
}

TEST(BatchRewriter, RefusesWhatTheFormatCannotExpress) {
  BatchBuilder builder;
  builder.add(std::numeric_limits<WallTimeMs>::min() + 10, "k", std::nullopt);
  const Bytes original = builder.build().value();
  EXPECT_TRUE(rewrite(original, 1).has_value());
  EXPECT_EQ(rewrite(original, 1, 1'000).error().code(), ErrorCode::invalid_argument);
}

TEST(BatchRewriter, AnEmptiedBatchKeepsItsProducersSequences) {
  const Bytes original = batch_of_six(Compression::zstd);
  const Bytes emptied = make_emptied_batch(parse_batch_header(original).value());
  EXPECT_EQ(emptied.size(), kBatchHeaderSize);
  const Rewritten after = read(emptied);
  EXPECT_TRUE(after.records.empty());
  EXPECT_EQ(after.header.base_offset, Offset(100));
  EXPECT_EQ(after.header.next_offset(), Offset(106));
  EXPECT_EQ(after.header.producer_id, ProducerId(9));
  EXPECT_EQ(after.header.producer_epoch, ProducerEpoch(3));
  EXPECT_EQ(after.header.base_sequence, 40);
  EXPECT_EQ(after.header.max_timestamp, 5000);
  EXPECT_EQ(after.header.compression(), Compression::none) << "no bytes are not a frame of a codec";
  EXPECT_FALSE(is_filler(after.header));
}

TEST(BatchRewriter, AFillerSpansRemovedOffsetsUpToTheLargestDistance) {
  for (const int64_t span : {int64_t{1}, int64_t{1000}, int64_t{1} << 31}) {
    const Rewritten filler = read(make_filler_batch(Offset(5), Offset(5 + span), LeaderEpoch(2)));
    EXPECT_EQ(filler.header.base_offset, Offset(5));
    EXPECT_EQ(filler.header.next_offset(), Offset(5 + span));
    EXPECT_EQ(filler.header.leader_epoch, LeaderEpoch(2));
    EXPECT_TRUE(filler.records.empty());
    EXPECT_TRUE(is_filler(filler.header));
  }
}

}  // namespace
}  // namespace naru
