// The APIs of the broker: ApiKey, and kApiTable with one row per API in ascending order of the key.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "kafka_protocol/api_row.h"
#include "kafka_protocol/messages/api_rows.h"

namespace naru::kafka {

// nullptr for an API that we do not have. Takes the number because a client may send any.
constexpr const ApiRow* find_api(int16_t key) {
  const auto* found =
      std::ranges::lower_bound(kApiTable, key, {}, [](const ApiRow& row) { return std::to_underlying(row.key); });
  return found != kApiTable.end() && std::to_underlying(found->key) == key ? found : nullptr;
}

constexpr const ApiRow& api_row(ApiKey key) {
  return *find_api(std::to_underlying(key));
}

}  // namespace naru::kafka
