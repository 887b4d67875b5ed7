#include "broker/stop_phases.h"

#include <gtest/gtest.h>

#include <string>

#include "async/one_shot.h"
#include "foundation/log.h"
#include "platform/simulated/simulated_world.h"

namespace naru {
namespace {

class StopPhasesTest : public testing::Test {
 protected:
  StopPhasesTest() {
    set_log_level(LogLevel::debug);
    testing::internal::CaptureStderr();
  }
  ~StopPhasesTest() override {
    if (!log_taken_) take_log();
    set_log_level(LogLevel::info);
  }

  Seams seams() { return process_->seams(); }
  Task<void> work(Duration takes) { ignore(co_await sleep_until(seams().scheduler, seams().clock.now() + takes)); }
  Duration time(Task<void> task) {
    const MonotonicTime begun = world_.now();
    world_.run_task(std::move(task));
    return world_.now() - begun;
  }
  std::string take_log() {
    log_taken_ = true;
    return testing::internal::GetCapturedStderr();
  }

  SimulatedWorld world_{1};
  std::unique_ptr<SimulatedProcess> process_ = world_.add_node("broker").start();
  StopPhases phases_{seams()};
  bool log_taken_ = false;
};

TEST_F(StopPhasesTest, APhaseThatReachesItsLimitIsLeftBehindAndJoinedLater) {
  EXPECT_LT(time(phases_.run("the store", 6s, work(1h))), 7s);
  EXPECT_GT(time(phases_.join()), 50min);
  EXPECT_NE(take_log().find("stop: gave up waiting for the store after 6000 ms"), std::string::npos);
}

TEST_F(StopPhasesTest, APhaseWithoutALimitIsWaitedForAndMentionedEveryNowAndThen) {
  EXPECT_GE(time(phases_.run_to_the_end("the logs", work(25s))), 25s);
  world_.run_task(phases_.join());
  const std::string log = take_log();
  EXPECT_NE(log.find("stop: still waiting for the logs after 10"), std::string::npos) << log;
  EXPECT_NE(log.find("stop: still waiting for the logs after 20"), std::string::npos) << log;
  EXPECT_NE(log.find("info  broker: stop: the logs took 25"), std::string::npos) << log;
}

TEST_F(StopPhasesTest, PhasesThatAreDoneAtOnceAreMentionedForDebuggingOnly) {
  EXPECT_LT(time(phases_.run("the store", 6s, work(1ms))), 1s);
  EXPECT_LT(time(phases_.run_to_the_end("the logs", work(1ms))), 1s);
  world_.run_task(phases_.join());
  const std::string log = take_log();
  EXPECT_NE(log.find("debug broker: stop: the store took"), std::string::npos) << log;
  EXPECT_NE(log.find("debug broker: stop: the logs took"), std::string::npos) << log;
  EXPECT_EQ(log.find("waiting"), std::string::npos) << log;
}

}  // namespace
}  // namespace naru
