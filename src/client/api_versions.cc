#include "client/api_versions.h"

#include <algorithm>

namespace naru::client {

ApiVersions::ApiVersions(const kafka::ApiVersionsResponse& response) {
  for (const auto& api : response.api_keys) {
    if (api.min_version <= api.max_version) offered_[api.api_key] = {api.min_version, api.max_version};
  }
}

Result<int16_t> ApiVersions::choose(kafka::ApiKey key, VersionRange usable) const {
  const kafka::ApiRow& ours = kafka::api_row(key);
  const auto found = offered_.find(static_cast<int16_t>(key));
  if (found == offered_.end()) return failure(ErrorCode::unsupported_version, "it does not offer {}", ours.name);
  const VersionRange theirs = found->second;
  const int16_t low = std::max({ours.min_version, theirs.min, usable.min});
  const int16_t high = std::min({ours.max_version, theirs.max, usable.max});
  if (low > high) {
    return failure(ErrorCode::unsupported_version, "it offers {} in versions {} to {}, and {} to {} are needed",
                   ours.name, theirs.min, theirs.max, std::max(ours.min_version, usable.min),
                   std::min(ours.max_version, usable.max));
  }
  return high;
}

}  // namespace naru::client
