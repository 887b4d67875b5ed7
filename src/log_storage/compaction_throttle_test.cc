#include "log_storage/compaction_throttle.h"

#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <optional>

#include "async/task_group.h"
#include "platform/simulated/simulated_world.h"

namespace naru {
namespace {

constexpr MonotonicTime kStart{1h};

TEST(ByteDebt, IsPaidByTheTimeThatPasses) {
  ByteDebt debt;
  EXPECT_EQ(debt.add(3000, kStart, 1000), 3s);
  EXPECT_EQ(debt.add(0, kStart + 1s, 1000), 2s);
  EXPECT_EQ(debt.add(500, kStart + 2s, 1000), 1500ms);
  EXPECT_EQ(debt.add(0, kStart + 4s, 1000), 0s);
}

TEST(ByteDebt, NothingIsSavedWhileNothingIsUsed) {
  ByteDebt debt;
  EXPECT_EQ(debt.add(1000, kStart, 1000), 1s);
  EXPECT_EQ(debt.add(1000, kStart + 1h, 1000), 1s);
}

TEST(ByteDebt, WithoutALimitThereIsNone) {
  ByteDebt debt;
  for (int i = 0; i < 3; ++i) {
    EXPECT_LE(debt.add(uint64_t{1} << 40, kStart, std::numeric_limits<double>::max()), 1ns);
  }
}

TEST(ByteDebt, IsBoundedWhateverTheRate) {
  ByteDebt debt;
  EXPECT_EQ(debt.add(uint64_t{1} << 60, kStart, std::numeric_limits<double>::min()), 1h);
  EXPECT_LE(debt.add(0, kStart + 1s, std::numeric_limits<double>::max()), 1ns) << "it is counted in bytes";
}

class CompactionThrottleTest : public testing::Test {
 protected:
  Task<void> wait() {
    status_ = co_await throttle_.wait(cancel_.token());
    on_worker_ = process_->scheduler().on_worker();
  }

  SimulatedWorld world_{1};
  std::unique_ptr<SimulatedProcess> process_ = world_.add_node("broker").start();
  double rate_ = 1000;
  CompactionThrottle throttle_{process_->seams().clock, process_->seams().scheduler, [this] { return rate_; }};
  CancelSource cancel_;
  std::optional<Status> status_;
  bool on_worker_ = false;
  TaskGroup tasks_;
};

TEST_F(CompactionThrottleTest, WaitsUntilTheRateIsKeptAndGoesOnOnAWorker) {
  EXPECT_TRUE(throttle_.spend(10'000));
  tasks_.spawn(wait());
  world_.run_for(9s);
  EXPECT_FALSE(status_.has_value());
  world_.run_for(1500ms);
  ASSERT_TRUE(status_.has_value());
  EXPECT_TRUE(status_->ok());
  EXPECT_TRUE(on_worker_);
}

TEST_F(CompactionThrottleTest, ShortWaitsArePutTogether) {
  EXPECT_FALSE(throttle_.spend(30));
  EXPECT_TRUE(throttle_.spend(30));
}

TEST_F(CompactionThrottleTest, FollowsTheRateWhileItWaits) {
  EXPECT_TRUE(throttle_.spend(1'000'000));
  tasks_.spawn(wait());
  world_.run_for(10s);
  EXPECT_FALSE(status_.has_value());
  rate_ = 1e9;
  world_.run_for(1500ms);
  EXPECT_TRUE(status_.has_value());
}

TEST_F(CompactionThrottleTest, ACancelledWaitEndsAtOnceOnAWorker) {
  EXPECT_TRUE(throttle_.spend(1'000'000));
  tasks_.spawn(wait());
  world_.run_for(1s);
  cancel_.cancel();
  world_.run_for(100ms);
  ASSERT_TRUE(status_.has_value());
  EXPECT_EQ(*status_, ErrorCode::cancelled);
  EXPECT_TRUE(on_worker_);
}

}  // namespace
}  // namespace naru
