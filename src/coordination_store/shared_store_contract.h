// What the backends that several brokers share have to keep with two clients. Instantiated like
// coordination_store_contract.h; the type also has CoordinationStore& second(), another session on the same contents,
// and void end_second(), which closes it.
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "async/task_group.h"
#include "coordination_store/coordination_store_contract.h"

namespace naru {

template <class Backend>
class SharedStoreContract : public testing::Test {
 protected:
  template <class T>
  T run(Task<T> task) {
    return backend_.run(std::move(task));
  }
  CoordinationStore& first() { return backend_.store(); }
  CoordinationStore& second() { return backend_.second(); }
  std::string text(CoordinationStore& store, std::string key) {
    const auto found = run(store.get(std::move(key)));
    EXPECT_TRUE(found) << found.error().to_string();
    return found && *found ? std::string(as_text((*found)->value.view())) : "(absent)";
  }

  Backend backend_;
};

struct Racer {
  // Adds one to the number of those who won, or lost.
  static Task<void> create(CoordinationStore& store, std::string key, std::string value, std::atomic<int>& won,
                           std::atomic<int>& lost) {
    const auto done = co_await store.commit({.compares = {{key, 0}}, .puts = {text_put(key, value)}});
    won += done ? 1 : 0;
    lost += !done && done.error().code() == ErrorCode::version_conflict ? 1 : 0;
  }
  static Task<Unit> race(CoordinationStore& first, CoordinationStore& second, std::string key, std::atomic<int>& won,
                         std::atomic<int>& lost) {
    TaskGroup group;
    group.spawn(create(first, key, "first", won, lost));
    group.spawn(create(second, key, "second", won, lost));
    co_await group.join();
    co_return Unit{};
  }
};

TYPED_TEST_SUITE_P(SharedStoreContract);

TYPED_TEST_P(SharedStoreContract, ACommitOfOneIsSeenByTheOtherOnceItsWatchHasFired) {
  const auto watch = this->second().watch("topics/");
  for (int i = 0; i < 20; ++i) {
    const std::string value = std::to_string(i);
    EXPECT_TRUE(this->run(this->first().commit({.puts = {text_put("topics/a", value)}})));
    // Late events of earlier changes may come first.
    for (int events = 0; this->text(this->second(), "topics/a") != value; ++events) {
      ASSERT_LE(events, i + 1);
      ASSERT_TRUE(this->run(watch->next({})).ok());
    }
  }
}

TYPED_TEST_P(SharedStoreContract, VersionsAreTheSameForBoth) {
  const auto versions = this->run(this->first().commit({.puts = {text_put("a", "1")}}));
  ASSERT_TRUE(versions);
  const Transaction next{.compares = {{"a", (*versions)[0]}}, .puts = {text_put("a", "2")}};
  EXPECT_TRUE(this->run(this->second().commit(next)));
  EXPECT_FALSE(this->run(this->first().commit(next)));
}

TYPED_TEST_P(SharedStoreContract, EphemeralKeysOfASessionThatEndsVanishForTheOtherAndItsWatchFires) {
  const auto watch = this->first().watch("brokers/");
  EXPECT_TRUE(this->run(this->second().commit({.puts = {text_put("brokers/2", "x", true)}})));
  while (this->text(this->first(), "brokers/2") != "x") ASSERT_TRUE(this->run(watch->next({})).ok());
  this->backend_.end_second();
  while (this->text(this->first(), "brokers/2") != "(absent)") ASSERT_TRUE(this->run(watch->next({})).ok());
}

TYPED_TEST_P(SharedStoreContract, AnEphemeralKeyBelongsToWhoPutItLast) {
  EXPECT_TRUE(this->run(this->second().commit({.puts = {text_put("a", "2", true), text_put("b", "2", true)}})));
  EXPECT_TRUE(this->run(this->first().commit({.puts = {text_put("a", "1", true), text_put("b", "1")}})));
  this->backend_.end_second();
  EXPECT_EQ(this->text(this->first(), "a"), "1");
  EXPECT_EQ(this->text(this->first(), "b"), "1");
  this->backend_.new_session();
  EXPECT_TRUE(this->run(this->first().commit({.deletes = {"nothing"}}))) << "reads of a new session may be stale";
  EXPECT_EQ(this->text(this->first(), "a"), "(absent)");
  EXPECT_EQ(this->text(this->first(), "b"), "1");
}

TYPED_TEST_P(SharedStoreContract, ExactlyOneOfTwoWinsARace) {
  std::atomic<int> won = 0, lost = 0;
  for (int i = 0; i < 20; ++i) this->run(Racer::race(this->first(), this->second(), std::to_string(i), won, lost));
  EXPECT_EQ(won, 20);
  EXPECT_EQ(lost, 20);
}

REGISTER_TYPED_TEST_SUITE_P(SharedStoreContract, ACommitOfOneIsSeenByTheOtherOnceItsWatchHasFired,
                            VersionsAreTheSameForBoth, EphemeralKeysOfASessionThatEndsVanishForTheOtherAndItsWatchFires,
                            AnEphemeralKeyBelongsToWhoPutItLast, ExactlyOneOfTwoWinsARace);

}  // namespace naru
