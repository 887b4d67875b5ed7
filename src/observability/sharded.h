// Spreads the increments of a metric over cache lines so that the event loops do not fight for one.
#pragma once

#include <atomic>
#include <cstddef>

namespace naru::detail {

inline constexpr size_t kShards = 8;
inline constexpr size_t kCacheLine = 64;

// This thread's shard: threads take turns, so the first eight never share one.
inline size_t this_shard() {
  static std::atomic<size_t> next{0};
  thread_local const size_t shard = next.fetch_add(1, std::memory_order_relaxed) % kShards;
  return shard;
}

}  // namespace naru::detail
