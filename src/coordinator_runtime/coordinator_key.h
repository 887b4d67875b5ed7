// Which partition of an internal topic is responsible for a name: Java's String.hashCode, as every Kafka does it.
#pragma once

#include <cstdint>
#include <string_view>

namespace naru {

// Bytes that are not UTF-8 count as Java would decode them: U+FFFD for each ill-formed part.
int32_t java_string_hash(std::string_view utf8);
int32_t coordinator_partition(std::string_view key, int32_t partitions);

}  // namespace naru
