// Time, percentiles and frames, for the load generators.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "benchmarks/sockets.h"
#include "foundation/bytes.h"

namespace naru::bench {

inline int64_t now_ns() {
  return std::chrono::steady_clock::now().time_since_epoch().count();
}

// Blocks for one answer; the buffer is reused.
inline BytesView read_frame(int socket, std::vector<std::byte>& buffer) {
  uint32_t size;
  read_exactly(socket, &size, sizeof size);
  size = ntohl(size);
  if (buffer.size() < size) buffer.resize(size);
  read_exactly(socket, buffer.data(), size);
  return BytesView(buffer.data(), size);
}

// Sorts its argument.
inline void print_percentiles(std::vector<int64_t>& nanoseconds) {
  std::ranges::sort(nanoseconds);
  const auto at = [&nanoseconds](double share) {
    const auto index = static_cast<size_t>(share * static_cast<double>(nanoseconds.size()));
    return static_cast<double>(nanoseconds[std::min(index, nanoseconds.size() - 1)]) / 1000;
  };
  std::printf(
      "{\"count\": %zu, \"p50_us\": %.1f, \"p90_us\": %.1f, \"p99_us\": %.1f, \"p999_us\": %.1f, \"max_us\": %.1f}\n",
      nanoseconds.size(), at(0.5), at(0.9), at(0.99), at(0.999), at(1));
}

}  // namespace naru::bench
