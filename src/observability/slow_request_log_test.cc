#include "observability/slow_request_log.h"

#include <gtest/gtest.h>

namespace naru {
namespace {

MonotonicTime at(Duration since_start) {
  return MonotonicTime(since_start);
}

TEST(RequestTimes, ChargesEachStageWithTheTimeSinceThePreviousMark) {
  RequestTimes times(at(1s));
  times.mark(RequestStage::queued, at(1s + 2ms));
  times.mark(RequestStage::handled, at(1s + 5ms));
  times.mark(RequestStage::committed, at(1s + 6ms));
  EXPECT_EQ(times.total(), 6ms);
  EXPECT_EQ(times.to_string(), "queued 2.0 ms, handled 3.0 ms, committed 1.0 ms");
}

TEST(RequestTimes, WaitingOnPurposeIsNotSlowness) {
  RequestTimes times(at(0s));
  times.mark(RequestStage::handled, at(1ms));
  times.skip_wait(at(30s));
  times.mark(RequestStage::handled, at(30s + 2ms));
  EXPECT_EQ(times.total(), 3ms);
  EXPECT_EQ(times.waited(), 30s - 1ms);
}

TEST(SlowRequestLog, WritesOnlySlowOnesAndAtMostTenPerSecond) {
  SlowRequestLog log(100ms);
  RequestTimes fast(at(0s));
  fast.mark(RequestStage::committed, at(99ms));
  RequestTimes slow(at(0s));
  slow.mark(RequestStage::committed, at(100ms));
  EXPECT_FALSE(log.observe("Fetch", "client", fast, at(1s)));
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(log.observe("Fetch", "client\nforged line", slow, at(1s)));
  EXPECT_FALSE(log.observe("Fetch", "client", slow, at(1s + 999ms)));
  EXPECT_EQ(log.suppressed(), 1u);
  EXPECT_TRUE(log.observe("Fetch", "client", slow, at(2s)));
  EXPECT_FALSE(SlowRequestLog(Duration::zero()).observe("Fetch", "client", slow, at(1s)));
}

}  // namespace
}  // namespace naru
