#include "observability/memory_budget.h"

#include <gtest/gtest.h>

#include <thread>

#include "observability/state_memory.h"

namespace naru {
namespace {

using enum MemoryAccount;

TEST(MemoryBudget, RefusesWhatDoesNotFitAndGetsItBack) {
  MemoryBudget budget(100);
  auto first = budget.try_reserve(request_bodies, 60);
  ASSERT_TRUE(first);
  EXPECT_FALSE(budget.try_reserve(decompression, 41));
  EXPECT_FALSE(budget.try_reserve(decompression, UINT64_MAX)) << "no overflow";
  auto second = budget.try_reserve(decompression, 40);
  ASSERT_TRUE(second);
  EXPECT_EQ(budget.used(), 100u);
  EXPECT_EQ(budget.used(request_bodies), 60u);
  EXPECT_EQ(budget.used(decompression), 40u);
  first.reset();
  EXPECT_EQ(budget.used(request_bodies), 0u);
  second->shrink_to(10);
  EXPECT_EQ(budget.used(), 10u);
}

TEST(MemoryBudget, AMovedLeaseGivesBackOnce) {
  MemoryBudget budget(100);
  MemoryLease lease = *budget.try_reserve(producer_state, 30);
  MemoryLease other = std::move(lease);
  EXPECT_EQ(other.bytes(), 30u);
  other = *budget.try_reserve(producer_state, 5);
  EXPECT_EQ(budget.used(), 5u);
  other.release();
  other.release();
  EXPECT_EQ(budget.used(), 0u);
}

TEST(MemoryBudget, WhatMayBeHeldForLongHasOnlyAPartOfTheBudget) {
  MemoryBudget budget(100);
  auto quarter = budget.try_reserve(responses, 25);
  ASSERT_TRUE(quarter);
  EXPECT_FALSE(budget.try_reserve(responses, 1));
  auto other = budget.try_reserve(sessions, 25);
  EXPECT_TRUE(other) << "another account has its own part";
  quarter->shrink_to(10);
  auto more = budget.try_reserve(responses, 15);
  ASSERT_TRUE(more);
  quarter->merge(std::move(*more));
  EXPECT_EQ(quarter->bytes(), 25u);
  quarter->release();
  EXPECT_EQ(budget.used(responses), 0u);
}

TEST(MemoryBudget, WhatExistsAlreadyMayExceedTheBudgetAndKeepsOthersWaiting) {
  MemoryBudget budget(100);
  auto all = budget.try_reserve(request_bodies, 100);
  auto answer = budget.charge(responses, 20);
  ASSERT_TRUE(answer);
  EXPECT_EQ(budget.used(), 120u);
  EXPECT_FALSE(budget.charge(responses, 6)) << "only up to the account's part";
  all->shrink_to(85);
  EXPECT_FALSE(budget.try_reserve(request_bodies, 1)) << "105 are in use";
  answer.reset();
  EXPECT_TRUE(budget.try_reserve(request_bodies, 15));
}

struct Line {
  MemoryBudget& budget;
  std::vector<std::pair<int, MemoryLease>> granted;

