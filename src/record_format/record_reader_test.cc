#include "record_format/record_reader.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "record_format/batch_builder.h"
#include "record_format/test_batches.h"

namespace naru {
namespace {

using namespace test_batches;

// Reads all records of an uncompressed batch and returns what the reader says at the end.
Status read_all(const Bytes& batch, std::vector<RecordView>* records = nullptr) {
  RecordReader reader(*parse_batch_header(batch), batch_records(batch));
  RecordView record;
  while (reader.next(record))
    if (records != nullptr) records->push_back(record);
  EXPECT_FALSE(reader.next(record)) << "the end stays the end";
  return reader.status();
}

Bytes batch_of(std::string_view records_in_hex, int32_t count) {
  return with_records(two_records_fixture(), from_hex(records_in_hex), count);
}

std::string problem(std::string_view records_in_hex, int32_t count = 1) {
  const Status status = read_all(batch_of(records_in_hex, count));
  EXPECT_EQ(status.code(), ErrorCode::invalid_record);
  return status.message();
}

TEST(RecordReader, ReadsTheTwoRecordsFixture) {
  const Bytes batch = two_records_fixture();
  std::vector<RecordView> records;
  ASSERT_TRUE(read_all(batch, &records).ok());
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0].offset, Offset{0});
  EXPECT_EQ(records[0].timestamp, kNow);
  EXPECT_EQ(as_text(*records[0].key), "k");
  EXPECT_EQ(as_text(*records[0].value), "v");
  EXPECT_EQ(records[0].headers().left(), 0);
  EXPECT_EQ(records[1].offset, Offset{1});
  EXPECT_EQ(records[1].timestamp, kNow + 5);
  EXPECT_FALSE(records[1].key);
  EXPECT_EQ(as_text(*records[1].value), "hi");
  RecordHeaders headers = records[1].headers();
  const auto header = headers.next();
  ASSERT_TRUE(header);
  EXPECT_EQ(header->key, "h");
  EXPECT_FALSE(header->value);
  EXPECT_FALSE(headers.next());
}

TEST(RecordReader, TellsNullFromEmptyInKeysValuesAndHeaders) {
  BatchBuilder builder;
  builder.add(kNow, std::nullopt, std::nullopt);
  builder.add(kNow, "", "");
  builder.add({.timestamp = kNow, .headers = {{"", std::nullopt}, {"a", BytesView{}}, {"a", as_bytes("again")}}});
  const Bytes batch = build(builder);
  std::vector<RecordView> records;
  ASSERT_TRUE(read_all(batch, &records).ok());
  EXPECT_FALSE(records[0].key || records[0].value);
  ASSERT_TRUE(records[1].key && records[1].value);
  EXPECT_TRUE(records[1].key->empty() && records[1].value->empty());
  RecordHeaders headers = records[2].headers();
  EXPECT_EQ(headers.left(), 3);
  EXPECT_FALSE(headers.next()->value);
  EXPECT_TRUE(headers.next()->value->empty());
  EXPECT_EQ(as_text(*headers.next()->value), "again");
}

TEST(RecordReader, GivesAllRecordsTheMaximumTimestampWithLogAppendTime) {
  BatchBuilder builder({.timestamp_type = TimestampType::log_append_time});
  builder.add(kNow - 100, "a", "1");
  builder.add(kNow, "b", "2");
  const Bytes batch = build(builder);
  std::vector<RecordView> records;
  ASSERT_TRUE(read_all(batch, &records).ok());
  EXPECT_EQ(records[0].timestamp, kNow);
  EXPECT_EQ(records[1].timestamp, kNow);
}

TEST(RecordReader, AcceptsTheGapsThatCompactionLeaves) {
  // Of the offsets 0 to 9 only 3 and 7 are left.
  Bytes batch = batch_of("0c 00 00 06 01 01 00 0c 00 00 0e 01 01 00", 2);
  set_field(batch, batch_field::kLastOffsetDelta, int32_t{9});
  std::vector<RecordView> records;
  ASSERT_TRUE(read_all(batch, &records).ok());
  EXPECT_EQ(records[0].offset, Offset{3});
  EXPECT_EQ(records[1].offset, Offset{7});
}

TEST(RecordReader, AcceptsAnEmptiedBatch) {
  Bytes batch = batch_of("", 1);
  set_field(batch, batch_field::kRecordsCount, int32_t{0});
  EXPECT_TRUE(read_all(batch).ok());
}

