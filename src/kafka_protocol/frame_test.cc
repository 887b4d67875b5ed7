// Whole frames: headers, the fixtures that we know byte by byte, and what differs from version to version.
#include "kafka_protocol/frame.h"

#include <gtest/gtest.h>

#include "kafka_protocol/messages/api_versions_request.h"
#include "kafka_protocol/messages/api_versions_response.h"
#include "kafka_protocol/messages/fetch_request.h"
#include "kafka_protocol/messages/fetch_response.h"
#include "kafka_protocol/messages/list_offsets_response.h"
#include "kafka_protocol/messages/metadata_request.h"
#include "kafka_protocol/messages/metadata_response.h"
#include "kafka_protocol/messages/produce_response.h"
#include "kafka_protocol/request_header.h"
#include "kafka_protocol/test_bytes.h"

namespace naru::kafka {
namespace {

constexpr std::string_view kApiVersionsRequestV3 = "00000017 0012 0003 00000001 0002 6d65 00 05 64656d6f 04 312e30 00";

std::string without_blanks(std::string_view hex) {
  return to_hex(from_hex(hex));
}

TEST(Frame, EncodesTheApiVersionsRequestFixture) {
  const ApiVersionsRequest request{.client_software_name = "demo", .client_software_version = "1.0"};
  EXPECT_EQ(to_hex(encode_request_frame(request, 3, 1, "me").bytes), without_blanks(kApiVersionsRequestV3));
}

TEST(Frame, DecodesTheApiVersionsRequestFixture) {
  const Bytes frame = from_hex(kApiVersionsRequestV3);
  WireReader reader(BytesView(frame).subspan(4));
  const Result<DecodedRequestHeader> header = decode_request_header(reader);
  ASSERT_TRUE(header.has_value());
  EXPECT_EQ(header->api->key, ApiKey::api_versions);
  EXPECT_EQ(header->version(), 3);
  EXPECT_TRUE(header->version_supported());
  EXPECT_EQ(header->header.correlation_id, 1);
  EXPECT_EQ(header->header.client_id, "me");
  ApiVersionsRequest request;
  decode(reader, request, 3);
  EXPECT_TRUE(reader.finish().ok());
  EXPECT_EQ(request.client_software_name, "demo");
  EXPECT_EQ(request.client_software_version, "1.0");
}

TEST(Frame, EncodesTheReplyToAnUnknownVersionOfApiVersionsFixture) {
  ApiVersionsResponse response{.error_code = ErrorCode::unsupported_version};
  response.api_keys = {{.api_key = 18, .min_version = 0, .max_version = 4}};
  EXPECT_EQ(to_hex(encode_response_frame(response, 0, 1).bytes),
            without_blanks("00000010 00000001 0023 00000001 0012 0000 0004"));
}

TEST(Frame, CountsExternalRecordsInItsSize) {
  FetchResponse response;
  response.responses = {{.topic = "t", .partitions = {{.records = ExternalRecords{.id = 9, .size = 1000}}}}};
  const EncodedFrame frame = encode_response_frame(response, 4, 1);
  const std::vector<Splice> expected{{frame.bytes.size(), {.id = 9, .size = 1000}}};
  EXPECT_EQ(frame.splices, expected);
  EXPECT_EQ(load_big_endian<int32_t>(frame.bytes.data()), static_cast<int32_t>(frame.bytes.size() - 4 + 1000));
  EXPECT_EQ(encoded_size(response, 4), frame.bytes.size() - 8 + 1000);
}

TEST(Frame, RepliesAreDecodedByTheSideThatAsked) {
  const ListOffsetsResponse response{.throttle_time_ms = 5};
  const Bytes frame = encode_response_frame(response, 7, 77).bytes;
  WireReader reader(BytesView(frame).subspan(4));
  ListOffsetsResponse decoded;
  EXPECT_EQ(decode_response(reader, decoded, 7).correlation_id, 77);
  EXPECT_TRUE(reader.finish().ok());
  EXPECT_EQ(decoded.throttle_time_ms, 5);
}

Result<DecodedRequestHeader> decode_header(std::string_view hex) {
  const Bytes frame = from_hex(hex);
  WireReader reader(frame);
  return decode_request_header(reader);
}

TEST(RequestHeader, IsReadEvenIfApiVersionsIsNewerThanOurs) {
  const Result<DecodedRequestHeader> header = decode_header("0012 0063 00000007 ffff 00 beef");
  ASSERT_TRUE(header.has_value());
  EXPECT_EQ(header->api->key, ApiKey::api_versions);
  EXPECT_FALSE(header->version_supported());
  EXPECT_EQ(header->header.correlation_id, 7);
  EXPECT_EQ(header->header.client_id, std::nullopt);
}

TEST(RequestHeader, OfAnUnknownApiOrVersionCannotBeAnswered) {
  EXPECT_EQ(decode_header("0300 0000 00000001 ffff").error(), ErrorCode::unsupported_version);
  EXPECT_EQ(decode_header("0003 000e 00000001 ffff 00").error(), ErrorCode::unsupported_version);
  EXPECT_EQ(decode_header("0012 ffff 00000001 ffff").error(), ErrorCode::unsupported_version);
  EXPECT_EQ(decode_header("0000 0002 00000001 ffff").error().message(), "Produce v2 is not supported, only v3 to v13")
      << "although version 2 is advertised";
}

TEST(RequestHeader, ThatIsCutShortIsMalformed) {
  EXPECT_EQ(decode_header("").error(), ErrorCode::malformed_request);
  EXPECT_EQ(decode_header("0012 00").error(), ErrorCode::malformed_request);
  EXPECT_EQ(decode_header("0012 0003 00000001 0002 6d").error().message(),
            "ApiVersions v3: length reaches beyond the end at byte 10");
}

TEST(ApiTable, HasAscendingKeysAndSaneVersions) {
  int previous = -1;
  for (const ApiRow& row : kApiTable) {
    EXPECT_LT(previous, static_cast<int>(row.key));
    previous = static_cast<int>(row.key);
    EXPECT_LE(row.min_advertised_version, row.min_version) << row.name;
    EXPECT_LE(row.min_version, row.max_version) << row.name;
    EXPECT_EQ(find_api(std::to_underlying(row.key)), &row);
  }
  EXPECT_EQ(find_api(-1), nullptr);
  EXPECT_EQ(find_api(4), nullptr);
  EXPECT_EQ(find_api(INT16_MAX), nullptr);
}

TEST(ApiTable, AdvertisesProduceFromZeroAndKeepsTheHeaderOfApiVersionsResponses) {
  EXPECT_EQ(api_row(ApiKey::produce).min_advertised_version, 0);
  EXPECT_EQ(api_row(ApiKey::produce).min_version, 3);
  EXPECT_EQ(api_row(ApiKey::api_versions).response_header_version(3), 0);
  EXPECT_EQ(api_row(ApiKey::api_versions).request_header_version(3), 2);
  EXPECT_EQ(api_row(ApiKey::produce).response_header_version(8), 0);
  EXPECT_EQ(api_row(ApiKey::produce).response_header_version(9), 1);
  EXPECT_EQ(api_row(ApiKey::produce).request_header_version(8), 1);
}

template <class Message>
std::string body(const Message& message, int16_t version) {
  Bytes bytes;
  WireWriter writer(bytes);
  encode(writer, message, version);
  return to_hex(bytes);
}

TEST(Metadata, AllTopicsAreAnEmptyArrayInVersion0AndNullLater) {
  MetadataRequest request;
  EXPECT_EQ(body(request, 0), "00000000");
  EXPECT_EQ(body(request, 1), "00000000");
  request.topics.reset();
  EXPECT_EQ(body(request, 1), "ffffffff");

  const Bytes null_topics = from_hex("ffffffff");
  WireReader in_version_1(null_topics, MetadataRequest::kName, 1);
  decode(in_version_1, request, 1);
  EXPECT_TRUE(in_version_1.finish().ok());
  EXPECT_EQ(request.topics.has_value(), false);
  WireReader in_version_0(null_topics, MetadataRequest::kName, 0);
  decode(in_version_0, request, 0);
  EXPECT_EQ(in_version_0.status().message(), "MetadataRequest v0: null is not allowed here at byte 4");
}

TEST(Throttling, ComesLastInProduceAndFirstInFetch) {
  EXPECT_EQ(body(ProduceResponse{.throttle_time_ms = 1}, 3),
            "00000000"
            "00000001");
  EXPECT_EQ(body(FetchResponse{.throttle_time_ms = 1}, 4),
            "00000001"
            "00000000");
}

TEST(TaggedFields, AreWrittenOnlyWhenTheyAreNotDefault) {
  FetchResponse::PartitionData partition{.records = Records::null()};
  partition.current_leader = {.leader_id = BrokerId(2), .leader_epoch = LeaderEpoch(3)};
  FetchResponse response;
  response.responses = {{.partitions = {partition}}};
  const std::string encoded = body(response, 13);
  // Count, tag 1, size 9, broker, epoch, its own tag buffer; then the tag buffers of topic and response.
  EXPECT_TRUE(
      encoded.ends_with("01"
                        "01"
                        "09"
                        "00000002"
                        "00000003"
                        "00"
                        "00"
                        "00"))
      << encoded;
}

TEST(Fields, ThatAVersionLacksAreDroppedOnlyWhenIgnorable) {
  FetchResponse response{.error_code = ErrorCode::invalid_request};
  EXPECT_EQ(body(response, 4), body(FetchResponse(), 4));
  EXPECT_EQ(encode_response_frame(response, 4, 1).failure, nullptr);
  response.session_id = 1;
  EXPECT_STREQ(encode_response_frame(response, 4, 1).failure,
               "FetchResponse.session_id cannot be sent in this version");
}

TEST(Frames, WithANullThatTheirVersionLacksCannotBeSent) {
  MetadataResponse response;
  response.topics.emplace_back().name.reset();
  EXPECT_EQ(encode_response_frame(response, 12, 1).failure, nullptr);
  EXPECT_STREQ(encode_response_frame(response, 11, 1).failure, "a field is null in a version that does not allow it");
}

TEST(VersionsDeathTest, OutsideOfTheRangeAreAMistakeOfTheCaller) {
  EXPECT_DEATH(body(FetchRequest(), 3), "FetchRequest has no version 3");
  EXPECT_DEATH(body(FetchRequest(), 19), "FetchRequest has no version 19");
}

TEST(Json, ShowsAMessageAndShortensIt) {
  MetadataRequest request;
  request.topics->assign(10, {.name = "a\"b\n"});
  EXPECT_EQ(
      to_json(request, 0),
      R"({"topics":[{"name":"a\"b\u000a"},{"name":"a\"b\u000a"},{"name":"a\"b\u000a"},{"name":"a\"b\u000a"},)"
      R"({"name":"a\"b\u000a"},{"name":"a\"b\u000a"},{"name":"a\"b\u000a"},{"name":"a\"b\u000a"},"... 2 more"]})");

  FetchResponse::PartitionData partition{.error_code = ErrorCode::offset_out_of_range};
  partition.records = ExternalRecords{.id = 1, .size = 12345};
  FetchResponse response;
  response.responses = {{.topic = std::string(300, 't'), .partitions = {partition}}};
  const std::string json = to_json(response, 4);
  EXPECT_TRUE(json.contains(R"("error_code":"OFFSET_OUT_OF_RANGE")")) << json;
  EXPECT_TRUE(json.contains(R"("records":"12345 bytes")")) << json;
  EXPECT_TRUE(json.contains("ttt... 44 more\"")) << json;
}

}  // namespace
}  // namespace naru::kafka
