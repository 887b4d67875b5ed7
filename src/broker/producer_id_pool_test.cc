#include "broker/producer_id_pool.h"

#include <gtest/gtest.h>

#include <set>

#include "async/task_group.h"
#include "platform/simulated/simulated_world.h"

namespace naru {
namespace {

// A controller that takes a while, and can fail.
class Controller {
 public:
  Task<Result<ProducerIdBlock>> allocate(Seams seams) {
    EXPECT_FALSE(std::exchange(busy_, true)) << "two requests at once";
    ++requests;
    ignore(co_await sleep_until(seams.scheduler, seams.clock.now() + 10ms));
    busy_ = false;
    if (!fails.ok()) co_return failure(fails);
    const ProducerId first = next_;
    next_ += 10;
    co_return ProducerIdBlock{first, next_};
  }

  int requests = 0;
  Status fails;

 private:
  bool busy_ = false;
  ProducerId next_{500};
};

class ProducerIds : public testing::Test {
 protected:
  Task<void> take_one() {
    const auto id = co_await pool.next();
    if (id) {
      EXPECT_TRUE(ids.insert(*id).second) << "given twice: " << id->value();
    } else {
      ++failures;
    }
  }
  Task<void> take_many(int count) {
    TaskGroup group;
    for (int i = 0; i < count; ++i) group.spawn(take_one());
    co_await group.join();
  }

  SimulatedWorld world{1};
  std::unique_ptr<SimulatedProcess> process = world.add_node("broker").start();
  Controller controller;
  ProducerIdPool pool{[this] { return controller.allocate(process->seams()); }};
  std::set<ProducerId> ids;
  int failures = 0;
};

TEST_F(ProducerIds, ABlockIsUsedUpBeforeTheNextIsAskedFor) {
  world.run_task(take_many(10));
  EXPECT_EQ(controller.requests, 1);
  EXPECT_EQ(*ids.begin(), ProducerId(500));
  EXPECT_EQ(*ids.rbegin(), ProducerId(509));
  world.run_task(take_many(1));
  EXPECT_EQ(controller.requests, 2);
}

TEST_F(ProducerIds, ManyAtOnceGetDifferentIdsAndAskOneAfterTheOther) {
  world.run_task(take_many(500));
  EXPECT_EQ(ids.size(), 500u);
  EXPECT_EQ(controller.requests, 50);
  EXPECT_EQ(failures, 0);
}

TEST_F(ProducerIds, AFailureIsToldAndTheNextCallTriesAgain) {
  controller.fails = Status(ErrorCode::unavailable);
  world.run_task(take_many(3));
  EXPECT_EQ(failures, 3);
  controller.fails = {};
  world.run_task(take_many(3));
  EXPECT_EQ(ids.size(), 3u);
}

TEST_F(ProducerIds, ThoseBeyondTheQueueAreRefusedAtOnce) {
  controller.fails = Status(ErrorCode::unavailable);
  world.run_task(take_many(1100));
  EXPECT_EQ(failures, 1100);
  EXPECT_EQ(controller.requests, 1001);
}

TEST_F(ProducerIds, BelowTheLowestAreSkipped) {
  ProducerId lowest(0);
  ProducerIdPool choosy([this] { return controller.allocate(process->seams()); }, [&lowest] { return lowest; });
  std::vector<int64_t> taken;
  const auto take = [&]() -> Task<void> { taken.push_back((co_await choosy.next())->value()); };
  world.run_task(take());
  lowest = ProducerId(505);
  world.run_task(take());
  lowest = ProducerId(510);
  world.run_task(take());
  EXPECT_EQ(taken, (std::vector<int64_t>{500, 505, 510}));
  EXPECT_EQ(controller.requests, 2);
}

}  // namespace
}  // namespace naru
