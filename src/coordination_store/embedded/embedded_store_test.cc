#include "coordination_store/embedded/embedded_store.h"

#include <string>

#include <gtest/gtest.h>

#include "async/task_group.h"
#include "coordination_store/coordination_store_contract.h"
#include "coordination_store/simulated/run_in_world.h"

namespace naru {
namespace {

class EmbeddedBackend {
 public:
  EmbeddedBackend() { open(); }
  ~EmbeddedBackend() { ignore(close()); }

  CoordinationStore& store() { return *store_; }
  EmbeddedStore& embedded() { return *store_; }
  template <class T>
  T run(Task<T> task) {
    return run_in(world_, std::move(task));
  }
  void new_session() {
    ignore(close());
    process_ = node_.start();
    open();
  }
  Status close() {
    const Status status = run(store_->close());
    store_.reset();
    process_.reset();
    return status;
  }
  void open() {
    if (!process_) process_ = node_.start();
    auto opened = try_open(StoreExpectation::may_be_new);
    ASSERT_TRUE(opened) << opened.error().to_string();
    store_ = std::move(*opened);
  }
  Result<std::unique_ptr<EmbeddedStore>> try_open(StoreExpectation expectation) {
    if (!process_) process_ = node_.start();
    const Seams seams = process_->seams();
    return run(EmbeddedStore::open(seams.files, seams.scheduler, seams.random,
                                   {.folder = "/metadata", .expectation = expectation, .snapshot_log_bytes = 4096}));
  }
  SimulatedFileSystem& disk() { return node_.disk(); }
  std::vector<std::string> file_names() {
    std::vector<std::string> names;
    const auto listed = disk().list("/metadata");
    for (const DirectoryEntry& entry : *listed) names.push_back(entry.name);
    return names;
  }