  MemoryBudget::WaiterId ask(int name, uint64_t bytes) {
    auto asked = budget.reserve_when_free(
        request_bodies, bytes, [this, name](MemoryLease lease) { granted.emplace_back(name, std::move(lease)); });
    EXPECT_TRUE(asked);
    return *asked;
  }
  std::vector<int> names() const {
    std::vector<int> result;
    for (const auto& [name, lease] : granted) result.push_back(name);
    return result;
  }
};

TEST(MemoryBudget, NobodyIsServedAheadOfThoseWhoWait) {
  MemoryBudget budget(100);
  auto most = budget.reserve_now(request_bodies, 90);
  ASSERT_TRUE(most);
  Line line{budget};
  line.ask(1, 50);
  EXPECT_FALSE(budget.reserve_now(request_bodies, 1)) << "there is room, but somebody waits";
  most.reset();
  EXPECT_EQ(line.names(), std::vector{1});
  EXPECT_TRUE(budget.reserve_now(request_bodies, 1));
}

TEST(MemoryBudget, WaitersAreServedInTheOrderInWhichTheyAsked) {
  MemoryBudget budget(100);
  auto all = budget.try_reserve(producer_state, 90);
  Line line{budget, {}};
  line.ask(1, 50);
  line.ask(2, 5);  // would fit, but 1 was there before
  line.ask(3, 60);
  EXPECT_TRUE(line.granted.empty());
  EXPECT_EQ(budget.waiting(), 3u);
  all.reset();
  EXPECT_EQ(line.names(), (std::vector{1, 2}));
  {
    const MemoryLease first = std::move(line.granted[0].second);
  }
  EXPECT_EQ(line.names(), (std::vector{1, 2, 3}));
  EXPECT_EQ(budget.waiting(), 0u);
}

TEST(MemoryBudget, WhoAsksFirstGetsItAtOnce) {
  MemoryBudget budget(100);
  Line line{budget, {}};
  line.ask(1, 100);
  EXPECT_EQ(line.names(), std::vector{1});
}

TEST(MemoryBudget, ACancelledWaiterIsNeverCalledAndBlocksNobody) {
  MemoryBudget budget(100);
  auto most = budget.try_reserve(producer_state, 90);
  Line line{budget, {}};
  const auto large = line.ask(1, 50);
  line.ask(2, 10);
  EXPECT_TRUE(budget.cancel(large));
  EXPECT_FALSE(budget.cancel(large));
  EXPECT_EQ(line.names(), std::vector{2});
}

TEST(MemoryBudget, MoreThanTheWholeBudgetIsAnErrorNotAWait) {
  MemoryBudget budget(100);
  const auto asked = budget.reserve_when_free(request_bodies, 101, [](MemoryLease) { FAIL(); });
  ASSERT_FALSE(asked);
  EXPECT_EQ(asked.error().code(), ErrorCode::out_of_memory_budget);
}

TEST(MemoryBudget, ShowsItselfInTheMetrics) {
  MetricsRegistry registry;
  MemoryBudget budget(100);
  const auto gauges = budget.register_metrics(registry);
  const auto lease = budget.try_reserve(request_bodies, 70);
  EXPECT_FALSE(budget.try_reserve(producer_state, 31));
  const std::string text = registry.render_prometheus();
  EXPECT_NE(text.find("naru_memory_used_bytes{account=\"request_bodies\"} 70\n"), std::string::npos) << text;
  EXPECT_NE(text.find("naru_memory_budget_bytes 100\n"), std::string::npos) << text;
  EXPECT_NE(text.find("naru_memory_refused_total 1\n"), std::string::npos) << text;
}

// Every waiter must be served although the releases race with the asking: a lost wake-up would leave one behind.
TEST(MemoryBudget, NoWaiterIsForgottenWhileThreadsReserveAndRelease) {
  MemoryBudget budget(100);
  std::atomic<int> served{0};
  constexpr int kThreads = 4;
  constexpr int kEach = 20'000;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&budget, &served, t] {
      for (int i = 0; i < kEach; ++i) {
        const auto asked = budget.reserve_when_free(request_bodies, static_cast<uint64_t>(1 + (i * 7 + t) % 60),
                                                    [&served](MemoryLease) { ++served; });
        EXPECT_TRUE(asked);
        if (i % 3 == 0) (void)budget.try_reserve(decompression, 30);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(served, kThreads * kEach);
  EXPECT_EQ(budget.waiting(), 0u);
  EXPECT_EQ(budget.used(), 0u);
}

TEST(MemoryBudget, WhatIsThereIsCountedBeyondTheLimitAndLeavesNoRoom) {
  MemoryBudget budget(400);
  EXPECT_TRUE(budget.has_room(coordinator_state, 100));
  EXPECT_FALSE(budget.has_room(coordinator_state, 101));
  MemoryLease state = budget.charge_anyway(coordinator_state, 150);
  EXPECT_EQ(budget.used(), 150u);
  EXPECT_FALSE(budget.has_room(coordinator_state, 1));
  EXPECT_FALSE(budget.try_reserve(request_bodies, 251)) << "it is part of the whole budget";
  state.shrink_to(40);
  EXPECT_TRUE(budget.has_room(coordinator_state, 60));
  EXPECT_TRUE(budget.try_reserve(request_bodies, 360));
}

TEST(MemoryBudget, StateThatIsLargerThanTheBudgetDoesNotKeepRequestsFromBeingRead) {
  MemoryBudget budget(400);
  MemoryLease state = budget.charge_anyway(coordinator_state, 1000);
  MemoryLease more = budget.charge_anyway(coordinator_state, 500);
  EXPECT_EQ(budget.used(coordinator_state), 1500u);
  EXPECT_EQ(budget.used(), 200u);
  EXPECT_TRUE(budget.try_reserve(request_bodies, 200));
  state.release();
  EXPECT_EQ(budget.used(), 200u);
  more.shrink_to(150);
  EXPECT_EQ(budget.used(), 150u);
  more.release();
  EXPECT_EQ(budget.used(), 0u);
}

TEST(StateMemory, GrowsAndShrinksWithTheState) {
  MemoryBudget budget(400);
  {
    StateMemory memory(&budget);
    memory.set(70);
    EXPECT_EQ(budget.used(coordinator_state), 70u);
    EXPECT_TRUE(memory.has_room(30));
    EXPECT_FALSE(memory.has_room(31));
    memory.set(300);
    EXPECT_TRUE(memory.has_room(0));
    StateMemory moved = std::move(memory);
    moved.set(10);
    EXPECT_EQ(budget.used(), 10u);
  }
  EXPECT_EQ(budget.used(), 0u);
  StateMemory uncounted;
  uncounted.set(1000);
  EXPECT_TRUE(uncounted.has_room(1000));
}

}  // namespace
}  // namespace naru
