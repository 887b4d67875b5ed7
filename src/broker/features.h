// What Kafka's brokers may switch on and off; here it is always on.
#pragma once

#include <cstdint>
#include <string_view>

namespace naru {

struct Feature {
  std::string_view name;
  int16_t level;
};

inline constexpr Feature kFeatures[] = {
    {"group.version", 1},        // groups of the consumer protocol
    {"transaction.version", 2},  // transactions whose partitions are added by their leaders (KIP-890)
};

}  // namespace naru