 private:
  SimulatedWorld world_{4711};
  SimulatedNode& node_ = world_.add_node("broker");
  std::unique_ptr<SimulatedProcess> process_;
  std::unique_ptr<EmbeddedStore> store_;
};

INSTANTIATE_TYPED_TEST_SUITE_P(Embedded, CoordinationStoreContract, EmbeddedBackend);

Task<void> commit_one(CoordinationStore& store, std::string key, int& succeeded) {
  Transaction transaction;
  transaction.puts.push_back(text_put(std::move(key), "value"));
  const auto versions = co_await store.commit(std::move(transaction));
  succeeded += versions ? 1 : 0;
}

Task<int> commit_together(CoordinationStore& store, int count) {
  int succeeded = 0;
  TaskGroup group;
  for (int i = 0; i < count; ++i) group.spawn(commit_one(store, "key" + std::to_string(i), succeeded));
  co_await group.join();
  co_return succeeded;
}

TEST(EmbeddedStore, TransactionsThatArriveTogetherShareASync) {
  EmbeddedBackend backend;
  int syncs = 0;
  backend.disk().set_trace([&syncs](FileOperation operation, const std::string&, uint64_t) {
    syncs += operation == FileOperation::sync_data ? 1 : 0;
  });
  EXPECT_EQ(backend.run(commit_together(backend.store(), 50)), 50);
  EXPECT_EQ(syncs, 2);  // the first one alone, the others together
  backend.disk().set_trace(nullptr);
}

TEST(EmbeddedStore, ManyChangesAreOneEventAndThereIsNoneForNothing) {
  EmbeddedBackend backend;
  const auto watch = backend.store().watch("key");
  CancelSource source;
  source.cancel();
  EXPECT_EQ(backend.run(watch->next(source.token())).code(), ErrorCode::cancelled);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(backend.run(backend.store().commit({.puts = {text_put("key", "1")}})));
  EXPECT_TRUE(backend.run(watch->next({})).ok());
  EXPECT_EQ(backend.run(watch->next(source.token())).code(), ErrorCode::cancelled);
}

TEST(EmbeddedStore, AReadWaitsUntilWhatItSawIsDurable) {
  EmbeddedBackend backend;
  struct Reader {
    static Task<void> read(CoordinationStore& store, SimulatedFileSystem& disk, bool& was_durable) {
      const auto found = co_await store.get("key0");
      was_durable =
          found && *found && disk.durable_content("/metadata/log-00000000000000000001").size() > kLogHeaderBytes;
    }
    static Task<int> both(CoordinationStore& store, SimulatedFileSystem& disk, bool& was_durable) {
      TaskGroup group;
      int succeeded = 0;
      group.spawn(commit_one(store, "key0", succeeded));
      group.spawn(read(store, disk, was_durable));
      co_await group.join();
      co_return succeeded;
    }
  };
  bool was_durable = false;
  EXPECT_EQ(backend.run(Reader::both(backend.store(), backend.disk(), was_durable)), 1);
  EXPECT_TRUE(was_durable);
}

TEST(EmbeddedStore, AFailedSyncIsFinalAndEndsTheSession) {
  EmbeddedBackend backend;
  const auto watch = backend.store().watch("other");
  backend.disk().fail_nth(FileOperation::sync_data, 1);
  int succeeded = 0;
  struct Wrapped {
    static Task<Unit> commit(CoordinationStore& store, int& succeeded) {
      co_await commit_one(store, "key", succeeded);
      co_return Unit{};
    }
  };
  backend.run(Wrapped::commit(backend.store(), succeeded));
  EXPECT_EQ(succeeded, 0);
  EXPECT_TRUE(backend.run(watch->next({})).ok());
  EXPECT_EQ(backend.run(backend.store().session()).state, SessionState::expired);
  const auto later = backend.run(backend.store().commit({.puts = {text_put("key", "again")}}));
  ASSERT_FALSE(later);
  EXPECT_EQ(later.error().code(), ErrorCode::unavailable);
  EXPECT_EQ(backend.run(backend.store().get("key")).error().code(), ErrorCode::unavailable);
  EXPECT_EQ(backend.close().code(), ErrorCode::unavailable);
  backend.open();
}

TEST(EmbeddedStore, TakesASnapshotWhenTheLogIsLongAndReadsItBack) {
  EmbeddedBackend backend;
  for (int i = 0; i < 200; ++i) {
    const std::string value(100, static_cast<char>('a' + i % 26));
    ASSERT_TRUE(backend.run(backend.store().commit({.puts = {text_put("key" + std::to_string(i % 7), value)}})));
  }
  const auto names = backend.file_names();
  ASSERT_EQ(names.size(), 2u);
  EXPECT_NE(names[0], "log-00000000000000000001");
  EXPECT_EQ(names[1], "snapshot");
  const auto before = backend.run(backend.store().list(""));
  backend.new_session();
  const auto after = backend.run(backend.store().list(""));
  ASSERT_EQ(before->size(), after->size());
  for (size_t i = 0; i < before->size(); ++i) {
    EXPECT_EQ((*before)[i].version, (*after)[i].version);
    EXPECT_TRUE(equal_bytes((*before)[i].value.view(), (*after)[i].value.view()));
  }
}

TEST(EmbeddedStore, ASnapshotThatCannotBeWrittenLeavesTheStoreWorking) {
  EmbeddedBackend backend;
  backend.disk().fail_nth(FileOperation::write, 1, "snapshot", ErrorCode::disk_full);
  for (int i = 0; i < 200; ++i) {
    ASSERT_TRUE(backend.run(backend.store().commit({.puts = {text_put("key", std::string(100, 'x'))}})));
  }
  EXPECT_EQ(backend.file_names().back(), "snapshot");
}

TEST(EmbeddedStore, AFolderThatWasInUseAndIsEmptyNowIsRefused) {
  EmbeddedBackend backend;
  ASSERT_TRUE(backend.close().ok());
  for (const std::string& name : backend.file_names())
    ASSERT_TRUE(backend.disk().remove_file("/metadata/" + name).ok());
  const auto opened = backend.try_open(StoreExpectation::must_exist);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code(), ErrorCode::corrupt_data);
  EXPECT_NE(opened.error().message().find("/metadata"), std::string::npos);
  backend.open();
}

TEST(EmbeddedStore, RefusesTransactionsBeyondItsMemoryAndStillTakesDeletes) {
  SimulatedWorld world(1);
  SimulatedNode& node = world.add_node("broker");
  const auto process = node.start();
  const Seams seams = process->seams();
  auto store = *run_in(world, EmbeddedStore::open(seams.files, seams.scheduler, seams.random,
                                                  {.folder = "/metadata", .max_state_bytes = 1000}));
  ASSERT_TRUE(run_in(world, store->commit({.puts = {text_put("a", std::string(800, 'a'))}})));
  const auto refused = run_in(world, store->commit({.puts = {text_put("b", std::string(800, 'b'))}}));
  EXPECT_EQ(refused.error().code(), ErrorCode::out_of_memory_budget);
  EXPECT_TRUE(run_in(world, store->commit({.deletes = {"a"}})));
  EXPECT_TRUE(run_in(world, store->commit({.puts = {text_put("b", std::string(800, 'b'))}})));
  EXPECT_TRUE(run_in(world, store->close()).ok());
}

class FullDisk : public testing::Test {
 protected:
  void open() {
    process_ = node_.start();
    const Seams seams = process_->seams();
    auto opened = run(EmbeddedStore::open(
        seams.files, seams.scheduler, seams.random,
        {.folder = "/metadata", .snapshot_log_bytes = 40000, .reserve_bytes = 30000, .room_step_bytes = 5000}));
    ASSERT_TRUE(opened) << opened.error().to_string();
    store_ = std::move(*opened);
  }
  template <class T>
  T run(Task<T> task) {
    return run_in(world_, std::move(task));
  }
  Status put(std::string key, size_t bytes = 100) {
    const auto done = run(store_->commit({.puts = {text_put(std::move(key), std::string(bytes, 'x'))}}));
    return done ? Status() : done.error();
  }
  Status remove(std::string key) {
    const auto done = run(store_->commit({.deletes = {std::move(key)}, .may_use_reserve = true}));
    return done ? Status() : done.error();
  }
  bool has(const std::string& key) { return run(store_->get(key))->has_value(); }
  void fill_disk() {
    const auto space = node_.disk().space("/metadata");
    node_.disk().set_capacity(space->total_bytes - space->free_bytes);
  }
  void free_disk() { node_.disk().set_capacity(UINT64_MAX); }
  void restart(bool power_cut) {
    store_.reset();
    process_.reset();
    power_cut ? node_.crash() : node_.kill();
    open();
  }
  // Until the step that is there anyway is used up.
  int put_until_refused() {
    for (int count = 0;; ++count) {
      const Status status = put("filler" + std::to_string(count));
      if (status.ok()) continue;
      EXPECT_EQ(status.code(), ErrorCode::disk_full) << status.to_string();
      return count;
    }
  }

