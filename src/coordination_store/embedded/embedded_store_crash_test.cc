// Random transactions against a model, with a crash at every mutating step of the disk. What was acknowledged survives;
// what was not is there as a whole or not at all, and never without what was accepted before it.
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "async/task_group.h"
#include "coordination_store/coordination_store_contract.h"
#include "coordination_store/embedded/embedded_store.h"
#include "coordination_store/simulated/run_in_world.h"
#include "foundation/log.h"
#include "platform/simulated/simulated_random.h"

namespace naru {
namespace {

struct ModelEntry {
  std::string value;
  KeyVersion version = 0;
  bool ephemeral = false;
  bool operator==(const ModelEntry&) const = default;
};
using Model = std::map<std::string, ModelEntry>;

// Written independently of StoreState on purpose.
bool apply_to_model(Model& model, const Transaction& transaction) {
  for (const Compare& compare : transaction.compares) {
    const auto found = model.find(compare.key);
    if ((found == model.end() ? 0 : found->second.version) != compare.version) return false;
  }
  for (const Put& put : transaction.puts) {
    ModelEntry& entry = model[put.key];
    entry = {std::string(as_text(put.value)), entry.version + 1, put.ephemeral};
  }
  for (const std::string& key : transaction.deletes) model.erase(key);
  return true;
}

Model without_ephemeral(Model model) {
  std::erase_if(model, [](const auto& item) { return item.second.ephemeral; });
  for (auto& [key, entry] : model) entry.ephemeral = false;
  return model;
}

Transaction random_transaction(Random& random, const Model& model) {
  Transaction transaction;
  const std::string base = std::to_string(random.below(6));
  const std::string other = "folder/" + std::to_string(random.below(6));
  if (random.one_in(3)) {
    const auto found = model.find(base);
    const KeyVersion known = found == model.end() ? 0 : found->second.version;
    transaction.compares.push_back({base, random.one_in(4) ? known + 1 : known});
  }
  if (!random.one_in(5)) {
    transaction.puts.push_back(
        text_put(base, std::string(random.below(300), static_cast<char>('a' + random.below(26))), random.one_in(6)));
  }
  if (random.one_in(3))
    transaction.deletes.push_back(other);
  else
    transaction.puts.push_back(text_put(other, std::to_string(random.next())));
  return transaction;
}

// The transactions of one scenario in batches that are committed together, and the model after each accepted one.
struct Scenario {
  std::vector<std::vector<Transaction>> batches;
  std::vector<Model> states{{}};  // states[n]: after n accepted transactions
};

Scenario make_scenario(uint64_t seed, size_t batch_count) {
  SimulatedRandom random(seed);
  Scenario scenario;
  Model model;
  for (size_t i = 0; i < batch_count; ++i) {
    std::vector<Transaction> batch;
    for (uint64_t n = 1 + random.below(3); n > 0; --n) {
      batch.push_back(random_transaction(random, model));
      if (apply_to_model(model, batch.back())) scenario.states.push_back(model);
    }
    scenario.batches.push_back(std::move(batch));
  }
  return scenario;
}

struct Outcome {
  size_t acknowledged = 0;
  size_t conflicts = 0;
  size_t unknown = 0;
};

Task<void> commit_one(CoordinationStore& store, Transaction transaction, Outcome& outcome) {
  const auto result = co_await store.commit(std::move(transaction));
  if (result)
    ++outcome.acknowledged;
  else if (result.error() == ErrorCode::version_conflict)
    ++outcome.conflicts;
  else
    ++outcome.unknown;
}

// Stops at the first batch with an unknown outcome, as a broker whose store went offline does.
Task<Outcome> run_scenario(CoordinationStore& store, const Scenario& scenario) {
  Outcome outcome;
  for (const auto& batch : scenario.batches) {
    TaskGroup group;
    for (const Transaction& transaction : batch) group.spawn(commit_one(store, transaction, outcome));
    co_await group.join();
    if (outcome.unknown > 0) break;
  }
  co_return outcome;
}

class CrashWorld {
 public:
  explicit CrashWorld(uint64_t seed) : world_(seed) {}

  Result<std::unique_ptr<EmbeddedStore>> open() {
    process_.reset();
    process_ = node_.start();
    const Seams seams = process_->seams();
    return run_in(
        world_, EmbeddedStore::open(
                    seams.files, seams.scheduler, seams.random,
                    {.folder = "/metadata", .snapshot_log_bytes = 2000, .reserve_bytes = 700, .room_step_bytes = 300}));
  }
  SimulatedWorld& world() { return world_; }
  SimulatedNode& node() { return node_; }

