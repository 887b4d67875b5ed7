// The header in front of every request, and which one it is.
#pragma once

#include "foundation/status.h"
#include "kafka_protocol/api_row.h"
#include "kafka_protocol/messages/request_header.h"
#include "kafka_protocol/wire_reader.h"

namespace naru::kafka {

struct DecodedRequestHeader {
  const ApiRow* api = nullptr;  // never null in a result
  RequestHeader header;

  int16_t version() const { return header.request_api_version; }
  // False only for an ApiVersions request newer than ours: its body must not be decoded, and the answer is an
  // ApiVersions response v0 with UNSUPPORTED_VERSION and our range of ApiVersions.
  bool version_supported() const { return api->accepts(version()); }
};

// Reads the header of a frame (without its size) and leaves the reader at the body, named after the API for later
// errors. UNSUPPORTED_VERSION for an API or a version that we do not have: there is no way to answer, the connection is
// closed.
Result<DecodedRequestHeader> decode_request_header(WireReader& reader);

}  // namespace naru::kafka