  SimulatedWorld world_{4711};
  SimulatedNode& node_ = world_.add_node("broker");
  std::unique_ptr<SimulatedProcess> process_;
  std::unique_ptr<EmbeddedStore> store_;
};

TEST_F(FullDisk, DeletesGoOnOthersAreRefusedAndAllGoOnWhenThereIsSpace) {
  open();
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(put("key" + std::to_string(i)).ok());
  fill_disk();
  EXPECT_LT(put_until_refused(), 100);
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(remove("key" + std::to_string(i)).ok());
  EXPECT_FALSE(has("key0"));
  EXPECT_EQ(put("more").code(), ErrorCode::disk_full) << "what was deleted is for deletions";
  EXPECT_EQ(run(store_->session()).state, SessionState::connected);
  free_disk();
  EXPECT_TRUE(put("more").ok());
  restart(true);
  EXPECT_TRUE(has("more"));
  EXPECT_FALSE(has("key4"));
  EXPECT_TRUE(run(store_->close()).ok());
}

TEST_F(FullDisk, TheReserveEndsWithARefusalAndNotOffline) {
  open();
  ASSERT_TRUE(put("key").ok());
  fill_disk();
  ErrorCode code = ErrorCode::none;
  int deletes = 0;
  for (; code == ErrorCode::none && deletes < 1000; ++deletes) code = remove("absent" + std::to_string(deletes)).code();
  EXPECT_EQ(code, ErrorCode::disk_full);
  EXPECT_GT(deletes, 20);
  free_disk();
  EXPECT_TRUE(remove("key").ok());
  EXPECT_TRUE(put("key").ok());
  EXPECT_TRUE(run(store_->close()).ok());
}

TEST_F(FullDisk, TheReserveIsThereAfterARestartOnAFullDisk) {
  for (const bool power_cut : {false, true}) {
    free_disk();
    open();
    ASSERT_TRUE(put("key").ok());
    ASSERT_TRUE(put("other").ok());
    fill_disk();
    restart(power_cut);
    put_until_refused();
    EXPECT_TRUE(remove("key").ok());
    EXPECT_FALSE(has("key"));
    EXPECT_TRUE(has("other"));
    store_.reset();
    process_.reset();
    node_.kill();
  }
}

TEST_F(FullDisk, ASnapshotThatFindsNoSpaceLeavesTheLogInUse) {
  open();
  for (int i = 0; i < 200; ++i) ASSERT_TRUE(put("key" + std::to_string(i)).ok());
  fill_disk();
  put_until_refused();
  for (int i = 0; i < 150; ++i) EXPECT_TRUE(remove("key" + std::to_string(i)).ok()) << i;
  restart(true);
  EXPECT_FALSE(has("key7"));
  free_disk();
  for (int i = 0; i < 500; ++i) ASSERT_TRUE(put("key" + std::to_string(i)).ok()) << "snapshots work again";
  restart(true);
  EXPECT_TRUE(has("key99"));
  EXPECT_TRUE(run(store_->close()).ok());
}

Task<void> commit_and_note(CoordinationStore& store, std::string key, std::vector<Status>& results) {
  const auto done = co_await store.commit({.puts = {text_put(std::move(key), std::string(100, 'x'))}});
  results.push_back(done ? Status() : done.error());
}

Task<std::vector<Status>> commit_many(CoordinationStore& store, int count) {
  std::vector<Status> results;
  TaskGroup group;
  for (int i = 0; i < count; ++i) group.spawn(commit_and_note(store, "many" + std::to_string(i), results));
  co_await group.join();
  co_return results;
}

TEST_F(FullDisk, WhatWasRefusedIsNotThereAndWhatWasAcceptedIs) {
  open();
  ASSERT_TRUE(put("first").ok());
  fill_disk();
  const auto results = run(commit_many(*store_, 400));
  ASSERT_EQ(results.size(), 400u);
  size_t accepted = 0;
  for (const Status& status : results) {
    accepted += status.ok() ? 1 : 0;
    EXPECT_TRUE(status.ok() || status.code() == ErrorCode::disk_full) << status.to_string();
  }
  EXPECT_LT(accepted, 400u);
  EXPECT_EQ(run(store_->list(""))->size(), accepted + 1);
  restart(true);
  EXPECT_EQ(run(store_->list(""))->size(), accepted + 1);
  EXPECT_TRUE(run(store_->close()).ok());
}

}  // namespace
}  // namespace naru
