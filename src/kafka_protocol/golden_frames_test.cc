// Frames of other implementations, one per file of tests/conformance/golden_frames: decoding and encoding again gives
// the same bytes. A file API_vVERSION_request_CLIENT.bin (or _response_) is a frame without its size.
#include <gtest/gtest.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "kafka_protocol/frame.h"
#include "kafka_protocol/messages/all_messages.h"
#include "kafka_protocol/request_header.h"
#include "kafka_protocol/test_bytes.h"

namespace naru::kafka {
namespace {

struct GoldenFrame {
  std::string name;
  bool is_request = false;
  int16_t version = 0;
  std::string api;  // "api_versions"
  Bytes bytes;
};

GoldenFrame load(const std::filesystem::path& path) {
  GoldenFrame golden{.name = path.stem().string()};
  const size_t kind = std::max(golden.name.find("_request_") + 1, golden.name.find("_response_") + 1);
  const size_t version = golden.name.rfind("_v", kind);
  EXPECT_TRUE(kind > 0 && version != std::string::npos) << path << ": not named API_vVERSION_request_CLIENT.bin";
  if (kind == 0 || version == std::string::npos) return golden;
  golden.is_request = golden.name.substr(kind).starts_with("request");
  golden.api = golden.name.substr(0, version);
  std::from_chars(golden.name.data() + version + 2, golden.name.data() + kind - 1, golden.version);

  std::ifstream file(path, std::ios::binary);
  const std::string content{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  append_bytes(golden.bytes, as_bytes(content));
  return golden;
}

std::vector<GoldenFrame> load_all() {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(NARU_GOLDEN_FRAMES)) {
    if (entry.path().extension() == ".bin") paths.push_back(entry.path());
  }
  std::ranges::sort(paths);
  std::vector<GoldenFrame> frames;
  frames.reserve(paths.size());
  for (const auto& path : paths) frames.push_back(load(path));
  return frames;
}

// "ApiVersions" for "api_versions".
bool same_api(std::string_view api_name, std::string_view file_name) {
  std::string snake;
  for (const char c : api_name) {
    if (c >= 'A' && c <= 'Z' && !snake.empty()) snake += '_';
    snake += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  }
  return snake == file_name;
}

std::string frame_without_size(const EncodedFrame& frame) {
  return to_hex(BytesView(frame.bytes).subspan(4));
}

template <class Request>
void check_request(const GoldenFrame& golden) {
  WireReader reader(golden.bytes);
  const Result<DecodedRequestHeader> header = decode_request_header(reader);
  ASSERT_TRUE(header.has_value()) << header.error().to_string();
  EXPECT_EQ(header->api->key, Request::kApiKey);
  EXPECT_EQ(header->version(), golden.version);
  Request request;
  decode(reader, request, golden.version);
  ASSERT_TRUE(reader.finish().ok()) << reader.status().to_string();
  const RequestHeader& fields = header->header;
  EXPECT_EQ(frame_without_size(encode_request_frame(request, golden.version, fields.correlation_id, fields.client_id)),
            to_hex(golden.bytes));
}

template <class Response>
void check_response(const GoldenFrame& golden) {
  WireReader reader(golden.bytes);
  Response response;
  const ResponseHeader header = decode_response(reader, response, golden.version);
  ASSERT_TRUE(reader.finish().ok()) << reader.status().to_string();
  EXPECT_EQ(frame_without_size(encode_response_frame(response, golden.version, header.correlation_id)),
            to_hex(golden.bytes));
}

template <class Message>
bool check_if_it_is(const GoldenFrame& golden) {
  constexpr bool kIsRequest = Message::kName.ends_with("Request");
  if (golden.is_request != kIsRequest || !same_api(api_row(Message::kApiKey).name, golden.api)) return false;
  if constexpr (kIsRequest) {
    check_request<Message>(golden);
  } else {
    check_response<Message>(golden);
  }
  return true;
}

template <class... Messages>
struct Check {
  static bool any(const GoldenFrame& golden) { return (check_if_it_is<Messages>(golden) || ...); }
};

TEST(GoldenFrames, DecodeAndEncodeToTheSameBytes) {
  const std::vector<GoldenFrame> frames = load_all();
  EXPECT_FALSE(frames.empty());
  for (const GoldenFrame& golden : frames) {
    SCOPED_TRACE(golden.name);
    EXPECT_TRUE(AllRequests<Check>::any(golden) || AllResponses<Check>::any(golden)) << "no such API";
  }
}

}  // namespace
}  // namespace naru::kafka
