#include "fetch_sessions/fetch_session_slots.h"

#include <gtest/gtest.h>

#include <random>

namespace naru {
namespace {

MonotonicTime at(Duration since_start) {
  return MonotonicTime(since_start);
}

TEST(FetchSessionSlots, GivesOutWhatThereIsAndNoMore) {
  FetchSessionSlots slots(2, 120s);
  EXPECT_TRUE(slots.admit(1, 10, at(0s)).granted);
  EXPECT_TRUE(slots.admit(2, 10, at(0s)).granted);
  EXPECT_FALSE(slots.admit(3, 1'000, at(0s)).granted) << "both are young and in use";
  slots.remove(1);
  EXPECT_TRUE(slots.admit(3, 1, at(0s)).granted);
  EXPECT_FALSE(FetchSessionSlots(0, 120s).admit(1, 1, at(0s)).granted);
}

TEST(FetchSessionSlots, TakesTheSlotOfTheOneThatWasNotUsedForTheLongestTime) {
  FetchSessionSlots slots(3, 120s);
  for (const int id : {1, 2, 3}) slots.admit(id, 10, at(0s));
  slots.used(1, 10, at(50s));
  slots.used(3, 10, at(100s));
  EXPECT_FALSE(slots.admit(4, 1, at(120s)).granted) << "session 2 was used 120 s ago, not longer";
  const auto admission = slots.admit(4, 1, at(121s));
  EXPECT_TRUE(admission.granted);
  EXPECT_EQ(admission.evicted, 2);
  EXPECT_FALSE(slots.contains(2));
  slots.used(2, 10, at(122s));
  EXPECT_FALSE(slots.contains(2)) << "a session that was evicted does not come back";
}

TEST(FetchSessionSlots, ALargerNewcomerTakesTheSlotOfTheSmallestThatIsOldEnough) {
  FetchSessionSlots slots(3, 120s);
  slots.admit(1, 50, at(0s));
  slots.admit(2, 20, at(0s));
  slots.admit(3, 1, at(60s));
  for (const int id : {1, 2, 3}) slots.used(id, id == 1 ? 50 : (id == 2 ? 20 : 1), at(119s));
  EXPECT_FALSE(slots.admit(4, 100, at(119s)).granted);
  EXPECT_FALSE(slots.admit(4, 20, at(130s)).granted) << "it would have to be larger";
  EXPECT_EQ(slots.admit(4, 21, at(130s)).evicted, 2) << "session 3 is smaller but too young";
}

TEST(FetchSessionSlots, ChurnNeverExceedsTheLimit) {
  std::mt19937_64 random(7);
  FetchSessionSlots slots(1'000, 120s);
  size_t refused = 0;
  size_t evicted = 0;
  for (int32_t id = 1; id <= 5'000; ++id) {
    const auto now = at(id * 100ms);
    const auto admission = slots.admit(id, random() % 100, now);
    refused += admission.granted ? 0 : 1;
    evicted += admission.evicted ? 1 : 0;
    for (int i = 0; i < 3; ++i) slots.used(static_cast<int32_t>(1 + random() % static_cast<uint64_t>(id)), 5, now);
    ASSERT_LE(slots.size(), 1'000u);
  }
  EXPECT_GT(refused, 0u);
  EXPECT_GT(evicted, 0u);
}

}  // namespace
}  // namespace naru
