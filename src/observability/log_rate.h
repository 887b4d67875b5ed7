// How often a line that clients can cause may be written: a broker under attack must not become slower by saying so.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "foundation/time.h"

namespace naru {

// Thread-safe; two threads at the turn of a second may let a line too many through.
class LogRate {
 public:
  explicit LogRate(int lines_per_second) : limit_(lines_per_second) {}

  // Nothing: be silent. Else: how many lines were not written since the last one that was.
  std::optional<uint64_t> line_allowed(MonotonicTime now) {
    const int64_t second = std::chrono::floor<std::chrono::seconds>(now.time_since_epoch()).count();
    if (second_.exchange(second, std::memory_order_relaxed) != second) lines_.store(0, std::memory_order_relaxed);
    if (lines_.fetch_add(1, std::memory_order_relaxed) < limit_) return skipped_.exchange(0, std::memory_order_relaxed);
    skipped_.fetch_add(1, std::memory_order_relaxed);
    skipped_in_all_.fetch_add(1, std::memory_order_relaxed);
    return std::nullopt;
  }

  uint64_t skipped_in_all() const { return skipped_in_all_.load(std::memory_order_relaxed); }

 private:
  const int limit_;
  std::atomic<int64_t> second_{-1};
  std::atomic<int> lines_{0};
  std::atomic<uint64_t> skipped_{0};
  std::atomic<uint64_t> skipped_in_all_{0};
};

}  // namespace naru
