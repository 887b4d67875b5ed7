#include "async/strand.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include "async/ready_queue.h"
#include "foundation/sanitized_testing.h"

namespace naru {
namespace {

constexpr int kStressEvents = kSanitized ? 20'000 : 300'000;

TEST(Strand, RunsAtOnceWhenItIsFree) {
  Strand strand;
  bool ran = false;
  strand.run([&] { ran = true; });
  EXPECT_TRUE(ran);
}

TEST(Strand, RunsEventsFromInsideAfterwardsInTheOrderOfArrival) {
  Strand strand;
  std::vector<int> order;
  strand.run([&] {
    strand.run([&] {
      order.push_back(2);
      strand.run([&] { order.push_back(4); });
    });
    strand.run([&] { order.push_back(3); });
    order.push_back(1);
  });
  EXPECT_EQ(order, (std::vector{1, 2, 3, 4}));
}

TEST(Strand, DestroysItsEventsExactlyOnce) {
  const auto token = std::make_shared<int>(0);
  {
    Strand strand;
    strand.run([&strand, token] { strand.run([token] {}); });
  }
  EXPECT_EQ(token.use_count(), 1);
}

TEST(Strand, ContinuationsWaitUntilTheThreadHoldsNoStrand) {
  Strand outer;
  Strand inner;
  std::vector<int> order;
  outer.run([&] {
    inner.run([&] {
      run_when_ready([&] { order.push_back(3); });
      order.push_back(1);
    });
    order.push_back(2);
  });
  EXPECT_EQ(order, (std::vector{1, 2, 3}));
}

TEST(Strand, ContinuationMayDestroyTheStrandThatCausedIt) {
  auto strand = std::make_unique<Strand>();
  strand->run([&] { run_when_ready([&] { strand.reset(); }); });
  EXPECT_EQ(strand, nullptr);
}

// A thread that hands a strand over keeps the rest of the event as a function, which another thread calls.
struct Carried final : StrandEvent {
  Carried() {
    run = [](StrandEvent* self) { static_cast<Carried*>(self)->is_carried = true; };
  }
  bool is_carried = false;
};

TEST(Strand, AnEventThatHandsOverKeepsTheStrandBusyAndTheOrder) {
  Strand strand;
  Carried carry;
  std::vector<int> order;
  strand.run([&] {
    strand.run([&] {
      order.push_back(2);
      strand.hand_over(&carry);
    });
    strand.run([&] { order.push_back(4); });
    order.push_back(1);
  });
  EXPECT_TRUE(carry.is_carried);
  EXPECT_EQ(order, (std::vector{1, 2}));
  strand.run([&] { order.push_back(5); });
  EXPECT_EQ(order, (std::vector{1, 2}));

  strand.go_on([&] {
    order.push_back(3);
    strand.run([&] { order.push_back(6); });
  });
  EXPECT_EQ(order, (std::vector{1, 2, 3, 4, 5, 6}));
  strand.run([&] { order.push_back(7); });
  EXPECT_EQ(order.back(), 7);
}

TEST(Strand, WhatGoesOnMayHandOverAgain) {
  Strand strand;
  Carried first;
  Carried second;
  std::vector<int> order;
  strand.run([&] { strand.hand_over(&first); });
  strand.run([&] { order.push_back(3); });
  strand.go_on([&] {
    order.push_back(1);
    strand.hand_over(&second);
  });
  EXPECT_TRUE(second.is_carried);
  EXPECT_EQ(order, (std::vector{1}));
  strand.go_on([&] { order.push_back(2); });
  EXPECT_EQ(order, (std::vector{1, 2, 3}));
}

TEST(Strand, ContinuationsOfAThreadThatHandsOverRunOnThatThread) {
  Strand strand;
  Carried carry;
  bool continued = false;
  strand.run([&] {
    run_when_ready([&] { continued = true; });
    strand.hand_over(&carry);
  });
  EXPECT_TRUE(continued);
  strand.go_on([] {});
}

TEST(ReadyQueue, LongChainsDoNotGrowTheStack) {
  int left = 1'000'000;
  struct Chain {
    static void step(int& count) {
      if (--count > 0) run_when_ready([&count] { step(count); });
    }
  };
  Chain::step(left);
  EXPECT_EQ(left, 0);
}

// Events that start events, on their own strand and on others: none runs inside another one of its strand, and each
// strand runs them in the order in which they arrived.
class RandomEvents {
 public:
  explicit RandomEvents(uint64_t seed) : random_(seed) {}

