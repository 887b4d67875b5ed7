#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <set>

#include "foundation/byte_reader.h"
#include "foundation/byte_writer.h"
#include "foundation/crc32c.h"
#include "foundation/ids.h"
#include "foundation/log.h"
#include "foundation/status.h"
#include "foundation/uuid.h"

namespace naru {
namespace {

TEST(Crc32c, MatchesThePublishedCheckValue) {
  EXPECT_EQ(crc32c(as_bytes("123456789")), 0xE3069283u);
}

TEST(Crc32c, ExtendingEqualsOneGo) {
  EXPECT_EQ(crc32c_extend(crc32c(as_bytes("1234")), as_bytes("56789")), crc32c(as_bytes("123456789")));
  EXPECT_EQ(crc32c_extend(crc32c(as_bytes("1234")), {}), crc32c(as_bytes("1234")));
}

TEST(ErrorTable, HasEachCodeOnceAndKafkaCodesKeepTheirNumber) {
  std::set<ErrorCode> seen;
  for (const ErrorRow& row : error_table()) {
    EXPECT_TRUE(seen.insert(row.code).second) << row.name;
    if (static_cast<int>(row.code) < 1000) EXPECT_EQ(row.wire_code, static_cast<int16_t>(row.code)) << row.name;
    if (static_cast<int>(row.code) >= 1000) EXPECT_LT(row.wire_code, 1000) << row.name;
    EXPECT_FALSE(row.meaning.empty()) << row.name;
  }
}

TEST(Uuid, TextFormIsKafkas) {
  EXPECT_EQ((Uuid{0, 0}).to_string(), "AAAAAAAAAAAAAAAAAAAAAA");
  EXPECT_EQ((Uuid{0, 1}).to_string(), "AAAAAAAAAAAAAAAAAAAAAQ");
  EXPECT_EQ((Uuid{~0ULL, ~0ULL}).to_string(), "_____________________w");
}

TEST(Uuid, ParseIsTheInverseAndRefusesAnythingElse) {
  const Uuid id{0x0123456789abcdefULL, 0xfedcba9876543210ULL};
  EXPECT_EQ(Uuid::parse(id.to_string()), id);
  EXPECT_EQ(Uuid::parse(""), std::nullopt);
  EXPECT_EQ(Uuid::parse("AAAAAAAAAAAAAAAAAAAAA="), std::nullopt);
  EXPECT_EQ(Uuid::parse("_____________________x"), std::nullopt) << "bits beyond the 128th";
}

TEST(Varint, RoundTripsTheEdges) {
  for (const int64_t value : std::initializer_list<int64_t>{
           0, 1, -1, 63, -64, 64, 300, -301, std::numeric_limits<int32_t>::max(), std::numeric_limits<int32_t>::min(),
           std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()}) {
    Bytes bytes;
    ByteWriter(bytes).write_varlong(value);
    ByteReader reader(bytes);
    EXPECT_EQ(reader.read_varlong(), value);
    EXPECT_TRUE(reader.ok() && reader.at_end());
  }
}

TEST(Varint, RefusesTooManyBytesAndBitsBeyondTheType) {
  const auto decode_fails = [](std::string_view text) {
    ByteReader reader(as_bytes(text));
    reader.read_uvarint();
    return !reader.ok();
  };
  EXPECT_FALSE(decode_fails("\xff\xff\xff\xff\x0f"));
  EXPECT_TRUE(decode_fails("\xff\xff\xff\xff\x1f"));
  EXPECT_TRUE(decode_fails("\x80\x80\x80\x80\x80\x01"));
  EXPECT_TRUE(decode_fails("\x80"));
}

TEST(ByteReader, FirstErrorSticksWithItsPosition) {
  ByteReader reader(as_bytes("abc"));
  EXPECT_EQ(reader.read_int<int8_t>(), 'a');
  EXPECT_EQ(reader.read_int<int32_t>(), 0);
  EXPECT_EQ(reader.read_int<int8_t>(), 0) << "nothing is read after an error";
  EXPECT_STREQ(reader.error(), "truncated integer");
  EXPECT_EQ(reader.position(), 1u);
}

Result<int> half_of_even(int number) {
  if (number % 2 != 0) return failure(ErrorCode::invalid_argument, "{} is odd", number);
  return number / 2;
}
Result<int> quarter(int number) {
  NARU_TRY_ASSIGN(const int half, half_of_even(number));
  NARU_TRY_ASSIGN(const int result, half_of_even(half));
  return result;
}

TEST(Result, TryPropagatesTheFirstError) {
  EXPECT_EQ(quarter(12).value(), 3);
  EXPECT_EQ(quarter(6).error().to_string(), "INVALID_ARGUMENT: 3 is odd");
}

TEST(Log, AComponentHasALevelOfItsOwnOrFollowsTheRoot) {
  const LogLevel before = log_level();
  set_log_level(LogLevel::warn);
  set_component_log_level("groups", LogLevel::debug);
  EXPECT_TRUE(log_enabled(LogLevel::debug, "groups"));
  EXPECT_FALSE(log_enabled(LogLevel::info, "partition"));
  set_log_level(LogLevel::error);
  EXPECT_EQ(component_log_level("groups"), LogLevel::debug);
  EXPECT_EQ(component_log_level("partition"), LogLevel::error);
  set_component_log_level("groups", std::nullopt);
  EXPECT_EQ(component_log_level("groups"), LogLevel::error);
  set_log_level(before);
}

TEST(Log, ComponentsAreFoundByName) {
  EXPECT_EQ(LogComponent::find("slow request")->name(), "slow request");
  EXPECT_FALSE(LogComponent::find("root"));
  EXPECT_TRUE(std::ranges::is_sorted(kLogComponents));
}

TEST(StrongInt, DistancesAreNumbersAndSumsAreIds) {
  EXPECT_EQ(Offset(7) - Offset(3), 4);
  EXPECT_EQ(Offset(7) + 3, Offset(10));
  EXPECT_EQ(fmt::format("{}", Offset(7)), "7");
}

}  // namespace
}  // namespace naru
