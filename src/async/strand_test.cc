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

}  // namespace
}  // namespace naru
