#include "async/task.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "async/one_shot.h"
#include "async/strand.h"
#include "async/task_group.h"
#include "async/task_testing.h"
#include "foundation/status.h"

namespace naru {
namespace {

// Counts itself: every object must be destroyed exactly once, and never used after that.
class Counted {
 public:
  static inline int alive = 0;

  explicit Counted(int value) : value_(value), self_(this) { ++alive; }
  Counted(const Counted& other) : Counted(other.value()) {}
  Counted(Counted&& other) noexcept : Counted(other.value()) {}
  Counted& operator=(const Counted&) = default;
  ~Counted() {
    EXPECT_EQ(self_, this);
    self_ = nullptr;
    --alive;
  }
  int value() const {
    EXPECT_EQ(self_, this) << "used after its destruction, or moved without being asked";
    return value_;
  }

 private:
  int value_;
  const Counted* self_;
};

class TaskTest : public testing::Test {
 protected:
  void SetUp() override { Counted::alive = 0; }
  void TearDown() override { EXPECT_EQ(Counted::alive, 0); }
};

Task<int> twice(int number) {
  co_return 2 * number;
}

TEST_F(TaskTest, StartsWhenAwaitedAndReturnsItsValue) {
  bool started = false;
  {
    const auto never_awaited = [](bool& flag, Counted) -> Task<void> {
      flag = true;
      co_return;
    }(started, Counted(1));
  }
  EXPECT_FALSE(started);
  EXPECT_EQ(run_now(twice(21)), 42);
}

TEST_F(TaskTest, ReturnsThingsThatCannotBeCopied) {
  const auto make = []() -> Task<std::unique_ptr<int>> { co_return std::make_unique<int>(7); };
  EXPECT_EQ(*run_now(make()), 7);
}

TEST_F(TaskTest, PropagatesErrorsFromInsideCoroutines) {
  const auto fail = []() -> Task<Result<int>> { co_return failure(ErrorCode::not_found, "gone"); };
  const auto add_one = [](Task<Result<int>> task) -> Task<Result<int>> {
    NARU_CO_TRY_ASSIGN(const int value, co_await std::move(task));
    co_return value + 1;
  };
  const auto check = [](Task<Result<int>> task) -> Task<Status> {
    const Result<int> result = co_await std::move(task);
    NARU_CO_TRY(result ? Status() : result.error());
    co_return Status();
  };
  EXPECT_EQ(run_now(add_one(fail())).error(), ErrorCode::not_found);
  EXPECT_EQ(run_now(check(add_one(fail()))), ErrorCode::not_found);
  const auto succeed = []() -> Task<Result<int>> { co_return 1; };
  EXPECT_EQ(*run_now(add_one(succeed())), 2);
}

Task<uint64_t> chain(uint64_t depth) {
  if (depth == 0) co_return 0;
  co_return 1 + co_await chain(depth - 1);
}

TEST_F(TaskTest, AMillionNestedTasksDoNotGrowTheStack) {
  EXPECT_EQ(run_now(chain(1'000'000)), 1'000'000U);
}

TEST_F(TaskTest, AMillionTasksOneAfterTheOtherDoNotGrowTheStack) {
  const auto sum = []() -> Task<int64_t> {
    int64_t total = 0;
    for (int i = 0; i < 1'000'000; ++i) total += co_await twice(i);
    co_return total;
  };
  EXPECT_EQ(run_now(sum()), 999'999'000'000);
}

// --- What other compilers got wrong: temporaries inside co_await expressions, destroyed twice or too early ---------

struct Aggregate {
  Counted first;
  std::string text;
  Counted second;
};

Task<int> value_of(Aggregate aggregate) {
  co_return aggregate.first.value() + aggregate.second.value() + static_cast<int>(aggregate.text.size());
}
Task<int> value_of(Counted counted) {
  co_return counted.value();
}
Task<int> value_of_reference(const Counted& counted) {
  co_return counted.value();
}

TEST_F(TaskTest, AggregateTemporariesInCoAwaitAreDestroyedOnce) {
  const auto body = []() -> Task<int> {
    const std::string text(100, 'x');
    co_return co_await value_of(Aggregate{Counted(1), text, Counted(2)}) +
        co_await value_of({.first = Counted(10), .text = text, .second = Counted(20)});
  };
  EXPECT_EQ(run_now(body()), 233);
}

TEST_F(TaskTest, CapturingLambdaCalledInsideCoAwaitLivesAsLongAsTheCall) {
  const auto body = []() -> Task<int> {
    const Counted captured(5);
    // Not a coroutine itself: it only makes the task.
    const int first = co_await [copy = captured] { return value_of(copy); }();
    const int second = co_await [copy = captured](int more) { return value_of(Counted(copy.value() + more)); }(1);
    co_return first + second;
  };
  EXPECT_EQ(run_now(body()), 11);
}

TEST_F(TaskTest, ConditionalInsideCoAwaitDestroysOnlyWhatItMade) {
  const auto body = [](bool which) -> Task<int> {
    const int first = co_await (which ? value_of(Counted(1)) : value_of(Aggregate{Counted(2), "", Counted(3)}));
    const int second = which ? co_await value_of(Counted(4)) : co_await value_of(Counted(5));
    const int third = co_await value_of(which ? Counted(6) : Counted(7));
    co_return 100 * first + 10 * second + third;
  };
  EXPECT_EQ(run_now(body(true)), 146);
  EXPECT_EQ(run_now(body(false)), 557);
}

TEST_F(TaskTest, TemporariesLiveUntilTheEndOfTheFullExpression) {
  const auto body = []() -> Task<int> {
    co_return co_await value_of_reference(Counted(3)) + co_await value_of_reference(Counted(4));
  };
  EXPECT_EQ(run_now(body()), 7);
}

TEST_F(TaskTest, LocalsAreDestroyedOnceAcrossSuspensionOnAnotherThread) {
  OneShot<Counted> shot;
  int seen = 0;
  TaskGroup group;
  group.spawn([](OneShot<Counted>& from, int& to) -> Task<void> {
    const Counted local(1);
    const Aggregate aggregate{Counted(2), std::string(100, 'y'), co_await from};
    to = local.value() + aggregate.first.value() + aggregate.second.value();
  }(shot, seen));
  std::thread([&shot] { shot.set(Counted(40)); }).join();
  EXPECT_EQ(seen, 43);
}

// --- OneShot ---------------------------------------------------------------------------------------------------------

Task<void> store_value(OneShot<int>& from, int& to) {
  to = co_await from;
}

TEST(OneShot, HandsItsValueOverWhicheverSideIsFirst) {
  OneShot<int> set_first;
  OneShot<int> awaited_first;
  int a = 0;
  int b = 0;
  TaskGroup group;
  set_first.set(1);
  group.spawn(store_value(set_first, a));
  group.spawn(store_value(awaited_first, b));
  EXPECT_EQ(a, 1);
  EXPECT_EQ(b, 0);
  EXPECT_FALSE(awaited_first.is_set());
  awaited_first.set(2);
  EXPECT_EQ(b, 2);
}

TEST(OneShot, ResumesOutsideTheStrandInWhichItWasSet) {
  Strand strand;
  OneShot<int> shot;
  int value = 0;
  TaskGroup group;
  group.spawn(store_value(shot, value));
  strand.run([&] {
    shot.set(1);
    EXPECT_EQ(value, 0);
  });
  EXPECT_EQ(value, 1);
}

TEST(OneShotStress, SettingAndAwaitingRace) {
  for (int i = 0; i < 2000; ++i) {
    OneShot<int> shot;
    int value = 0;
    TaskGroup group;
    std::thread setter([&shot, i] { shot.set(i + 1); });
    group.spawn(store_value(shot, value));
    setter.join();
    EXPECT_EQ(value, i + 1);
  }
}

// --- TaskGroup -------------------------------------------------------------------------------------------------------

TEST(TaskGroup, JoinWaitsForAllMembersEvenThoseSpawnedMeanwhile) {
  OneShot<> first;
  OneShot<> second;
  bool joined = false;
  TaskGroup outer;
  TaskGroup group;
  const auto wait = [](OneShot<>& shot) -> Task<void> { co_await shot; };
  group.spawn([](TaskGroup& members, OneShot<>& own, OneShot<>& next, auto make) -> Task<void> {
    co_await own;
    members.spawn(make(next));
  }(group, first, second, wait));
  outer.spawn([](TaskGroup& members, bool& flag) -> Task<void> {
    co_await members.join();
    flag = true;
  }(group, joined));
  EXPECT_EQ(group.running(), 1U);
  first.set();
  EXPECT_FALSE(joined);
  EXPECT_EQ(group.running(), 1U);
  second.set();
  EXPECT_TRUE(joined);
  EXPECT_EQ(group.running(), 0U);
}

TEST(TaskGroup, MemberIsGoneBeforeJoinReturns) {
  const auto token = std::make_shared<int>(0);
  OneShot<> shot;
  TaskGroup outer;
  TaskGroup group;
  group.spawn([](OneShot<>& wait, std::shared_ptr<int>) -> Task<void> { co_await wait; }(shot, token));
  outer.spawn([](TaskGroup& members, const std::shared_ptr<int>& counted) -> Task<void> {
    co_await members.join();
    EXPECT_EQ(counted.use_count(), 1);
  }(group, token));
  EXPECT_EQ(token.use_count(), 2);
  shot.set();
  EXPECT_EQ(outer.running(), 0U);
}

TEST(TaskGroup, EmptyGroupJoinsAtOnce) {
  TaskGroup outer;
  TaskGroup group;
  outer.spawn([](TaskGroup& members) -> Task<void> { co_await members.join(); }(group));
  EXPECT_EQ(outer.running(), 0U);
}

TEST(TaskGroupStress, MembersEndOnOtherThreads) {
  for (int i = 0; i < 500; ++i) {
    OneShot<> shots[3];
    std::atomic<bool> joined{false};
    TaskGroup outer;
    auto group = std::make_unique<TaskGroup>();
    for (OneShot<>& shot : shots) {
      group->spawn([](OneShot<>& own) -> Task<void> { co_await own; }(shot));
    }
    outer.spawn([](std::unique_ptr<TaskGroup> members, std::atomic<bool>& flag) -> Task<void> {
      co_await members->join();
      members.reset();
      flag = true;
    }(std::move(group), joined));
    std::vector<std::thread> setters;
    for (OneShot<>& shot : shots) setters.emplace_back([&shot] { shot.set(); });
    for (std::thread& setter : setters) setter.join();
    EXPECT_TRUE(joined);
    EXPECT_EQ(outer.running(), 0U);
  }
}

}  // namespace
}  // namespace naru
