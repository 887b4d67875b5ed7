#include "kafka_protocol/request_header.h"

#include "kafka_protocol/api_table.h"

namespace naru::kafka {
namespace {

// ApiVersions is how a client finds out what we speak, so a version from the future has to be answered.
bool can_be_answered(const ApiRow& api, int16_t version) {
  return api.accepts(version) || (api.key == ApiKey::api_versions && version > api.max_version);
}

}  // namespace

Result<DecodedRequestHeader> decode_request_header(WireReader& reader) {
  // The first two fields are the same in all versions of the header, and tell which one it is.
  WireReader start = reader;
  int16_t key = 0;
  int16_t version = 0;
  start.read<int16_t>(key);
  start.read<int16_t>(version);
  NARU_TRY(start.status());

  const ApiRow* api = find_api(key);
  if (api == nullptr) return failure(ErrorCode::unsupported_version, "API key {} is unknown", key);
  if (!can_be_answered(*api, version)) {
    return failure(ErrorCode::unsupported_version, "{} v{} is not supported, only v{} to v{}", api->name, version,
                   api->min_version, api->max_version);
  }

  DecodedRequestHeader decoded{.api = api};
  reader.enter_message(api->name, version);
  decode(reader, decoded.header, api->request_header_version(version));
  NARU_TRY(reader.status());
  return decoded;
}

}  // namespace naru::kafka
