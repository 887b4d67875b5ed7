#include "kafka_protocol/stored_value.h"

#include <gtest/gtest.h>

#include "kafka_protocol/messages/response_header.h"
#include "kafka_protocol/test_bytes.h"
#include "toy_records/toy_value.h"

namespace naru::kafka {
namespace {

// Any message will do: a stored value differs only by the version in front.
using Value = ResponseHeader;

TEST(StoredValue, HasItsVersionInFront) {
  EXPECT_EQ(to_hex(encode_stored_value(Value{.correlation_id = 7})), "00010000000700");
  EXPECT_EQ(to_hex(encode_stored_value(Value{.correlation_id = 7}, 0)), "000000000007");
}

TEST(StoredValue, IsReadInTheVersionItWasWritten) {
  EXPECT_EQ(decode_stored_value<Value>(from_hex("00010000000700"))->correlation_id, 7);
  EXPECT_EQ(decode_stored_value<Value>(from_hex("000000000007"))->correlation_id, 7);
}

TEST(StoredValue, OfANewerNaruIsNotCalledCorrupt) {
  EXPECT_EQ(decode_stored_value<Value>(from_hex("0002 00000007 00")).error(), ErrorCode::unsupported_format);
  EXPECT_EQ(decode_stored_value<Value>(from_hex("ffff 00000007 00")).error(), ErrorCode::unsupported_format);
}

TEST(StoredValue, ThatIsTooShortOrTooLongIsCorrupt) {
  EXPECT_EQ(decode_stored_value<Value>({}).error(), ErrorCode::corrupt_data);
  EXPECT_EQ(decode_stored_value<Value>(from_hex("00")).error(), ErrorCode::corrupt_data);
  EXPECT_EQ(decode_stored_value<Value>(from_hex("0001 000000")).error(), ErrorCode::corrupt_data);
  EXPECT_EQ(decode_stored_value<Value>(from_hex("0000 00000007 00")).error().message(),
            "ResponseHeader v0: bytes are left over at byte 6");
}

TEST(StoredValueDeathTest, IsNeverWrittenWithAStringCutShort) {
  toy::ToyValue value{.maybe_text = std::string(kStringSizeMax, 'x')};
  EXPECT_EQ(decode_stored_value<toy::ToyValue>(encode_stored_value(value))->maybe_text, value.maybe_text);
  value.maybe_text->push_back('x');
  EXPECT_DEATH(encode_stored_value(value), "longer than 32767 bytes");
}

}  // namespace
}  // namespace naru::kafka
