#include "coordination_store/simulated/simulated_coordination.h"

#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "coordination_store/shared_store_contract.h"
#include "coordination_store/simulated/run_in_world.h"

namespace naru {
namespace {

constexpr Duration kTimeout = 6s;

class SimulatedBackend {
 public:
  explicit SimulatedBackend(const CoordinationFaults& faults = {}) : service_(world_) {
    service_.set_faults(faults);
    store_ = open("one");
    second_ = open("two");
  }
  ~SimulatedBackend() {
    store_.reset();
    second_.reset();
    processes_.clear();
  }

  CoordinationStore& store() { return *store_; }
  CoordinationStore& second() { return *second_; }
  template <class T>
  T run(Task<T> task) {
    return run_in(world_, std::move(task));
  }
  void new_session() {
    ignore(run(store_->close()));
    store_ = open("one");
  }
  void end_second() { ignore(run(second_->close())); }

 private:
  std::unique_ptr<CoordinationStore> open(const std::string& host) {
    if (!processes_.contains(host)) processes_.emplace(host, world_.add_node(host).start());
    auto store = service_.connect(processes_.at(host)->seams(), host, kTimeout);
    world_.run_for(100ms);
    return store;
  }

  SimulatedWorld world_{4711};
  SimulatedCoordination service_;
  std::map<std::string, std::unique_ptr<SimulatedProcess>> processes_;
  std::unique_ptr<CoordinationStore> store_, second_;
};

// What may be wrong without an error.
struct SlyBackend : SimulatedBackend {
  SlyBackend()
      : SimulatedBackend(
            {.watch_delay_max = 2s, .stale_read_one_in = 2, .torn_list_one_in = 2, .spurious_watch_one_in = 2}) {}
};

INSTANTIATE_TYPED_TEST_SUITE_P(Simulated, CoordinationStoreContract, SimulatedBackend);
INSTANTIATE_TYPED_TEST_SUITE_P(Simulated, SharedStoreContract, SimulatedBackend);
INSTANTIATE_TYPED_TEST_SUITE_P(Sly, CoordinationStoreContract, SlyBackend);
INSTANTIATE_TYPED_TEST_SUITE_P(Sly, SharedStoreContract, SlyBackend);

// Two machines with a process each and a session each.
class SimulatedCoordinationTest : public testing::Test {
 protected:
  SimulatedCoordinationTest() : service_(world_) {
    for (Client* client : {&one_, &two_}) client->process = client->node.start();
    for (Client* client : {&one_, &two_}) client->store = connect(*client);
    world_.run_for(100ms);
  }
  ~SimulatedCoordinationTest() override {
    for (Client* client : {&one_, &two_}) client->store.reset();
    for (Client* client : {&one_, &two_}) client->process.reset();
  }

  struct Client {
    SimulatedNode& node;
    std::unique_ptr<SimulatedProcess> process;
    std::unique_ptr<CoordinationStore> store;
  };

  std::unique_ptr<CoordinationStore> connect(Client& client) {
    return service_.connect(client.process->seams(), client.node.host(), kTimeout);
  }
  template <class T>
  T run(Task<T> task) {
    return run_in(world_, std::move(task));
  }
  ErrorCode put(Client& client, std::string key, std::string_view value, bool ephemeral = false) {
    const auto done = run(client.store->commit({.puts = {text_put(std::move(key), value, ephemeral)}}));
    return done ? ErrorCode::none : done.error().code();
  }
  SessionState session(Client& client) { return run(client.store->session()).state; }
  bool exists(const std::string& key) const { return service_.state().get(key).has_value(); }
  std::string truth(const std::string& key) const {
    const auto found = service_.state().get(key);
    return found ? std::string(as_text(found->value.view())) : "(absent)";
  }
  int64_t number(Client& client, std::string key) {
    const auto found = run(client.store->get(std::move(key)));
    EXPECT_TRUE(found) << found.error().to_string();
    return *found ? std::stoll(std::string(as_text((*found)->value.view()))) : -1;
  }

