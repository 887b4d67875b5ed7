// The two ways in which the Kafka protocol writes the length of a string, of bytes or of an array.
#pragma once

#include <cstddef>
#include <cstdint>

namespace naru::kafka {

enum class LengthForm : uint8_t {
  fixed,    // int16 for strings, int32 for bytes and arrays; -1 is null
  compact,  // uvarint of length + 1; 0 is null. Used by every flexible version
};

// Kafka's limit on a string, which the fixed form cannot exceed anyway.
inline constexpr size_t kStringSizeMax = INT16_MAX;

// The value of kFirstFlexibleVersion in a message that never became flexible.
inline constexpr int16_t kNeverFlexible = INT16_MAX;

}  // namespace naru::kafka
