#include "timing_wheel/timing_wheel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "foundation/sanitized_testing.h"

namespace naru {
namespace {

constexpr uint64_t kModelSeeds = kSanitized ? 3 : 30;

MonotonicTime at(int64_t milliseconds) {
  return MonotonicTime(Milliseconds(milliseconds));
}

class TimingWheelTest : public testing::Test {
 protected:
  std::vector<std::string> expire(int64_t now) {
    std::vector<std::string> keys;
    wheel.expire(at(now), [&](std::string key, MonotonicTime) { keys.push_back(std::move(key)); });
    return keys;
  }
  using Keys = std::vector<std::string>;

  TimingWheel<std::string> wheel{at(0)};
};

// The example drawn in timing_wheel.h, line by line.
TEST_F(TimingWheelTest, WorkedExample) {
  wheel.insert(at(3), "3");
  wheel.insert(at(70), "70");
  wheel.insert(at(5000), "5000");
  EXPECT_EQ(wheel.next_deadline(), at(3));
  EXPECT_EQ(expire(3), Keys{"3"});
  EXPECT_EQ(wheel.next_deadline(), at(64));
  EXPECT_EQ(expire(64), Keys{});
  EXPECT_EQ(wheel.next_deadline(), at(70));
  EXPECT_EQ(expire(70), Keys{"70"});
  EXPECT_EQ(wheel.next_deadline(), at(4096));
  EXPECT_EQ(expire(4096), Keys{});
  EXPECT_EQ(wheel.next_deadline(), at(4992));
  EXPECT_EQ(expire(4992), Keys{});
  EXPECT_EQ(wheel.next_deadline(), at(5000));
  EXPECT_EQ(expire(5000), Keys{"5000"});
  EXPECT_EQ(wheel.next_deadline(), std::nullopt);
}

TEST_F(TimingWheelTest, ExpiresByDeadlineThenByInsertionEvenWithinOneTick) {
  wheel.insert(at(2) - 100us, "second");
  wheel.insert(at(2) - 200us, "first");
  wheel.insert(at(2) - 100us, "third");
  wheel.insert(at(1), "zeroth");
  EXPECT_EQ(expire(2), (Keys{"zeroth", "first", "second", "third"}));
}

TEST_F(TimingWheelTest, NeverExpiresEarly) {
  wheel.insert(at(5) + 1ns, "a");
  wheel.expire(at(5) + 999us, [](const std::string&, MonotonicTime) { ADD_FAILURE() << "the tick is not over"; });
  EXPECT_EQ(expire(6), Keys{"a"});
}

TEST_F(TimingWheelTest, TakesDeadlinesInThePast) {
  EXPECT_EQ(expire(1000), Keys{});
  wheel.insert(at(5), "later");
  wheel.insert(at(-7), "earlier");
  EXPECT_LE(*wheel.next_deadline(), at(1000));
  EXPECT_EQ(expire(1000), (Keys{"earlier", "later"}));
}

TEST_F(TimingWheelTest, IgnoresTimeThatGoesBack) {
  EXPECT_EQ(expire(1000), Keys{});
  wheel.insert(at(900), "a");
  EXPECT_EQ(expire(10), Keys{"a"});
}

TEST_F(TimingWheelTest, HoldsTheLastMomentOfTime) {
  wheel.insert(MonotonicTime::max(), "never");
  wheel.insert(at(1), "soon");
  EXPECT_EQ(expire(100LL * 365 * 86'400'000), Keys{"soon"});
  EXPECT_EQ(wheel.size(), 1U);
  EXPECT_GT(*wheel.next_deadline(), at(100LL * 365 * 86'400'000));
}

TEST_F(TimingWheelTest, SurvivesALargeJump) {
  wheel.insert(at(10), "a");
  wheel.insert(at(100'000), "b");
  wheel.insert(at(10'000'000'000), "c");
  wheel.insert(at(20'000'000'001), "d");
  EXPECT_EQ(expire(20'000'000'000), (Keys{"a", "b", "c"}));
  EXPECT_EQ(expire(20'000'000'001), Keys{"d"});
}

TEST_F(TimingWheelTest, CancelsOnce) {
  const auto first = wheel.insert(at(5), "first");
  EXPECT_EQ(wheel.cancel(first), "first");
  EXPECT_EQ(wheel.cancel(first), std::nullopt);
  EXPECT_EQ(wheel.next_deadline(), std::nullopt);
  const auto second = wheel.insert(at(5), "second");  // in the place of the first
  EXPECT_EQ(wheel.cancel(first), std::nullopt);
  EXPECT_EQ(expire(5), Keys{"second"});
  EXPECT_EQ(wheel.cancel(second), std::nullopt);
  EXPECT_EQ(wheel.size(), 0U);
}

TEST_F(TimingWheelTest, CallbackMayCancelWhatIsDueWithIt) {
  const auto victim = wheel.insert(at(6), "victim");
  wheel.insert(at(5), "canceller");
  Keys keys;
  wheel.expire(at(10), [&](std::string key, MonotonicTime) {
    keys.push_back(std::move(key));
    EXPECT_EQ(wheel.cancel(victim), "victim");
  });
  EXPECT_EQ(keys, Keys{"canceller"});
}

TEST_F(TimingWheelTest, WhatACallbackInsertsWaitsForTheNextExpire) {
  wheel.insert(at(5), "again");
  int calls = 0;
  const auto set_again = [&](const std::string&, MonotonicTime) {
    ++calls;
    wheel.insert(at(1), "again");
  };
  wheel.expire(at(10), set_again);
  EXPECT_EQ(calls, 1);
  EXPECT_LE(*wheel.next_deadline(), at(10));
  wheel.expire(at(10), set_again);
  EXPECT_EQ(calls, 2);
}

// The same operations on a wheel and on a sorted map, which must expire the same keys in the same order.
class WheelAndModel {
 public:
  explicit WheelAndModel(uint64_t seed) : random_(seed) {}

  void step() {
    switch (below(8)) {
      case 0:
        expire();
        break;
      case 1:
      case 2:
        cancel_any();
        break;
      default:
        insert();
        break;
    }
    ASSERT_EQ(wheel_.size(), model_.size());
  }

 private:
  struct Entry {
    uint64_t key;
    TimingWheel<uint64_t>::Handle handle;
  };
  using Model = std::multimap<MonotonicTime, Entry>;  // equal deadlines stay in the order of insertion

  uint64_t below(uint64_t limit) { return random_() % limit; }
  // Of any magnitude up to 2^bits_max nanoseconds.
  Duration any_duration(uint64_t bits_max) {
    return Duration(static_cast<int64_t>(below(uint64_t{1} << (8 + below(bits_max - 8)))));
  }
  Duration any_delay() { return any_duration(56); }  // two years
  Duration any_jump() { return any_duration(44); }   // five hours, so that 100,000 of them do not end time itself

  void insert() { insert_at(below(16) == 0 ? now_ - any_delay() : now_ + any_delay()); }
  void insert_at(MonotonicTime deadline) {
    const uint64_t key = next_key_++;
    model_.emplace(deadline, Entry{key, wheel_.insert(deadline, key)});
  }

  void cancel_any() {
    if (model_.empty()) return;
    auto victim = model_.lower_bound(now_ + any_delay());
    if (victim == model_.end()) victim = model_.begin();
    ASSERT_EQ(wheel_.cancel(victim->second.handle), victim->second.key);
    model_.erase(victim);
  }

  // Due is what lies at or before the end of the last full tick.
  MonotonicTime last_tick() const { return MonotonicTime(std::chrono::floor<Milliseconds>(now_.time_since_epoch())); }

  void expire() {
    const auto bound = wheel_.next_deadline();
    ASSERT_EQ(bound.has_value(), !model_.empty());
    now_ += any_jump();
    if (bound) ASSERT_LE(*bound, std::max(model_.begin()->first + 1ms, last_expire_));
    last_expire_ = now_;
    const size_t due = std::distance(model_.begin(), model_.upper_bound(last_tick()));
    size_t expired = 0;
    wheel_.expire(now_, [&](uint64_t key, MonotonicTime deadline) {
      ++expired;
      ASSERT_EQ(key, model_.begin()->second.key);
      ASSERT_EQ(deadline, model_.begin()->first);
      model_.erase(model_.begin());
      // Behind everything that is due now, so that the model's first entry stays the next one.
      if (below(4) == 0) insert_at(now_ + 1ms + any_delay());
    });
    ASSERT_EQ(expired, due);
  }

  std::mt19937_64 random_;
  MonotonicTime now_ = at(0);
  MonotonicTime last_expire_ = at(0);
  uint64_t next_key_ = 0;
  TimingWheel<uint64_t> wheel_{at(0)};
  Model model_;
};

TEST(TimingWheelModel, AgreesWithASortedMapThroughMillionsOfSteps) {
  for (uint64_t seed = 0; seed < kModelSeeds; ++seed) {
    WheelAndModel both(seed);
    for (int i = 0; i < 100'000; ++i) {
      both.step();
      ASSERT_FALSE(testing::Test::HasFatalFailure()) << "seed " << seed << ", step " << i;
    }
  }
}

}  // namespace
}  // namespace naru
