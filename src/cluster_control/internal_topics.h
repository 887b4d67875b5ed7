// Topics in which coordinators keep their state. Clients can read them, and nothing else.
#pragma once

#include <string_view>

namespace naru {

inline constexpr std::string_view kOffsetsTopic = "__consumer_offsets";
inline constexpr std::string_view kTransactionsTopic = "__transaction_state";

constexpr bool is_internal_topic(std::string_view name) {
  return name == kOffsetsTopic || name == kTransactionsTopic;
}

}  // namespace naru
