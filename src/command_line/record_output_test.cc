#include "command_line/record_output.h"

#include <gtest/gtest.h>

#include "record_format/batch_builder.h"

namespace naru::command_line {
namespace {

const client::TopicPartition kPartition{"orders", PartitionIndex(2)};

// A record with everything, as a consumer sees it.
class RecordOutputTest : public testing::Test {
 protected:
  RecordOutputTest() {
    BatchBuilder builder({.base_offset = Offset(41)});
    builder.add({.timestamp = 1'700'000'000'123,
                 .key = as_bytes("k"),
                 .value = as_bytes("v"),
                 .headers = {{"h", as_bytes("1")}, {"none", std::nullopt}}});
    builder.add({.timestamp = 0, .value = as_bytes("\xff")});
    batch_ = builder.build().value();
    const auto header = parse_batch_header(batch_).value();
    RecordReader reader(header, batch_records(batch_));
    EXPECT_TRUE(reader.next(full_));
    EXPECT_TRUE(reader.next(binary_));
  }

  std::string show(const RecordView& record, const ConsumeFlags& flags, bool json = false) {
    std::string text;
    RecordOutput::create(flags, json).value().append(text, kPartition, record);
    return text;
  }

  Bytes batch_;
  RecordView full_, binary_;
};

TEST_F(RecordOutputTest, TheValueAloneUnlessMoreIsAskedFor) {
  EXPECT_EQ(show(full_, {}), "v\n");
  EXPECT_EQ(show(full_, {.keys = true, .headers = true, .timestamps = true, .offsets = true}),
            "2023-11-14T22:13:20.123Z\t2\t41\th=1,none=\tk\tv\n");
  EXPECT_EQ(show(binary_, {.keys = true}), "\t\xff\n");
}

TEST_F(RecordOutputTest, AFormatOfOnesOwn) {
  EXPECT_EQ(show(full_, {.format = "{topic}/{partition}/{offset} {timestamp}\\t{key}\\\\{value}\\n{headers}"}),
            "orders/2/41 1700000000123\tk\\v\nh=1,none=\n");
  const auto wrong = RecordOutput::create({.format = "{valeu}"}, false);
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().message().find("{valeu}"), std::string::npos) << wrong.error().message();
  EXPECT_FALSE(RecordOutput::create({.format = "x{value"}, false));
}

TEST_F(RecordOutputTest, OneJsonObjectPerLine) {
  EXPECT_EQ(show(full_, {}, true),
            "{\"topic\":\"orders\",\"partition\":2,\"offset\":41,\"timestamp\":1700000000123,\"key\":\"k\","
            "\"value\":\"v\",\"headers\":[{\"key\":\"h\",\"value\":\"1\"},{\"key\":\"none\",\"value\":null}]}\n");
  EXPECT_EQ(show(binary_, {}, true),
            "{\"topic\":\"orders\",\"partition\":2,\"offset\":42,\"timestamp\":0,\"key\":null,"
            "\"value_base64\":\"/w==\",\"headers\":[]}\n");
}

}  // namespace
}  // namespace naru::command_line
