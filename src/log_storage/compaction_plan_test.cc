#include "log_storage/compaction_plan.h"

#include <gtest/gtest.h>

#include <vector>

namespace naru {
namespace {

constexpr WallTimeMs kNow = 1'000'000;
constexpr Offset kNoLimit{1'000'000};

// Segments of 10 offsets and the given sizes, all 1000 ms old; the last one is active.
std::vector<SegmentFacts> sized(const std::vector<uint64_t>& sizes) {
  std::vector<SegmentFacts> segments;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const auto base = static_cast<int64_t>(10 * i);
    segments.push_back({.base_offset = Offset(base),
                        .end_offset = Offset(base + 10),
                        .bytes = sizes[i],
                        .max_timestamp = kNow - 1000,
                        .first_append = kNow - 1000,
                        .last_append = kNow - 1000});
  }
  return segments;
}

CompactionPlan plan(const std::vector<SegmentFacts>& segments, const CompactionProgress& progress,
                    const CompactionPolicy& policy = {}, Offset limit = kNoLimit) {
  return plan_compaction(segments, progress, policy, limit, kNow);
}

TEST(CompactionPlan, NeverContainsTheActiveSegment) {
  EXPECT_EQ(plan(sized({100}), {}).segments, 0U);
  EXPECT_FALSE(plan(sized({100}), {}).wanted);
  EXPECT_EQ(plan(sized({100, 100, 100}), {}).segments, 2U);
}

TEST(CompactionPlan, IsWantedWhenMoreThanTheGivenShareIsDirty) {
  const auto segments = sized({300, 100, 200, 1000});
  EXPECT_DOUBLE_EQ(plan(segments, {.first_dirty = Offset(10)}).dirty_ratio, 0.5);
  EXPECT_FALSE(plan(segments, {.first_dirty = Offset(10)}, {.min_cleanable_dirty_ratio = 0.5}).wanted);
  EXPECT_TRUE(plan(segments, {.first_dirty = Offset(10)}, {.min_cleanable_dirty_ratio = 0.49}).wanted);
  EXPECT_TRUE(plan(segments, {.first_dirty = Offset(15)}, {.min_cleanable_dirty_ratio = 0.49}).wanted)
      << "a segment that is dirty in part counts";
  EXPECT_FALSE(plan(segments, {.first_dirty = Offset(30)}, {.min_cleanable_dirty_ratio = 0}).wanted);
  EXPECT_TRUE(plan(segments, {}, {.min_cleanable_dirty_ratio = 0.99}).wanted);
}

TEST(CompactionPlan, EndsAtTheLimit) {
  const auto segments = sized({100, 100, 100, 100});
  EXPECT_EQ(plan(segments, {}, {}, Offset(30)).segments, 3U);
  EXPECT_EQ(plan(segments, {}, {}, Offset(29)).segments, 2U);
  EXPECT_EQ(plan(segments, {}, {}, Offset(0)).segments, 0U);
}

TEST(CompactionPlan, EndsAtTheFirstDirtySegmentThatIsTooYoung) {
  auto segments = sized({100, 100, 100, 100});
  segments[1].max_timestamp = segments[1].last_append = kNow - 10;
  EXPECT_EQ(plan(segments, {}, {.min_compaction_lag_ms = 100}).segments, 1U);
  EXPECT_EQ(plan(segments, {.first_dirty = Offset(20)}, {.min_compaction_lag_ms = 100}).segments, 3U);
  EXPECT_EQ(plan(segments, {}, {.min_compaction_lag_ms = 0}).segments, 3U);
  EXPECT_EQ(plan(segments, {}, {.min_compaction_lag_ms = std::numeric_limits<int64_t>::max()}).segments, 0U);
  segments[0].max_timestamp = kNow + 1'000'000;
  EXPECT_EQ(plan(segments, {}, {.min_compaction_lag_ms = 100}).segments, 1U)
      << "a timestamp in the future is as old as its append";
}

TEST(CompactionPlan, RecordsThatWaitTooLongDoNotAskForAShare) {
  const auto segments = sized({1000, 1, 1});
  const CompactionProgress progress{.first_dirty = Offset(10)};
  EXPECT_FALSE(plan(segments, progress, {.max_compaction_lag_ms = 1000}).wanted);
  EXPECT_TRUE(plan(segments, progress, {.max_compaction_lag_ms = 999}).wanted);
  EXPECT_FALSE(plan(segments, {.first_dirty = Offset(20)}, {.max_compaction_lag_ms = 1}).wanted) << "all is clean";
}

TEST(CompactionPlan, DeleteMarkersWhoseTimeHasComeAreAReason) {
  const auto segments = sized({1000, 1});
  EXPECT_FALSE(plan(segments, {.first_dirty = Offset(10), .next_delete_horizon = kNow + 1}).wanted);
  EXPECT_TRUE(plan(segments, {.first_dirty = Offset(10), .next_delete_horizon = kNow}).wanted);
}

}  // namespace
}  // namespace naru
