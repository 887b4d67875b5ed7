// Whole frames: the four bytes of size, the header and the message.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "foundation/bytes.h"
#include "foundation/status.h"
#include "kafka_protocol/api_table.h"
#include "kafka_protocol/messages/request_header.h"
#include "kafka_protocol/messages/response_header.h"
#include "kafka_protocol/wire_reader.h"
#include "kafka_protocol/wire_writer.h"

namespace naru::kafka {

// The bytes to send, except for the external records that belong in between.
struct EncodedFrame {
  Bytes bytes;
  std::vector<Splice> splices;
  const char* failure = nullptr;  // why the frame cannot be sent; the bytes are worth nothing then
};

template <class Header, class Message>
EncodedFrame encode_frame(const Header& header, int16_t header_version, const Message& message, int16_t version) {
  constexpr size_t kMostAnswers = 128;  // are no larger, and need one allocation then
  EncodedFrame frame;
  frame.bytes.reserve(kMostAnswers);
  WireWriter writer(frame.bytes);
  writer.write<int32_t>(0);
  encode(writer, header, header_version);
  encode(writer, message, version);
  frame.splices = writer.take_splices();

  size_t size = frame.bytes.size() - sizeof(int32_t);
  for (const Splice& splice : frame.splices) size += splice.records.size;
  if (size > INT32_MAX) writer.fail("a frame does not fit the protocol");
  frame.failure = writer.failure();
  ByteWriter(frame.bytes).patch_int(0, static_cast<int32_t>(size));
  return frame;
}

template <class Response>
EncodedFrame encode_response_frame(const Response& response, int16_t version, int32_t correlation_id) {
  const ResponseHeader header{.correlation_id = correlation_id};
  return encode_frame(header, api_row(Response::kApiKey).response_header_version(version), response, version);
}

template <class Request>
EncodedFrame encode_request_frame(const Request& request, int16_t version, int32_t correlation_id,
                                  std::optional<std::string_view> client_id) {
  const RequestHeader header{.request_api_key = std::to_underlying(Request::kApiKey),
                             .request_api_version = version,
                             .correlation_id = correlation_id,
                             .client_id = client_id};
  return encode_frame(header, api_row(Request::kApiKey).request_header_version(version), request, version);
}

// For the side that sent the request. The bytes are a frame without its size; finish() is left to the caller.
template <class Response>
ResponseHeader decode_response(WireReader& reader, Response& response, int16_t version) {
  ResponseHeader header;
  reader.enter_message(Response::kName, version);
  decode(reader, header, api_row(Response::kApiKey).response_header_version(version));
  decode(reader, response, version);
  return header;
}

}  // namespace naru::kafka
