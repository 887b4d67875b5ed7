#include "broker/late_work.h"

#include <gtest/gtest.h>

#include <vector>

#include "platform/simulated/simulated_world.h"

namespace naru {
namespace {

class LateWorkTest : public testing::Test {
 protected:
  ~LateWorkTest() override { world_.run_task(late_work_.join()); }

  MonotonicTime now() { return seams_.clock.now(); }
  Task<int> slow_answer(Duration length) {
    ignore(co_await sleep_until(seams_.scheduler, now() + length));
    ++done_;
    co_return 42;
  }
  struct Answer {
    std::optional<int> value;
    Duration after{};
  };
  Answer ask(Duration length, Duration timeout) {
    Answer answer;
    world_.run_task(note(length, timeout, answer));
    return answer;
  }
  Task<void> note(Duration length, Duration timeout, Answer& answer) {
    const MonotonicTime begun = now();
    answer.value = co_await late_work_.result_until(begun + timeout, memory_, slow_answer(length));
    answer.after = now() - begun;
  }
  void wait(Duration length) {
    world_.run_task([](Seams seams, Duration pause) -> Task<void> {
      ignore(co_await sleep_until(seams.scheduler, seams.clock.now() + pause));
    }(seams_, length));
  }

  SimulatedWorld world_{1};
  std::unique_ptr<SimulatedProcess> process_ = world_.add_node("here").start();
  const Seams seams_ = process_->seams();
  MemoryBudget budget_{1 << 20};
  DecodedMemory memory_{budget_, 1};
  LateWork late_work_{seams_.scheduler};
  int done_ = 0;
};

TEST_F(LateWorkTest, ARequestGetsTheResultThatIsThereInTime) {
  const Answer answer = ask(1s, 5s);
  EXPECT_EQ(answer.value, 42);
  EXPECT_LT(answer.after, 2s);
}

TEST_F(LateWorkTest, WhatIsNotDoneInTimeGoesOnAndIsPaidForUntilItsEnd) {
  ASSERT_TRUE(memory_.take_for_answer(100'000));
  const uint64_t paid = budget_.used(MemoryAccount::decoded_requests);
  ASSERT_GT(paid, 0u);
  const Answer answer = ask(10s, 2s);
  EXPECT_FALSE(answer.value);
  EXPECT_GE(answer.after, 2s);
  EXPECT_LT(answer.after, 3s);
  memory_.release();  // as at the end of the request
  EXPECT_EQ(budget_.used(MemoryAccount::decoded_requests), paid);
  EXPECT_EQ(done_, 0);
  wait(20s);
  EXPECT_EQ(done_, 1);
  EXPECT_EQ(budget_.used(MemoryAccount::decoded_requests), 0u);
}

TEST_F(LateWorkTest, ARequestWaitsWhenTooMuchIsLate) {
  for (size_t i = 0; i < LateWork::kTasksMax; ++i) EXPECT_FALSE(ask(1min, 1ms).value);
  const Answer answer = ask(2min, 1ms);
  EXPECT_EQ(answer.value, 42) << "else a client could have any number of tasks";
  EXPECT_GE(answer.after, 2min);
  EXPECT_FALSE(ask(1min, 1ms).value) << "there is room again";
}

}  // namespace
}  // namespace naru
