// Whether and how far a log is to be compacted: an I/O-free decision.
//
//     |---- clean ----|-------- dirty --------|---- not yet ----| active |
//     start      first dirty                 end
//
// Up to the first dirty offset no key occurs twice, except for its newer records behind it. A compaction reads the keys
// of the dirty part and goes over everything in front of its end. Not yet: segments that the last stable offset has not
// passed, and those that are younger than min.compaction.lag.ms.
#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "foundation/ids.h"
#include "foundation/time.h"
#include "log_storage/retention_plan.h"

namespace naru {

inline constexpr WallTimeMs kNeverByClock = std::numeric_limits<WallTimeMs>::max();

// What earlier compactions have come to.
struct CompactionProgress {
  Offset first_dirty{0};
  // The earliest delete horizon in the log: from then on delete markers can go.
  WallTimeMs next_delete_horizon = kNeverByClock;
  bool operator==(const CompactionProgress&) const = default;
};

struct CompactionPolicy {
  double min_cleanable_dirty_ratio = 0.5;
  int64_t min_compaction_lag_ms = 0;
  int64_t max_compaction_lag_ms = std::numeric_limits<int64_t>::max();
};

struct CompactionPlan {
  size_t segments = 0;     // that many, from the first on, may be compacted
  double dirty_ratio = 0;  // of their bytes
  bool wanted = false;     // enough is dirty, or something is overdue
  bool overdue = false;    // a record waits for longer than max.compaction.lag.ms, or delete markers can go
  uint64_t dirty_bytes = 0;
};

// The last of `segments` is active. Nothing at or above `limit` is compacted.
CompactionPlan plan_compaction(std::span<const SegmentFacts> segments, const CompactionProgress& progress,
                               const CompactionPolicy& policy, Offset limit, WallTimeMs now);

}  // namespace naru