  void start_one() {
    Actor& actor = actors_[random_() % actors_.size()];
    const int id = actor.arrived++;
    ++started_;
    actor.strand.run([this, &actor, id] {
      EXPECT_FALSE(actor.inside);
      EXPECT_EQ(actor.ran, id);
      actor.inside = true;
      ++actor.ran;
      while (started_ < 2000 && random_() % 3 != 0) start_one();
      actor.inside = false;
    });
  }

  void expect_all_ran() const {
    for (const Actor& actor : actors_) EXPECT_EQ(actor.ran, actor.arrived);
  }

 private:
  struct Actor {
    Strand strand;
    int arrived = 0;
    int ran = 0;
    bool inside = false;
  };

  std::mt19937_64 random_;
  int started_ = 0;
  std::array<Actor, 3> actors_;
};

TEST(StrandModel, KeepsOrderAndExclusionThroughRandomNesting) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    RandomEvents events(seed);
    for (int i = 0; i < 10; ++i) events.start_one();
    events.expect_all_ran();
  }
}

// Many threads, a few strands. What the events touch is not atomic: the thread sanitizer sees any overlap.
TEST(StrandStress, OneThreadAtATimeAndInOrderForEachProducer) {
  constexpr int kProducers = 4;
  struct Shared {
    Strand strand;
    std::array<int, kProducers> last{-1, -1, -1, -1};
    int events = 0;
    int inside = 0;
  };
  std::array<Shared, 2> shared;
  std::atomic<int> ran{0};

  std::vector<std::thread> producers;
  for (int producer = 0; producer < kProducers; ++producer) {
    producers.emplace_back([&, producer] {
      for (int i = 0; i < kStressEvents; ++i) {
        Shared& target = shared[i % shared.size()];
        target.strand.run([&target, &ran, producer, i] {
          EXPECT_EQ(++target.inside, 1);
          EXPECT_LT(target.last[producer], i);
          target.last[producer] = i;
          ++target.events;
          --target.inside;
          ran.fetch_add(1, std::memory_order_relaxed);
        });
      }
    });
  }
  for (std::thread& producer : producers) producer.join();
  EXPECT_EQ(ran, kProducers * kStressEvents);
  EXPECT_EQ(shared[0].events + shared[1].events, kProducers * kStressEvents);
}

// The same with a thread to which every seventh event hands the strand over.
TEST(StrandStress, HandedOverToAThreadAndBack) {
  constexpr int kProducers = 3;
  struct Shared {
    Strand strand;
    std::array<int, kProducers> last{-1, -1, -1};
    int inside = 0;
  } shared;
  struct Rest final : StrandEvent {
    std::atomic<bool> is_ready{false};
  } rest;
  rest.run = [](StrandEvent* self) { static_cast<Rest*>(self)->is_ready = true; };
  std::atomic<int> ran{0};
  std::atomic<bool> stopping{false};
  std::thread helper([&] {
    while (!stopping) {
      if (!rest.is_ready.exchange(false)) continue;
      shared.strand.go_on([&] {
        --shared.inside;
        ++ran;
      });
    }
  });
  const auto run_one = [&](int producer, int i) {
    shared.strand.run([&, producer, i] {
      EXPECT_EQ(++shared.inside, 1);
      EXPECT_LT(shared.last[producer], i);
      shared.last[producer] = i;
      if (i % 7 == 0) return shared.strand.hand_over(&rest);
      --shared.inside;
      ++ran;
    });
  };
  std::vector<std::thread> producers;
  for (int producer = 0; producer < kProducers; ++producer) {
    producers.emplace_back([&, producer] {
      for (int i = 0; i < kStressEvents / 10; ++i) run_one(producer, i);
    });
  }
  for (std::thread& producer : producers) producer.join();
  while (ran < kProducers * (kStressEvents / 10)) std::this_thread::yield();
  stopping = true;
  helper.join();
  EXPECT_EQ(shared.inside, 0);
}

}  // namespace
}  // namespace naru