 private:
  SimulatedWorld world_;
  SimulatedNode& node_ = world_.add_node("broker");
  std::unique_ptr<SimulatedProcess> process_;
};

Model contents(CrashWorld& crash, CoordinationStore& store) {
  Model model;
  const auto listed = run_in(crash.world(), store.list(""));
  EXPECT_TRUE(listed);
  for (const KeyValue& entry : *listed) {
    model[entry.key] = {std::string(as_text(entry.value.view())), entry.version, false};
  }
  return model;
}

// The states that the store may have after the crash.
void expect_possible(const Model& found, const Scenario& scenario, const Outcome& outcome, uint64_t crash_point) {
  const size_t newest = std::min(scenario.states.size() - 1, outcome.acknowledged + outcome.unknown);
  for (size_t n = outcome.acknowledged; n <= newest; ++n) {
    if (found == without_ephemeral(scenario.states[n])) return;
  }
  ADD_FAILURE() << "crash point " << crash_point << ": " << outcome.acknowledged << " acknowledged, " << outcome.unknown
                << " unknown, and the contents fit none of the states";
}

// False when the scenario ended before the crash.
bool crash_once(uint64_t seed, const Scenario& scenario, uint64_t crash_point, bool power_cut) {
  CrashWorld crash(seed * 1000 + crash_point);
  crash.node().disk().die_after(crash_point);
  Outcome outcome;
  {
    auto store = crash.open();
    if (store) outcome = run_in(crash.world(), run_scenario(**store, scenario));
  }
  const bool died = crash.node().disk().is_dead();
  power_cut ? crash.node().crash() : crash.node().kill();

  auto reopened = crash.open();
  EXPECT_TRUE(reopened) << "crash point " << crash_point << ": " << reopened.error().to_string();
  if (!reopened) return false;
  const Model found = contents(crash, **reopened);
  expect_possible(found, scenario, outcome, crash_point);

  // It goes on from there, and survives another power cut.
  EXPECT_TRUE(run_in(crash.world(), (*reopened)->commit({.puts = {text_put("after", "crash")}})));
  reopened->reset();
  crash.node().crash();
  auto again = crash.open();
  EXPECT_TRUE(again) << again.error().to_string();
  if (again) {
    Model expected = found;
    expected["after"] = {"crash", 1, false};
    EXPECT_EQ(contents(crash, **again), expected) << "crash point " << crash_point;
  }
  return died;
}

class EmbeddedStoreCrash : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override { set_log_level(LogLevel::error); }
  void TearDown() override { set_log_level(LogLevel::info); }
};

TEST_P(EmbeddedStoreCrash, AtEveryStepKeepsWhatWasAcknowledgedAndNothingHalf) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    const Scenario scenario = make_scenario(seed, 24);
    uint64_t crash_point = 0;
    while (crash_once(seed, scenario, crash_point, GetParam())) ++crash_point;
    EXPECT_GT(crash_point, 50u);
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Deaths, EmbeddedStoreCrash, testing::Bool(),
                         [](const auto& death) { return death.param ? "PowerCut" : "Kill"; });

// A sync that failed leaves new bytes in the page cache that will never reach the disk. A process that is started again
// reads them; it must not build on them without writing them down itself.
TEST(EmbeddedStoreFailedSync, WhatTheNextProcessReadSurvivesAPowerCut) {
  for (uint64_t nth = 1; nth <= 40; ++nth) {
    const Scenario scenario = make_scenario(nth, 12);
    CrashWorld crash(nth);
    Outcome outcome;
    {
      auto store = crash.open();
      ASSERT_TRUE(store);
      crash.node().disk().fail_nth(FileOperation::sync_data, nth, "log-");
      outcome = run_in(crash.world(), run_scenario(**store, scenario));
    }
    crash.node().kill();
    crash.node().disk().clear_faults();
    auto reopened = crash.open();
    ASSERT_TRUE(reopened) << reopened.error().to_string();
    const Model found = contents(crash, **reopened);
    expect_possible(found, scenario, outcome, nth);
    reopened->reset();
    crash.node().crash(Unsynced::lost);
    auto again = crash.open();
    ASSERT_TRUE(again) << again.error().to_string();
    EXPECT_EQ(contents(crash, **again), found);
  }
}

TEST(EmbeddedStoreModel, LongRandomHistoriesAgreeWithTheModelAcrossRestarts) {
  set_log_level(LogLevel::error);
  SimulatedRandom random(99);
  CrashWorld crash(7);
  Model model;
  auto store = crash.open();
  ASSERT_TRUE(store);
  for (int i = 0; i < 5000; ++i) {
    const Transaction transaction = random_transaction(random, model);
    const auto result = run_in(crash.world(), (*store)->commit(transaction));
    ASSERT_EQ(result.has_value(), apply_to_model(model, transaction));
    if (!random.one_in(100)) continue;
    ASSERT_TRUE(run_in(crash.world(), (*store)->close()).ok());
    store->reset();
    if (random.one_in(2)) crash.node().crash();
    store = crash.open();
    ASSERT_TRUE(store) << store.error().to_string();
    model = without_ephemeral(model);
    ASSERT_EQ(contents(crash, **store), model);
  }
  set_log_level(LogLevel::info);
}

}  // namespace
}  // namespace naru
