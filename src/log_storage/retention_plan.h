// Which segments retention removes: an I/O-free decision.
//
// As in Kafka, only whole segments go, from the oldest on, and only below the last stable offset. The age of a segment
// counts from its largest timestamp, or from its last append if that was earlier: a timestamp in the future cannot keep
// data, while one in the distant past makes it old at once.
#pragma once

#include <cstdint>
#include <span>

#include "foundation/ids.h"
#include "foundation/time.h"

namespace naru {

struct RetentionRules {
  bool by_time_and_size = true;  // cleanup.policy contains delete
  int64_t retention_ms = -1;     // -1: no limit
  int64_t retention_bytes = -1;  // -1: no limit
};

// A segment as far as retention and compaction are concerned.
struct SegmentFacts {
  Offset base_offset;
  Offset end_offset;
  uint64_t bytes = 0;
  WallTimeMs max_timestamp = 0;  // below 0: its records have none
  WallTimeMs first_append = 0;
  WallTimeMs last_append = 0;

  // The moment from which on its age counts.
  WallTimeMs newest() const { return max_timestamp < 0 || max_timestamp > last_append ? last_append : max_timestamp; }
};

struct RetentionPlan {
  Offset start_offset;       // where the log should begin; never before where it begins now
  bool roll_active = false;  // the active segment goes too, so there has to be a new one first
};

// `segments` are those of a log that begins at `start_offset`, the last one is active. Nothing at or above `limit`
// goes.
RetentionPlan plan_retention(std::span<const SegmentFacts> segments, const RetentionRules& rules, Offset start_offset,
                             Offset limit, WallTimeMs now);

}  // namespace naru