  SimulatedWorld world_{815};
  SimulatedCoordination service_;
  Client one_{world_.add_node("one")};
  Client two_{world_.add_node("two")};
};

TEST_F(SimulatedCoordinationTest, ACommitIsAnsweredUnavailableAndHappensOrNotOrLater) {
  service_.set_faults({.lost_request_one_in = 3, .lost_answer_one_in = 3, .late_commit_one_in = 3});
  int happened = 0, never = 0, later = 0, answered = 0;
  for (int i = 0; i < 200; ++i) {
    const std::string key = "key" + std::to_string(i);
    const ErrorCode code = put(one_, key, "x");
    if (code == ErrorCode::none) {
      EXPECT_TRUE(exists(key));
      ++answered;
      continue;
    }
    EXPECT_EQ(code, ErrorCode::unavailable);
    const bool at_once = exists(key);
    world_.run_for(2 * kTimeout);
    happened += at_once ? 1 : 0;
    later += !at_once && exists(key) ? 1 : 0;
    never += exists(key) ? 0 : 1;
  }
  for (const int count : {happened, never, later, answered}) EXPECT_GT(count, 10);
  EXPECT_EQ(session(one_), SessionState::connected);
}

TEST_F(SimulatedCoordinationTest, ALateCommitDoesNotHappenAfterTheSessionHasEnded) {
  service_.set_faults({.late_commit_one_in = 1});
  EXPECT_EQ(put(one_, "late", "x", true), ErrorCode::unavailable);
  EXPECT_FALSE(exists("late"));
  service_.expire("one");
  world_.run_for(3 * kTimeout);
  EXPECT_FALSE(exists("late"));
}

TEST_F(SimulatedCoordinationTest, ReadsAreStaleNowAndThenButNeverGoBackOrBehindAnOwnWrite) {
  service_.set_faults({.stale_read_one_in = 2});
  int stale = 0;
  int64_t seen = -1;
  for (int i = 0; i < 300; ++i) {
    ASSERT_EQ(put(two_, "counter", std::to_string(i)), ErrorCode::none);
    if (i % 3 != 0) continue;
    const int64_t read = number(one_, "counter");
    EXPECT_GE(read, seen);
    seen = read;
    stale += read < i ? 1 : 0;
    EXPECT_EQ(number(two_, "counter"), i) << "of its own write";
  }
  EXPECT_GT(stale, 20);
}

TEST_F(SimulatedCoordinationTest, AListingMayMixTwoMoments) {
  struct Writer {
    static Task<void> write(CoordinationStore& store, int rounds) {
      for (int i = 0; i < rounds; ++i) {
        const std::string text = std::to_string(i);
        const auto done = co_await store.commit({.puts = {text_put("pair/a", text), text_put("pair/b" + text, text)},
                                                 .deletes = {"pair/b" + std::to_string(i - 1)}});
        EXPECT_TRUE(done);
      }
    }
  };
  service_.set_faults({.torn_list_one_in = 2});
  TaskGroup writer;
  writer.spawn(Writer::write(*two_.store, 300));
  int torn = 0;
  for (int i = 0; i < 100; ++i) {
    const auto listed = run(one_.store->list("pair/"));
    ASSERT_TRUE(listed);
    torn += listed->size() == 1 ? 1 : 0;
  }
  EXPECT_GT(torn, 5);
  world_.run_task(writer.join());
}

TEST_F(SimulatedCoordinationTest, WatchesAreLateAndManyChangesAreOneEvent) {
  service_.set_faults({.watch_delay_max = 1s});
  const auto watch = two_.store->watch("key");
  for (int i = 0; i < 50; ++i) ASSERT_EQ(put(one_, "key", std::to_string(i)), ErrorCode::none);
  int events = 0;
  for (; number(two_, "key") != 49 || events == 0; ++events) ASSERT_TRUE(run(watch->next({})).ok());
  EXPECT_LT(events, 10);
}

TEST_F(SimulatedCoordinationTest, AChangeDuringACutIsToldAfterwards) {
  const auto watch = two_.store->watch("key");
  service_.set_answers_arrive("two", false);
  ASSERT_EQ(put(one_, "key", "1"), ErrorCode::none);
  world_.run_for(1s);
  service_.set_answers_arrive("two", true);
  EXPECT_TRUE(run(watch->next({})).ok());
  EXPECT_EQ(session(two_), SessionState::connected);
  EXPECT_EQ(number(two_, "key"), 1);
}

TEST_F(SimulatedCoordinationTest, AHostThatIsCutOffIsSuspendedThenLosesItsKeysAndLearnsThatWhenItIsBack) {
  ASSERT_EQ(put(one_, "brokers/1", "x", true), ErrorCode::none);
  const auto watch = two_.store->watch("brokers/");
  service_.set_reachable("one", false);
  world_.run_for(kTimeout * 5 / 6);
  EXPECT_TRUE(exists("brokers/1"));
  EXPECT_EQ(session(one_), SessionState::suspended);
  while (exists("brokers/1")) ASSERT_TRUE(run(watch->next({})).ok());
  world_.run_for(10 * kTimeout);
  EXPECT_EQ(session(one_), SessionState::suspended);
  EXPECT_EQ(put(one_, "key", "x"), ErrorCode::unavailable);

  const auto own = one_.store->watch("anything");
  service_.set_reachable("one", true);
  EXPECT_TRUE(run(own->next({})).ok());
  EXPECT_EQ(session(one_), SessionState::expired);
  EXPECT_EQ(put(one_, "key", "x"), ErrorCode::unavailable);
  world_.run_for(2 * kTimeout);
  EXPECT_FALSE(exists("key"));
  EXPECT_EQ(session(one_), SessionState::expired);
  one_.store = connect(one_);
  EXPECT_EQ(put(one_, "brokers/1", "again", true), ErrorCode::none);
}

TEST_F(SimulatedCoordinationTest, AShortCutSuspendsAndHeals) {
  ASSERT_EQ(put(one_, "brokers/1", "x", true), ErrorCode::none);
  service_.set_reachable("one", false);
  world_.run_for(kTimeout * 3 / 4);
  EXPECT_EQ(session(one_), SessionState::suspended);
  service_.set_reachable("one", true);
  world_.run_for(kTimeout / 2);
  EXPECT_EQ(session(one_), SessionState::connected);
  EXPECT_TRUE(exists("brokers/1"));
}

TEST_F(SimulatedCoordinationTest, WithAOneWayCutRequestsHappenAndAreNotAnswered) {
  ASSERT_EQ(put(one_, "brokers/1", "x", true), ErrorCode::none);
  service_.set_answers_arrive("one", false);
  EXPECT_EQ(put(one_, "key", "x"), ErrorCode::unavailable);
  EXPECT_TRUE(exists("key"));
  world_.run_for(10 * kTimeout);
  EXPECT_EQ(session(one_), SessionState::suspended);
  EXPECT_TRUE(exists("brokers/1")) << "the service hears of it";
}

TEST_F(SimulatedCoordinationTest, ACutLinkMayDeliverWhenItIsHealed) {
  int delivered = 0;
  for (int i = 0; i < 20; ++i) {
    const std::string key = std::to_string(i);
    service_.set_requests_arrive("one", false);
    std::optional<Result<std::vector<KeyVersion>>> answer;
    TaskGroup group;
    group.spawn(keep_result(one_.store->commit({.puts = {text_put(key, "x")}}), answer));
    world_.run_for(1s);
    EXPECT_FALSE(exists(key));
    service_.set_requests_arrive("one", true);
    world_.run_for(2 * kTimeout);
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->has_value(), exists(key));
    delivered += exists(key) ? 1 : 0;
    world_.run_task(group.join());
  }
  EXPECT_GT(delivered, 2);
  EXPECT_LT(delivered, 18);
}

TEST_F(SimulatedCoordinationTest, NoSessionEndsWhileTheServiceIsDownAndSilentOnesDoAfterwards) {
  ASSERT_EQ(put(one_, "brokers/1", "x", true), ErrorCode::none);
  ASSERT_EQ(put(two_, "brokers/2", "x", true), ErrorCode::none);
  service_.set_down(true);
  world_.run_for(20 * kTimeout);
  EXPECT_EQ(session(one_), SessionState::suspended);
  EXPECT_EQ(put(one_, "key", "x"), ErrorCode::unavailable);
  two_.node.kill();
  service_.set_down(false);
  world_.run_for(kTimeout / 2);
  EXPECT_EQ(session(one_), SessionState::connected);
  EXPECT_TRUE(exists("brokers/2"));
  world_.run_for(kTimeout);
  EXPECT_TRUE(exists("brokers/1"));
  EXPECT_FALSE(exists("brokers/2"));
}

TEST_F(SimulatedCoordinationTest, TheSessionOfADeadProcessGoesOnUntilItsTimeoutWhateverTheRemainsDo) {
  for (const bool power_cut : {false, true}) {
    ASSERT_EQ(put(one_, "brokers/1", "x", true), ErrorCode::none);
    world_.run_for(1s);
    power_cut ? one_.node.crash() : one_.node.kill();
    EXPECT_EQ(put(one_, "zombie", "x"), ErrorCode::unavailable);
    ignore(run(one_.store->close()));
    EXPECT_FALSE(exists("zombie"));
    one_.store.reset();
    one_.process = one_.node.start();
    one_.store = connect(one_);
    EXPECT_TRUE(world_.run_until([this] { return !exists("brokers/1"); }, 2 * kTimeout));
    EXPECT_EQ(put(one_, "brokers/1", "again", true), ErrorCode::none);
  }
}

TEST_F(SimulatedCoordinationTest, ExpiringAHostEndsItsSessionsAtOnceAndOnlyThose) {
  ASSERT_EQ(put(one_, "brokers/1", "x", true), ErrorCode::none);
  ASSERT_EQ(put(two_, "brokers/2", "x", true), ErrorCode::none);
  service_.expire("one");
  EXPECT_FALSE(exists("brokers/1"));
  EXPECT_TRUE(exists("brokers/2"));
  EXPECT_EQ(session(one_), SessionState::connected) << "it does not know yet";
  EXPECT_EQ(put(one_, "key", "x"), ErrorCode::unavailable);
  EXPECT_EQ(session(one_), SessionState::expired);
}

TEST_F(SimulatedCoordinationTest, ClosingEndsTheSessionAtOnce) {
  ASSERT_EQ(put(one_, "brokers/1", "x", true), ErrorCode::none);
  EXPECT_TRUE(run(one_.store->close()).ok());
  EXPECT_FALSE(exists("brokers/1"));
}

TEST_F(SimulatedCoordinationTest, AStoreThatIsOpenedWhileTheServiceIsDownConnectsWhenItIsBack) {
  service_.set_down(true);
  one_.store = connect(one_);
  world_.run_for(3 * kTimeout);
  EXPECT_EQ(session(one_), SessionState::suspended);
  service_.set_down(false);
  world_.run_for(kTimeout);
  EXPECT_EQ(session(one_), SessionState::connected);
}

TEST(SimulatedCoordinationTrace, TheSameSeedGivesTheSameRun) {
  const auto hash_of = [](uint64_t seed) {
    SimulatedWorld world(seed);
    SimulatedCoordination service(world);
    service.set_faults({.lost_answer_one_in = 4, .late_commit_one_in = 4, .stale_read_one_in = 3});
    const auto process = world.add_node("one").start();
    const auto store = service.connect(process->seams(), "one", kTimeout);
    for (int i = 0; i < 30; ++i) static_cast<void>(run_in(world, store->commit({.puts = {text_put("a", "1")}})));
    return world.trace_hash();
  };
  EXPECT_EQ(hash_of(1), hash_of(1));
  EXPECT_NE(hash_of(1), hash_of(2));
}

}  // namespace
}  // namespace naru
