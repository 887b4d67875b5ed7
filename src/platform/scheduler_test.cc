// The contract of Scheduler, and of the tasks on top of it, on the real one and on the simulated one.
#include "platform/scheduler.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "async/task_group.h"
#include "platform/real/real_platform.h"
#include "platform/seams.h"
#include "platform/simulated/simulated_world.h"

namespace naru {
namespace {

class Place {
 public:
  virtual ~Place() = default;
  virtual Seams seams() = 0;
  virtual void run(Task<void> task) = 0;
};

class RealPlace final : public Place {
 public:
  Seams seams() override { return platform_.seams(); }
  void run(Task<void> task) override { platform_.run(std::move(task)); }

 private:
  RealPlatform platform_{{.loops = 2, .workers = 3}};
};

class PretendedPlace final : public Place {
 public:
  Seams seams() override { return process_->seams(); }
  void run(Task<void> task) override { world_.run_task(std::move(task)); }

 private:
  SimulatedWorld world_{7};
  std::unique_ptr<SimulatedProcess> process_ = world_.add_node("host").start();
};

class SchedulerContract : public testing::TestWithParam<const char*> {
 protected:
  SchedulerContract() {
    if (std::string(GetParam()) == "real") {
      place = std::make_unique<RealPlace>();
    } else {
      place = std::make_unique<PretendedPlace>();
    }
  }
  std::unique_ptr<Place> place;
};

INSTANTIATE_TEST_SUITE_P(, SchedulerContract, testing::Values("real", "simulated"),
                         [](const auto& instance) { return std::string(instance.param); });

TEST_P(SchedulerContract, PostsRunLaterAndInOrder) {
  place->run([](Seams seams) -> Task<void> {
    std::vector<int> order;
    OneShot<> done;
    seams.scheduler.post([&] { order.push_back(1); });
    seams.scheduler.post([&] {
      order.push_back(2);
      seams.scheduler.post([&] {
        order.push_back(4);
        done.set();
      });
      order.push_back(3);
    });
    EXPECT_TRUE(order.empty());
    co_await done;
    EXPECT_EQ(order, (std::vector{1, 2, 3, 4}));
  }(place->seams()));
}

TEST_P(SchedulerContract, TimersRunByDeadlineAndNeverEarly) {
  place->run([](Seams seams) -> Task<void> {
    std::vector<int> order;
    OneShot<> done;
    const MonotonicTime start = seams.clock.now();
    for (const int delay_ms : {30, 10, 20, 0, -5}) {
      seams.scheduler.start_timer(start + Milliseconds(delay_ms), [&, start, delay_ms] {
        EXPECT_GE(seams.clock.now(), start + Milliseconds(delay_ms));
        order.push_back(delay_ms);
        if (delay_ms == 30) done.set();
      });
    }
    co_await done;
    EXPECT_EQ(order.size(), 5U);
    EXPECT_EQ(order.back(), 30);
    EXPECT_EQ(order[3], 20);
    EXPECT_EQ(order[2], 10);
  }(place->seams()));
}

TEST_P(SchedulerContract, CancelledTimerNeverRunsAndSaysSoOnce) {
  place->run([](Seams seams) -> Task<void> {
    bool ran = false;
    const auto token = std::make_shared<int>(0);
    const auto timer = seams.scheduler.start_timer(seams.clock.now() + 5ms, [&ran, token] { ran = true; });
    EXPECT_TRUE(seams.scheduler.cancel_timer(timer));
    EXPECT_EQ(token.use_count(), 1) << "the function is gone with the timer";
    EXPECT_FALSE(seams.scheduler.cancel_timer(timer));
    EXPECT_FALSE(seams.scheduler.cancel_timer(~Scheduler::TimerId{0}));
    EXPECT_TRUE((co_await sleep_until(seams.scheduler, seams.clock.now() + 20ms)).ok());
    EXPECT_FALSE(ran);
  }(place->seams()));
}

TEST_P(SchedulerContract, TimerMayStartAndCancelTimers) {
  place->run([](Seams seams) -> Task<void> {
    OneShot<> done;
    const auto victim = seams.scheduler.start_timer(seams.clock.now() + 1h, [] { ADD_FAILURE(); });
    seams.scheduler.start_timer(seams.clock.now() + 1ms, [&] {
      EXPECT_TRUE(seams.scheduler.cancel_timer(victim));
      seams.scheduler.start_timer(seams.clock.now(), [&] { done.set(); });
    });
    co_await done;
  }(place->seams()));
}

TEST_P(SchedulerContract, FarAwayTimersAreHeld) {
  place->run([](Seams seams) -> Task<void> {
    const auto never = seams.scheduler.start_timer(MonotonicTime::max(), [] { ADD_FAILURE(); });
    EXPECT_TRUE((co_await sleep_until(seams.scheduler, seams.clock.now() + 5ms)).ok());
    EXPECT_TRUE(seams.scheduler.cancel_timer(never));
  }(place->seams()));
}

TEST_P(SchedulerContract, SleepIsEndedByCancellation) {
  place->run([](Seams seams) -> Task<void> {
    CancelSource source;
    const MonotonicTime start = seams.clock.now();
    seams.scheduler.start_timer(start + 5ms, [&source] { source.cancel(); });
    EXPECT_EQ(co_await sleep_until(seams.scheduler, start + 1h, source.token()), ErrorCode::cancelled);
    EXPECT_EQ(co_await sleep_until(seams.scheduler, start + 1h, source.token()), ErrorCode::cancelled)
        << "before it begins";
    EXPECT_LT(seams.clock.now() - start, 10min);
  }(place->seams()));
}

TEST_P(SchedulerContract, BlockingWorkReturnsItsValue) {
  place->run([](Seams seams) -> Task<void> {
    const int value = co_await on_worker(seams.scheduler, [] { return 42; });
    EXPECT_EQ(value, 42);
    bool ran = false;
    co_await on_worker(seams.scheduler, [&ran] { ran = true; });
    EXPECT_TRUE(ran);
    const auto moved =
        co_await on_worker(seams.scheduler, [owned = std::make_unique<int>(7)]() mutable { return std::move(owned); });
    EXPECT_EQ(*moved, 7);
  }(place->seams()));
}

// Deadline and cancellation come at about the same moment, from different threads where there are any.
Task<void> sleep_and_race(Seams seams, int round) {
  CancelSource source;
  const MonotonicTime deadline = seams.clock.now() + 1ms;
  TaskGroup canceller;
  canceller.spawn([](Seams parts, MonotonicTime when, CancelSource& cancelled) -> Task<void> {
    EXPECT_TRUE((co_await sleep_until(parts.scheduler, when)).ok());
    co_await on_worker(parts.scheduler, [&cancelled] { cancelled.cancel(); });
  }(seams, round % 2 == 0 ? deadline : deadline - 1ms, source));
  const Status status = co_await sleep_until(seams.scheduler, deadline, source.token());
  EXPECT_TRUE(status.ok() || status == ErrorCode::cancelled);
  co_await canceller.join();
}

TEST_P(SchedulerContract, SleepSurvivesRacingCancellation) {
  place->run([](Seams seams) -> Task<void> {
    TaskGroup group;
    for (int round = 0; round < 300; ++round) group.spawn(sleep_and_race(seams, round));
    co_await group.join();
  }(place->seams()));
}

}  // namespace
}  // namespace naru
