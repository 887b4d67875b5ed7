// A checker that cannot fail proves nothing: each anomaly is shown to it once.
#include "simulation/bounds_watch.h"

#include <gtest/gtest.h>

namespace naru::simulation {
namespace {

TEST(Bounds, MemoryMayGoBeyondTheBudgetByAnswersAndStateAlone) {
  MemoryBudget budget(1000);
  const auto bodies = budget.reserve_now(MemoryAccount::request_bodies, 1000);
  const auto answers = budget.charge(MemoryAccount::responses, 250);
  {
    const auto state = budget.charge_anyway(MemoryAccount::coordinator_state, 5000);
    EXPECT_EQ(beyond_budget(budget), std::nullopt);
  }
  const auto parked = budget.charge(MemoryAccount::parked_fetches, 250);
  EXPECT_EQ(beyond_budget(budget), std::nullopt);
  const auto sessions = budget.charge(MemoryAccount::sessions, 250);
  const auto decoded = budget.charge(MemoryAccount::decoded_requests, 500);
  EXPECT_NE(beyond_budget(budget), std::nullopt) << "these wait for room, or are refused";
}

TEST(Bounds, AnAccountHasNoMoreThanItsPart) {
  MemoryBudget budget(1000);
  const auto more = budget.charge_anyway(MemoryAccount::sessions, 251);  // nobody may: only state is charged anyway
  EXPECT_NE(beyond_budget(budget), std::nullopt);
}

TEST(Bounds, WithoutClientsOnlyStateIsHeld) {
  MemoryBudget budget(1000);
  const auto producers = budget.try_reserve(MemoryAccount::producer_state, 100);
  const auto groups = budget.charge_anyway(MemoryAccount::coordinator_state, 100);
  EXPECT_EQ(held_for_nobody(budget), std::nullopt);
  const auto body = budget.reserve_now(MemoryAccount::request_bodies, 1);
  EXPECT_NE(held_for_nobody(budget), std::nullopt);
}

class EventTime : public testing::Test {
 protected:
  std::optional<Duration> event(Duration on_the_wall, Duration of_processor, bool counts = true) {
    wall_ += on_the_wall;
    processor_ += of_processor;
    return meter_.passed(counts);
  }

  Duration wall_{0}, processor_{0};
  EventMeter meter_{{.wall = [this] { return wall_; }, .processor = [this] { return processor_; }}};
};

TEST_F(EventTime, OfTheProcessorCountsAndNotThatOfOtherPrograms) {
  EXPECT_FALSE(event(10s, 10s)) << "before the first event";
  EXPECT_FALSE(event(10s, 1ms)) << "others were running";
  EXPECT_TRUE(event(600ms, 501ms));
  EXPECT_FALSE(event(600ms, 501ms, false)) << "no turn of a loop";
}

TEST_F(EventTime, OfManyShortEventsIsNotThatOfOne) {
  for (int i = 0; i < 1000; ++i) EXPECT_FALSE(event(100ms, 100ms));
  EXPECT_FALSE(event(EventMeter::kLongest, EventMeter::kLongest));
}

}  // namespace
}  // namespace naru::simulation
