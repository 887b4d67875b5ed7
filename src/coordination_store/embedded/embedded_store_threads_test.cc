// The embedded store on real threads and a real disk; meant for the thread sanitizer as much as for its own assertions.
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "async/task_group.h"
#include "coordination_store/coordination_store_contract.h"
#include "coordination_store/embedded/embedded_store.h"
#include "platform/real/real_platform.h"

namespace naru {
namespace {

constexpr int kTasks = 6;
constexpr int kIncrements = 30;

// Counts up with compare-and-set from wherever the workers are.
Task<void> count_up(CoordinationStore& store, Scheduler& scheduler) {
  co_await on_worker(scheduler, [] {});
  for (int done = 0; done < kIncrements;) {
    const auto found = co_await store.get("counter");
    NARU_ASSERT(found.has_value(), "{}", found.error().to_string());
    const KeyVersion version = *found ? (*found)->version : 0;
    Transaction transaction;
    transaction.compares.push_back({"counter", version});
    transaction.puts.push_back(text_put("counter", "x"));
    const auto committed = co_await store.commit(std::move(transaction));
    done += committed ? 1 : 0;
  }
}

Task<void> watch_until(CoordinationStore& store, KeyVersion wanted, int& events) {
  const auto watch = store.watch("counter");
  for (;;) {
    const auto found = co_await store.get("counter");
    if (found && *found && (*found)->version == wanted) break;
    const Status status = co_await watch->next({});
    NARU_ASSERT(status.ok(), "{}", status.to_string());
    ++events;
  }
}

Task<void> watch_until_cancelled(CoordinationStore& store, CancelToken token) {
  const auto watch = store.watch("");
  Status status;
  while (status.ok()) status = co_await watch->next(token);
}

Task<void> run_all(Seams seams, std::string folder, KeyVersion& counted, int& events) {
  auto opened = co_await EmbeddedStore::open(seams.files, seams.scheduler, seams.random,
                                             {.folder = folder, .snapshot_log_bytes = 2000});
  NARU_ASSERT(opened.has_value(), "{}", opened.error().to_string());
  EmbeddedStore& store = **opened;
  {
    TaskGroup watcher;
    watcher.spawn(watch_until_cancelled(store, watcher.token()));
    TaskGroup group;
    group.spawn(watch_until(store, kTasks * kIncrements, events));
    for (int i = 0; i < kTasks; ++i) group.spawn(count_up(store, seams.scheduler));
    co_await group.join();
    watcher.cancel();
    co_await watcher.join();
  }
  const auto found = co_await store.get("counter");
  counted = (*found)->version;
  ignore(co_await store.close());
}

TEST(EmbeddedStoreThreads, ConcurrentCompareAndSetLosesNothingAndWatchesSeeTheEnd) {
  RealPlatform platform({.loops = 2, .workers = 4});
  const Seams seams = platform.seams();
  const std::string folder = testing::TempDir() + "/naru_embedded_store_threads_" + seams.random.uuid().to_string();
  KeyVersion counted = 0;
  int events = 0;
  platform.run(run_all(seams, folder, counted, events));
  EXPECT_EQ(counted, kTasks * kIncrements);
  EXPECT_GT(events, 0);
  EXPECT_TRUE(remove_recursively(seams.files, folder).ok());
}

}  // namespace
}  // namespace naru
