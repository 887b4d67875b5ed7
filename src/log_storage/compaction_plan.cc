#include "log_storage/compaction_plan.h"

namespace naru {
namespace {

bool is_older(WallTimeMs time, WallTimeMs now, int64_t lag_ms) {
  WallTimeMs latest = 0;
  if (__builtin_sub_overflow(now, lag_ms, &latest)) return false;
  return time < latest;
}

bool may_be_compacted(const SegmentFacts& segment, const CompactionProgress& progress, const CompactionPolicy& policy,
                      Offset limit, WallTimeMs now) {
  if (segment.end_offset > limit) return false;
  const bool dirty = segment.end_offset > progress.first_dirty;
  return !dirty || policy.min_compaction_lag_ms == 0 || is_older(segment.newest(), now, policy.min_compaction_lag_ms);
}

}  // namespace

CompactionPlan plan_compaction(std::span<const SegmentFacts> segments, const CompactionProgress& progress,
                               const CompactionPolicy& policy, Offset limit, WallTimeMs now) {
  CompactionPlan plan;
  uint64_t bytes = 0;
  while (plan.segments + 1 < segments.size()) {
    const SegmentFacts& segment = segments[plan.segments];
    if (!may_be_compacted(segment, progress, policy, limit, now)) break;
    ++plan.segments;
    bytes += segment.bytes;
    if (segment.end_offset <= progress.first_dirty) continue;
    plan.dirty_bytes += segment.bytes;
    plan.overdue |= is_older(segment.first_append, now, policy.max_compaction_lag_ms);
  }
  if (bytes == 0) return plan;
  plan.dirty_ratio = static_cast<double>(plan.dirty_bytes) / static_cast<double>(bytes);
  plan.overdue |= progress.next_delete_horizon <= now;
  plan.wanted = plan.overdue || plan.dirty_ratio > policy.min_cleanable_dirty_ratio;
  return plan;
}

}  // namespace naru
