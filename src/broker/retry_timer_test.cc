#include "broker/retry_timer.h"

#include <gtest/gtest.h>

#include <vector>

#include "platform/simulated/simulated_world.h"

namespace naru {
namespace {

class RetryTimerTest : public testing::Test {
 protected:
  ~RetryTimerTest() override { world_.run_task(timer_.stop()); }

  Task<void> again() {
    times_.push_back(process_->seams().clock.now() - begun_);
    timer_.set_wanted(failures_-- > 0);
    co_return;
  }
  void wait(Duration length) {
    world_.run_task([](Seams seams, Duration pause) -> Task<void> {
      ignore(co_await sleep_until(seams.scheduler, seams.clock.now() + pause));
    }(process_->seams(), length));
  }

  SimulatedWorld world_{1};
  std::unique_ptr<SimulatedProcess> process_ = world_.add_node("here").start();
  const MonotonicTime begun_ = process_->seams().clock.now();
  std::vector<Duration> times_;
  int failures_ = 0;
  RetryTimer timer_{process_->seams(), [this] { return again(); }};
};

TEST_F(RetryTimerTest, DoesNothingUnasked) {
  timer_.set_wanted(false);
  wait(1min);
  EXPECT_TRUE(times_.empty());
}

TEST_F(RetryTimerTest, TriesAgainLessAndLessOftenUntilAllIsWell) {
  failures_ = 6;
  timer_.set_wanted(true);
  timer_.set_wanted(true);  // one of them is enough
  wait(2min);
  ASSERT_EQ(times_.size(), 7u);
  EXPECT_LT(times_[0], 1s);
  for (size_t i = 1; i < times_.size(); ++i) {
    EXPECT_LE(times_[i] - times_[i - 1], RetryTimer::kLongestPause + 100ms) << i;
    EXPECT_GE(times_[i] - times_[i - 1], RetryTimer::kFirstPause) << i;
  }
  // It was well in between, so the next trouble is met quickly.
  const auto before = process_->seams().clock.now();
  timer_.set_wanted(true);
  wait(10s);
  ASSERT_EQ(times_.size(), 8u);
  EXPECT_LT(begun_ + times_.back() - before, 1s);
}

TEST_F(RetryTimerTest, StopsAtOnce) {
  timer_.set_wanted(true);
  const auto before = process_->seams().clock.now();
  RetryTimer other{process_->seams(), [this] { return again(); }};
  other.set_wanted(true);
  world_.run_task(other.stop());
  other.set_wanted(true);
  EXPECT_LT(process_->seams().clock.now() - before, 100ms);
}

}  // namespace
}  // namespace naru
