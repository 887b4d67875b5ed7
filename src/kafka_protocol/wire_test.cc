#include <gtest/gtest.h>

#include <string>

#include "foundation/ids.h"
#include "kafka_protocol/test_bytes.h"
#include "kafka_protocol/wire_reader.h"
#include "kafka_protocol/wire_writer.h"

namespace naru::kafka {
namespace {

using enum LengthForm;

template <class Write>
std::string written(Write write) {
  Bytes bytes;
  WireWriter writer(bytes);
  write(writer);
  return to_hex(bytes);
}

TEST(WireWriter, WritesBothFormsOfLengths) {
  EXPECT_EQ(written([](auto& to) { to.write_string("hi", fixed); }), "00026869");
  EXPECT_EQ(written([](auto& to) { to.write_string("hi", compact); }), "036869");
  EXPECT_EQ(written([](auto& to) { to.write_nullable_string(std::optional<std::string>(), fixed, true); }), "ffff");
  EXPECT_EQ(written([](auto& to) { to.write_nullable_string(std::optional<std::string>(), compact, true); }), "00");
  EXPECT_EQ(written([](auto& to) { to.write_bytes(as_bytes("hi"), fixed); }), "000000026869");
  EXPECT_EQ(written([](auto& to) { to.write_bytes(as_bytes("hi"), compact); }), "036869");
  EXPECT_EQ(written([](auto& to) { to.write_nullable_bytes(std::optional<Bytes>(), fixed, true); }), "ffffffff");
  EXPECT_EQ(written([](auto& to) { to.write_records(Records::null(), compact, true); }), "00");
  const std::vector<PartitionIndex> two{PartitionIndex(1), PartitionIndex(-1)};
  const auto write_two = [&](LengthForm form) {
    return written([&](auto& to) {
      to.write_array(two, form, [&](PartitionIndex element) { to.template write<int32_t>(element); });
    });
  };
  EXPECT_EQ(write_two(fixed), "0000000200000001ffffffff");
  EXPECT_EQ(write_two(compact), "0300000001ffffffff");
}

TEST(WireWriter, WritesErrorsOfOurOwnAsWhatClientsKnow) {
  EXPECT_EQ(written([](auto& to) { to.template write<int16_t>(ErrorCode::disk_full); }), "0038");
  EXPECT_EQ(written([](auto& to) { to.template write<int16_t>(ErrorCode::unknown_server_error); }), "ffff");
}

TEST(WireWriter, CutsAMessageThatIsTooLongBetweenTwoCharacters) {
  std::string text(kStringSizeMax - 1, 'a');
  text += "\xc3\xa9 and more";  // its second byte would be the first that does not fit
  Bytes bytes;
  WireWriter writer(bytes);
  writer.write_string(text, fixed);
  EXPECT_EQ(to_hex(BytesView(bytes).first(2)), "7ffe");
  EXPECT_EQ(bytes.size(), 2 + kStringSizeMax - 1);
}

TEST(WireWriter, LeavesExternalRecordsOutAndSaysWhereTheyBelong) {
  Bytes bytes;
  WireWriter writer(bytes);
  writer.write<int16_t>(int16_t{7});
  writer.write_records(ExternalRecords{.id = 42, .size = 1000}, fixed, true);
  writer.write_records(ExternalRecords{.id = 43, .size = 5}, compact, true);
  EXPECT_EQ(to_hex(bytes), "0007000003e806");
  const std::vector<Splice> expected{{6, {.id = 42, .size = 1000}}, {7, {.id = 43, .size = 5}}};
  EXPECT_EQ(writer.splices(), expected);

  WireSizer sizer;
  sizer.write_records(ExternalRecords{.id = 42, .size = 1000}, fixed, true);
  EXPECT_EQ(sizer.size(), 1004u);
}

TEST(WireWriter, FailsAtNullWhereTheVersionDoesNotAllowIt) {
  Bytes bytes;
  WireWriter writer(bytes);
  writer.write_nullable_string(std::optional<std::string>(), fixed, true);
  EXPECT_EQ(writer.failure(), nullptr);
  writer.write_tagged(3, [](auto& sink) { sink.write_nullable_string(std::optional<std::string>(), fixed, false); });
  ASSERT_NE(writer.failure(), nullptr);
  writer.fail("something else");
  EXPECT_STREQ(writer.failure(), "a field is null in a version that does not allow it") << "the first reason counts";
}

// Reads from hex and returns the reason of the failure, "" when there is none.
template <class Read>
std::string failure_of(std::string_view hex, Read read) {
  const Bytes bytes = from_hex(hex);
  WireReader reader(bytes, "Test", 3);
  read(reader);
  return reader.finish().message();
}

TEST(WireReader, NamesMessageVersionPositionAndReasonOfTheFirstError) {
  const auto read = [](WireReader& reader) {
    int32_t first = 0;
    std::string_view text;
    reader.read<int32_t>(first);
    reader.read_string(text, fixed);
    reader.read_string(text, fixed);
  };
  EXPECT_EQ(failure_of("00000001 0005 6869", read), "Test v3: length reaches beyond the end at byte 6");
  EXPECT_EQ(failure_of("000000", read), "Test v3: truncated integer at byte 0");
  EXPECT_EQ(failure_of("00000001 0000 0000 00", read), "Test v3: bytes are left over at byte 8");
  EXPECT_EQ(failure_of("00000001 0000 0000", read), "");
}

TEST(WireReader, TellsNullFromEmpty) {
  std::optional<std::string_view> text;
  const auto read_string = [&](LengthForm form, bool nullable) {
    return [&text, form, nullable](WireReader& reader) { reader.read_nullable_string(text, form, nullable); };
  };
  EXPECT_EQ(failure_of("ffff", read_string(fixed, true)), "");
  EXPECT_EQ(text, std::nullopt);
  EXPECT_EQ(failure_of("0000", read_string(fixed, true)), "");
  EXPECT_EQ(text, "");
  EXPECT_EQ(failure_of("00", read_string(compact, true)), "");
  EXPECT_EQ(text, std::nullopt);
  EXPECT_EQ(failure_of("01", read_string(compact, true)), "");
  EXPECT_EQ(text, "");
  EXPECT_EQ(failure_of("ffff", read_string(fixed, false)), "Test v3: null is not allowed here at byte 2");
  EXPECT_EQ(failure_of("00", read_string(compact, false)), "Test v3: null is not allowed here at byte 1");
}

TEST(WireReader, RefusesImpossibleLengths) {
  std::string_view text;
  Bytes data;
  std::vector<int32_t> numbers;
  const auto string_in = [&](LengthForm form) {
    return [&, form](WireReader& reader) { reader.read_string(text, form); };
  };
  const auto bytes_in = [&](LengthForm form) {
    return [&, form](WireReader& reader) { reader.read_bytes(data, form); };
  };
  const auto array_in = [&](LengthForm form) {
    return [&, form](WireReader& reader) {
      reader.read_array(numbers, form, 4, [&](int32_t& number) { reader.read<int32_t>(number); });
    };
  };
  EXPECT_EQ(failure_of("fffe", string_in(fixed)), "Test v3: string has an impossible length at byte 2");
  EXPECT_EQ(failure_of("ffffffff0f", string_in(compact)), "Test v3: string has an impossible length at byte 5");
  EXPECT_EQ(failure_of("ffffffff1f", string_in(compact)), "Test v3: varint too long at byte 5");
  EXPECT_EQ(failure_of("fffffffe", bytes_in(fixed)), "Test v3: bytes have a negative length at byte 4");
  EXPECT_EQ(failure_of("7fffffff 00", bytes_in(fixed)), "Test v3: length reaches beyond the end at byte 4");
  EXPECT_EQ(failure_of("ffffffff0f 00", bytes_in(compact)), "Test v3: length reaches beyond the end at byte 5");
  EXPECT_EQ(failure_of("fffffffe", array_in(fixed)), "Test v3: array has a negative length at byte 4");
  EXPECT_EQ(failure_of("ffffffff", array_in(fixed)), "Test v3: null is not allowed here at byte 4");
  EXPECT_EQ(failure_of("00000002 00000001 000000", array_in(fixed)),
            "Test v3: array is longer than the bytes left at byte 4");
  EXPECT_EQ(failure_of("03 00000001 00000002", array_in(compact)), "");
  EXPECT_EQ(numbers, (std::vector<int32_t>{1, 2}));
}

TEST(WireReader, BoundsTheMemoryOfAllArraysTogether) {
  struct Large {
    std::array<std::byte, size_t{1024} * 1024> content;
  };
  // Each of the two would fit alone.
  Bytes bytes = from_hex("00000028");
  bytes.resize(bytes.size() + 40);
  const Bytes once = bytes;
  append_bytes(bytes, once);
  WireReader reader(bytes, "Test", 3);
  std::vector<Large> elements;
  const auto read_element = [&](Large&) {
    int8_t ignored = 0;
    reader.read<int8_t>(ignored);
  };
  reader.read_array(elements, fixed, 1, read_element);
  EXPECT_TRUE(reader.ok());
  reader.read_array(elements, fixed, 1, read_element);
  EXPECT_EQ(reader.status().message(), "Test v3: arrays are too large in total at byte 48");
}

TEST(WireReader, TakesAWireCodeThatItDoesNotKnowAsUnknownServerError) {
  EXPECT_EQ(error_code_from_wire(0), ErrorCode::none);
  EXPECT_EQ(error_code_from_wire(-1), ErrorCode::unknown_server_error);
  EXPECT_EQ(error_code_from_wire(6), ErrorCode::not_leader_or_follower);
  EXPECT_EQ(error_code_from_wire(999), ErrorCode::unknown_server_error);
  EXPECT_EQ(error_code_from_wire(1000), ErrorCode::unknown_server_error) << "our own codes are not on the wire";
}

TEST(WireReader, ReadsANullableStructureByItsFirstByte) {
  std::optional<int32_t> value;
  const auto read = [&](bool nullable) {
    return [&value, nullable](WireReader& reader) {
      reader.read_nullable_struct(value, nullable, [&](int32_t& inner) { reader.read<int32_t>(inner); });
    };
  };
  EXPECT_EQ(failure_of("01 00000007", read(true)), "");
  EXPECT_EQ(value, 7);
  EXPECT_EQ(failure_of("ff", read(true)), "");
  EXPECT_EQ(value, std::nullopt);
  EXPECT_EQ(failure_of("ff", read(false)), "Test v3: null is not allowed here at byte 1");
  EXPECT_EQ(failure_of("", read(true)), "Test v3: truncated integer at byte 0");
}

TEST(WireReader, RefusesATaggedFieldThatIsNotOfItsStatedSize) {
  int32_t value = 0;
  const auto read = [&](WireReader& reader) {
    reader.read_tag_buffer([&](uint32_t tag) {
      if (tag == 0) reader.read<int32_t>(value);
      return tag == 0;
    });
  };
  EXPECT_EQ(failure_of("01 00 04 00000007", read), "");
  EXPECT_EQ(value, 7);
  EXPECT_EQ(failure_of("01 00 05 00000007 00", read), "Test v3: tagged field is not of its stated size at byte 7");
  EXPECT_EQ(failure_of("01 00 03 00000007", read), "Test v3: tagged field is not of its stated size at byte 7");
  EXPECT_EQ(failure_of("ffffffff0f", read), "Test v3: truncated varint at byte 5");
}

}  // namespace
}  // namespace naru::kafka
