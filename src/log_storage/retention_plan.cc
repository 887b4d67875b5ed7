#include "log_storage/retention_plan.h"

#include <algorithm>

namespace naru {
namespace {

bool is_expired(const SegmentFacts& segment, const RetentionRules& rules, WallTimeMs now) {
  if (!rules.by_time_and_size || rules.retention_ms < 0) return false;
  WallTimeMs age = 0;
  // Further apart than 64 bits tell: as old as can be.
  if (__builtin_sub_overflow(now, segment.newest(), &age)) return now > segment.newest();
  return age > rules.retention_ms;
}

uint64_t superfluous_bytes(std::span<const SegmentFacts> segments, const RetentionRules& rules) {
  if (!rules.by_time_and_size || rules.retention_bytes < 0) return 0;
  uint64_t total = 0;
  for (const SegmentFacts& segment : segments) total += segment.bytes;
  const auto wanted = static_cast<uint64_t>(rules.retention_bytes);
  return total > wanted ? total - wanted : 0;
}

}  // namespace

RetentionPlan plan_retention(std::span<const SegmentFacts> segments, const RetentionRules& rules, Offset start_offset,
                             Offset limit, WallTimeMs now) {
  // Time and size each take a first part of the segments; the longer one counts. A segment that expires only behind one
  // that does not is kept, as its offsets have to stay reachable.
  size_t expired = 0;
  while (expired < segments.size() && is_expired(segments[expired], rules, now)) ++expired;
  uint64_t too_much = superfluous_bytes(segments, rules);
  size_t too_many = 0;
  while (too_many < segments.size() && too_much > 0 && segments[too_many].bytes <= too_much) {
    too_much -= segments[too_many++].bytes;
  }

  RetentionPlan plan{.start_offset = start_offset};
  for (size_t i = 0; i < segments.size(); ++i) {
    const SegmentFacts& segment = segments[i];
    const bool below_start = segment.end_offset <= start_offset;
    const bool goes = i < std::max(expired, too_many) || below_start;
    if (!goes || segment.end_offset > limit || segment.bytes == 0) break;
    plan.start_offset = std::max(plan.start_offset, segment.end_offset);
    plan.roll_active = i + 1 == segments.size();
  }
  return plan;
}

}  // namespace naru
