// Which APIs a broker offers, in which versions; and which version of ours to use with it.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "foundation/status.h"
#include "kafka_protocol/api_table.h"
#include "kafka_protocol/messages/api_versions_response.h"

namespace naru::client {

struct VersionRange {
  int16_t min = 0;
  int16_t max = INT16_MAX;

  bool operator==(const VersionRange&) const = default;
};

class ApiVersions {
 public:
  ApiVersions() = default;
  explicit ApiVersions(const kafka::ApiVersionsResponse& response);

  bool offers(kafka::ApiKey key) const { return offered_.contains(static_cast<int16_t>(key)); }
  // By the number of the API; also those that we do not know.
  const std::map<int16_t, VersionRange>& offered() const { return offered_; }

  // The highest version that the broker, our codec and the caller (`usable`) all can. unsupported_version names the
  // API and what is offered.
  Result<int16_t> choose(kafka::ApiKey key, VersionRange usable) const;

 private:
  std::map<int16_t, VersionRange> offered_;
};

}  // namespace naru::client