TEST(RecordReader, NamesWhatIsWrong) {
  EXPECT_EQ(problem("0c 00 00 00 01 01 00", 2),
            "record 1 (of 2, at byte 7 of the records): fewer records than the batch's record count");
  EXPECT_EQ(problem("0c 00 00 00 01 01 00 ff"),
            "record 1 (of 1, at byte 7 of the records): bytes behind the last record");
  EXPECT_EQ(problem("0e 00 00 00 01 01 00"),
            "record 0 (of 1, at byte 0 of the records): length reaches beyond the end");
  EXPECT_NE(problem("01 00 00 00 01 01 00").find("negative record length"), std::string::npos);
  EXPECT_NE(problem("0e 00 00 00 01 01 00 00").find("record length is larger than its content"), std::string::npos);
  EXPECT_NE(problem("0a 00 00 00 01 01").find("truncated varint"), std::string::npos) << "no header count";
  EXPECT_NE(problem("00").find("truncated integer"), std::string::npos) << "empty record";
  EXPECT_NE(problem("0c 00 00 00 03 01 00").find("negative length"), std::string::npos) << "key";
  EXPECT_NE(problem("0c 00 00 00 01 03 00").find("negative length"), std::string::npos) << "value";
  EXPECT_NE(problem("0c 00 00 00 7e 01 00").find("length reaches beyond the end"), std::string::npos) << "key";
  EXPECT_NE(problem("0c 00 00 00 01 01 01").find("negative header count"), std::string::npos);
  EXPECT_NE(problem("0c 00 00 00 01 01 02").find("more headers than bytes"), std::string::npos);
  EXPECT_NE(problem("14 00 00 00 01 01 feffffff0f").find("more headers than bytes"), std::string::npos);
  EXPECT_NE(problem("10 00 00 00 01 01 02 01 01").find("header without a key"), std::string::npos);
  EXPECT_NE(problem("10 00 00 00 01 01 02 00 03").find("negative length"), std::string::npos) << "header value";
  EXPECT_NE(problem("10 00 00 00 01 01 02 04 01").find("length reaches beyond the end"), std::string::npos);
  EXPECT_NE(problem("0c 00 00 02 01 01 00").find("offset delta is beyond"), std::string::npos);
  EXPECT_NE(problem("0c 00 00 01 01 01 00").find("offset delta is not larger"), std::string::npos) << "negative";
  EXPECT_NE(problem("0c 00 00 00 01 01 00 0c 00 00 00 01 01 00", 2).find("offset delta is not larger"),
            std::string::npos);
  EXPECT_NE(problem("ffffffffff7f 00").find("varint too long"), std::string::npos);
  EXPECT_NE(problem("1e 00 ffffffffffffffffff02 00 01 01 00").find("varint too long"), std::string::npos);
}

TEST(RecordReader, RefusesTimestampsThatOverflow) {
  Bytes batch = batch_of("0c 00 02 00 01 01 00", 1);
  set_field(batch, batch_field::kBaseTimestamp, std::numeric_limits<int64_t>::max());
  EXPECT_NE(read_all(batch).message().find("timestamp delta leaves the range"), std::string::npos);
}

TEST(OpenRecords, ReadsEveryCodecAlike) {
  for (const Compression codec : kAllCodecs) {
    const Bytes batch = make_batch(100, 300, {.compression = codec});
    Decompressor decompressor;
    auto reader = open_records(*parse_batch_header(batch), batch, decompressor, 1 << 20);
    ASSERT_TRUE(reader) << reader.error().to_string();
    RecordView record;
    int count = 0;
    for (; reader->next(record); ++count) {
      EXPECT_EQ(as_text(*record.key), fmt::format("key-{}", count));
      EXPECT_EQ(record.value->size(), 300u);
    }
    EXPECT_EQ(count, 100);
    EXPECT_TRUE(reader->status().ok()) << reader->status().to_string();
  }
}

TEST(OpenRecords, DoesNotDecompressAnEmptiedBatch) {
  Bytes batch = with_records(make_batch(1, 1, {.compression = Compression::gzip}), {}, 1);
  set_field(batch, batch_field::kRecordsCount, int32_t{0});
  Decompressor decompressor;
  auto reader = open_records(*parse_batch_header(batch), batch, decompressor, 1 << 20);
  ASSERT_TRUE(reader);
  RecordView record;
  EXPECT_FALSE(reader->next(record));
  EXPECT_TRUE(reader->status().ok());
}

TEST(OpenRecords, RefusesUnknownCodecs) {
  Bytes batch = two_records_fixture();
  set_field(batch, batch_field::kAttributes, int16_t{5});
  Decompressor decompressor;
  EXPECT_EQ(open_records(*parse_batch_header(batch), batch, decompressor, 100).error().code(),
            ErrorCode::unsupported_compression_type);
}

}  // namespace
}  // namespace naru
