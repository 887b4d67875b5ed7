// What the broker says and demands about one API. The rows are generated from schemas/kafka.
#pragma once

#include <cstdint>
#include <string_view>

namespace naru::kafka {

enum class ApiKey : int16_t;

struct ApiRow {
  ApiKey key;
  std::string_view name;
  int16_t min_version;             // the lowest that is accepted
  int16_t min_advertised_version;  // the lowest in the ApiVersions response; below min_version only for Produce
  int16_t max_version;
  int16_t first_flexible_version;
  bool flexible_response_header;  // false: the response header stays at version 0 (ApiVersions)
  bool between_brokers;           // only brokers send it, and only they are told of it

  constexpr bool accepts(int16_t version) const { return min_version <= version && version <= max_version; }
  constexpr bool is_flexible(int16_t version) const { return version >= first_flexible_version; }
  constexpr int16_t request_header_version(int16_t version) const { return is_flexible(version) ? 2 : 1; }
  constexpr int16_t response_header_version(int16_t version) const {
    return flexible_response_header && is_flexible(version) ? 1 : 0;
  }
};

}  // namespace naru::kafka
