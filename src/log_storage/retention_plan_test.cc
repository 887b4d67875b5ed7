#include "log_storage/retention_plan.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace naru {
namespace {

constexpr WallTimeMs kNow = 1'000'000;
constexpr WallTimeMs kFuture = std::numeric_limits<WallTimeMs>::max();

// Segments of 10 offsets and 100 bytes each, whose ages are given.
std::vector<SegmentFacts> aged(const std::vector<int64_t>& ages) {
  std::vector<SegmentFacts> segments;
  for (size_t i = 0; i < ages.size(); ++i) {
    const auto base = static_cast<int64_t>(10 * i);
    segments.push_back({.base_offset = Offset(base),
                        .end_offset = Offset(base + 10),
                        .bytes = 100,
                        .max_timestamp = kNow - ages[i],
                        .first_append = kNow - ages[i],
                        .last_append = kNow - ages[i]});
  }
  return segments;
}

RetentionPlan plan(const std::vector<SegmentFacts>& segments, const RetentionRules& rules, Offset limit = Offset(1000),
                   Offset start = Offset(0)) {
  return plan_retention(segments, rules, start, limit, kNow);
}

TEST(RetentionPlan, RemovesSegmentsThatAreOlderThanAllowed) {
  const auto segments = aged({500, 400, 101, 100, 0});
  EXPECT_EQ(plan(segments, {.retention_ms = 100}).start_offset, Offset(30)) << "exactly as old as allowed may stay";
  EXPECT_EQ(plan(segments, {.retention_ms = 1000}).start_offset, Offset(0));
  EXPECT_EQ(plan(segments, {.retention_ms = -1}).start_offset, Offset(0));
}

TEST(RetentionPlan, StopsAtTheFirstSegmentThatMustStay) {
  EXPECT_EQ(plan(aged({500, 10, 500, 0}), {.retention_ms = 100}).start_offset, Offset(10));
}

TEST(RetentionPlan, RollsTheActiveSegmentWhenItIsOldToo) {
  const RetentionPlan all = plan(aged({500, 400}), {.retention_ms = 100});
  EXPECT_EQ(all.start_offset, Offset(20));
  EXPECT_TRUE(all.roll_active);
  EXPECT_FALSE(plan(aged({500, 50}), {.retention_ms = 100}).roll_active);
}

TEST(RetentionPlan, NeverTouchesAnythingAtOrAboveTheLimit) {
  for (int64_t limit = 0; limit <= 30; ++limit) {
    const RetentionPlan bounded = plan(aged({500, 400, 300}), {.retention_ms = 0}, Offset(limit));
    EXPECT_EQ(bounded.start_offset, Offset(limit / 10 * 10)) << "limit " << limit;
    EXPECT_EQ(bounded.roll_active, limit == 30);
  }
}

TEST(RetentionPlan, TimestampsInTheFutureDoNotPinData) {
  auto segments = aged({500, 0});
  segments[0].max_timestamp = kFuture;
  EXPECT_EQ(plan(segments, {.retention_ms = 100}).start_offset, Offset(10));
  segments[0].last_append = kNow;
  EXPECT_EQ(plan(segments, {.retention_ms = 100}).start_offset, Offset(0)) << "it was just written";
}

TEST(RetentionPlan, OldTimestampsMakeDataOldAndMissingOnesLeaveItToTheTimeOfAppending) {
  auto segments = aged({0, 0});
  segments[0].max_timestamp = 5;
  EXPECT_EQ(plan(segments, {.retention_ms = 100}).start_offset, Offset(10));
  segments[0].max_timestamp = -1;
  EXPECT_EQ(plan(segments, {.retention_ms = 100}).start_offset, Offset(0));
  segments[0].last_append = std::numeric_limits<WallTimeMs>::min();
  EXPECT_EQ(plan(segments, {.retention_ms = 100}).start_offset, Offset(10)) << "further away than 64 bits tell";
}

TEST(RetentionPlan, RemovesWholeSegmentsAboveTheSizeAndNoMore) {
  const auto segments = aged({0, 0, 0, 0});
  EXPECT_EQ(plan(segments, {.retention_bytes = 400}).start_offset, Offset(0));
  EXPECT_EQ(plan(segments, {.retention_bytes = 301}).start_offset, Offset(0)) << "99 bytes are no segment";
  EXPECT_EQ(plan(segments, {.retention_bytes = 300}).start_offset, Offset(10));
  EXPECT_EQ(plan(segments, {.retention_bytes = 150}).start_offset, Offset(20));
  const RetentionPlan nothing = plan(segments, {.retention_bytes = 0});
  EXPECT_EQ(nothing.start_offset, Offset(40));
  EXPECT_TRUE(nothing.roll_active);
}

TEST(RetentionPlan, TopicsThatAreOnlyCompactedLoseOnlyWhatLiesBelowTheStart) {
  const RetentionRules rules{.by_time_and_size = false, .retention_ms = 0, .retention_bytes = 0};
  EXPECT_EQ(plan(aged({500, 500, 500}), rules).start_offset, Offset(0));
  const RetentionPlan all_deleted = plan(aged({500, 500}), rules, Offset(20), Offset(20));
  EXPECT_EQ(all_deleted.start_offset, Offset(20));
  EXPECT_TRUE(all_deleted.roll_active) << "DeleteRecords emptied the active segment";
}

TEST(RetentionPlan, TheStartNeverGoesBack) {
  EXPECT_EQ(plan(aged({500, 0, 0}), {.retention_ms = 100}, Offset(1000), Offset(25)).start_offset, Offset(25));
}

TEST(RetentionPlan, AnEmptyActiveSegmentStays) {
  auto segments = aged({500, 500});
  segments[1].end_offset = segments[1].base_offset;
  segments[1].bytes = 0;
  const RetentionPlan rest = plan(segments, {.retention_ms = 100, .retention_bytes = 0});
  EXPECT_EQ(rest.start_offset, Offset(10));
  EXPECT_FALSE(rest.roll_active);
}

}  // namespace
}  // namespace naru
