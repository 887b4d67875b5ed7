// What a partition's log needs to know of its topic's configuration, with Kafka's names.
#pragma once

#include <cstdint>

namespace naru {

struct LogConfig {
  uint64_t segment_bytes = 1u << 30;  // below 2^31, as in Kafka: positions in the index have 32 bits
  int64_t segment_ms = 7 * 24 * 3'600'000LL;
  int64_t segment_jitter_ms = 0;  // at most this much is taken off segment_ms, another part for each segment
  uint32_t index_interval_bytes = 4096;
  uint64_t segment_index_bytes = 10u << 20;
  // Bounds the memory that a lookup by timestamp may use on one compressed batch.
  uint64_t max_decompressed_bytes = 128u << 20;
};

}  // namespace naru
