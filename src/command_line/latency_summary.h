// Percentiles of very many durations in little memory: buckets that are 1/8 of their size wide.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "foundation/time.h"

namespace naru::command_line {

class LatencySummary {
 public:
  void add(Duration latency, uint64_t times = 1) {
    const auto nanoseconds = static_cast<uint64_t>(latency.count() < 0 ? 0 : latency.count());
    counts_[bucket_of(nanoseconds)] += times;
    total_ += times;
    if (nanoseconds > max_) max_ = nanoseconds;
  }

  Duration max() const { return Duration(static_cast<int64_t>(max_)); }
  // The upper end of the bucket in which the percentile lies, so never too small.
  Duration percentile(double percent) const {
    const auto wanted = static_cast<double>(total_) * percent / 100;
    uint64_t below = 0;
    for (size_t i = 0; i < counts_.size(); ++i) {
      below += counts_[i];
      if (counts_[i] > 0 && static_cast<double>(below) >= wanted)
        return Duration(static_cast<int64_t>(std::min(upper_end(i), max_)));
    }
    return max();
  }

 private:
  static constexpr int kSubBits = 3;

  static size_t bucket_of(uint64_t value) {
    if (value < (1u << kSubBits)) return value;
    const int shift = std::bit_width(value) - kSubBits - 1;
    return static_cast<size_t>((shift + 1) << kSubBits) + ((value >> shift) & ((1u << kSubBits) - 1));
  }
  static uint64_t upper_end(size_t bucket) {
    if (bucket < (1u << kSubBits)) return bucket;
    const auto shift = static_cast<int>(bucket >> kSubBits) - 1;
    const uint64_t base = (uint64_t{1} << kSubBits) + (bucket & ((1u << kSubBits) - 1));
    return ((base + 1) << shift) - 1;
  }

  std::array<uint64_t, 64 << kSubBits> counts_{};
  uint64_t total_ = 0;
  uint64_t max_ = 0;
};

}  // namespace naru::command_line
