// For tests: a coordinator of transactions with a log, a clock that is moved by hand, and a sink that remembers.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "coordinator_runtime/awaited_testing.h"
#include "transactions/transaction_coordinator.h"

namespace naru {

class RememberedMarkers final : public MarkerSink {
 public:
  void send(const MarkersWanted& markers) override { wanted.push_back(markers); }
  std::vector<MarkersWanted> wanted;
};

inline TopicPartitionName test_partition(int index) {
  return {"t", PartitionIndex(index)};
}
inline ProducerIdentity test_producer(int64_t id, int epoch) {
  return {ProducerId(id), ProducerEpoch(static_cast<int16_t>(epoch))};
}

// Every step ends with a check that the log says what the coordinator thinks.
class TestTransactions {
 public:
  explicit TestTransactions(TransactionSettings settings = {}, MemoryBudget* memory = nullptr)
      : settings(settings), memory(memory) {
    restart();
  }
  ~TestTransactions() { coordinator->unload(Status(ErrorCode::not_coordinator)); }

  template <class Answer, class Operation>
  Awaited<Answer> ask(Operation operation) {
    Awaited<Answer> awaited;
    CoordinatorOutcome outcome;
    operation(awaited.reply(), outcome);
    finish(std::move(outcome));
    return awaited;
  }
  Awaited<InitProducerAnswer> init(InitProducer request) {
    if (request.timeout_ms == 0) request.timeout_ms = 60'000;
    return ask<InitProducerAnswer>([&](auto reply, auto& outcome) {
      coordinator->init_producer(std::move(request), std::move(reply), time, outcome);
    });
  }
  // With an id that nobody had before.
  ProducerIdentity init(const std::string& id, std::optional<ProducerIdentity> expected = {}) {
    const auto answer = init({.transactional_id = id, .expected = expected, .fresh_id = ProducerId(next_fresh_id++)});
    EXPECT_EQ(answer.value().error, ErrorCode::none);
    return answer.value().producer;
  }
  Awaited<AddPartitionsAnswer> add(AddPartitions request) {
    return ask<AddPartitionsAnswer>([&](auto reply, auto& outcome) {
      coordinator->add_partitions(std::move(request), std::move(reply), time, outcome);
    });
  }
  ErrorCode add(const std::string& id, ProducerIdentity producer, int partition,
                AddPartitions::Mode mode = AddPartitions::Mode::add) {
    const auto answer =
        add({.transactional_id = id, .producer = producer, .partitions = {test_partition(partition)}, .mode = mode});
    return answer.value().partitions.empty() ? ErrorCode::unknown_server_error : answer.value().partitions[0];
  }
  EndTransactionAnswer end(EndTransaction request) {
    return ask<EndTransactionAnswer>([&](auto reply, auto& outcome) {
             coordinator->end(std::move(request), std::move(reply), time, outcome);
           })
        .value();
  }
  EndTransactionAnswer end(const std::string& id, ProducerIdentity producer, TransactionResult result,
                           int16_t version = kTransactionVersion1) {
    return end({.transactional_id = id, .producer = producer, .result = result, .version = version});
  }
  DescribedTransaction describe(const std::string& id) {
    return ask<DescribedTransaction>(
               [&](auto reply, auto& outcome) { coordinator->describe(id, std::move(reply), time, outcome); })
        .value();
  }
  std::vector<ListedTransaction> list(ListTransactions request) {
    return ask<std::vector<ListedTransaction>>([&](auto reply, auto& outcome) {
             coordinator->list(std::move(request), std::move(reply), time, outcome);
           })
        .value();
  }
  TransactionState state(const std::string& id) { return coordinator->durable_state().at(id).state; }

  void markers_written(const MarkersWanted& markers) {
    CoordinatorOutcome outcome;
    coordinator->markers_written({markers.transactional_id, markers.producer, markers.number}, time, outcome);
    finish(std::move(outcome));
  }
  // All that are wanted.
  void write_markers() {
    for (const MarkersWanted& markers : std::exchange(sink.wanted, {})) markers_written(markers);
  }

  // Stops at every deadline on the way.
  void advance(Duration by) {
    const MonotonicTime end = time.now + by;
    for (auto next = coordinator->next_deadline(); next && *next <= end; next = coordinator->next_deadline()) {
      move_clock(std::max(*next, time.now));
      CoordinatorOutcome outcome;
      coordinator->on_timer(time, outcome);
      finish(std::move(outcome));
    }
    move_clock(end);
  }

  // What a crash and a new coordinator do.
  void restart(uint64_t newest_connection = 0) {
    if (coordinator) coordinator->unload(Status(ErrorCode::not_coordinator));
    held_.clear();
    sink.wanted.clear();
    coordinator = std::make_unique<TransactionCoordinator>(settings, sink, CoordinatorReign{}, memory);
    apply_to(*coordinator, log);
    coordinator->loaded(time);
    coordinator->set_connections_before_load(newest_connection);
    follower_ = std::make_unique<TransactionCoordinator>(settings, unused_);
    apply_to(*follower_, log);
  }
  // Records that are decided from now on are not committed, and replies stay away, until commit_held() or a crash.
  void hold_commits() { is_holding_ = true; }
  void commit_held() {
    is_holding_ = false;
    for (CoordinatorOutcome& outcome : std::exchange(held_, {})) commit(std::move(outcome));
  }
  void crash_before_commit(uint64_t newest_connection = 0) {
    is_holding_ = false;
    for (CoordinatorOutcome& outcome : std::exchange(held_, {})) {
      for (auto& reply : outcome.replies) reply(Status(ErrorCode::coordinator_not_available));
    }
    restart(newest_connection);
  }

  TransactionSettings settings;
  MemoryBudget* const memory;
  std::vector<CoordinatorRecord> log;
  CoordinatorTime time{MonotonicTime{} + 1000h, 1'700'000'000'000};
  RememberedMarkers sink;
  std::unique_ptr<TransactionCoordinator> coordinator;
  int64_t next_fresh_id = 1000;
  bool checks_compacted = true;

 private:
  void move_clock(MonotonicTime to) {
    time.wall_ms += std::chrono::duration_cast<Milliseconds>(to - time.now).count();
    time.now = to;
  }
  void finish(CoordinatorOutcome outcome) {
    apply_to(*follower_, outcome.records);
    expect_same(*follower_, "all records");
    if (is_holding_) {
      held_.push_back(std::move(outcome));
    } else {
      commit(std::move(outcome));
    }
  }
  void commit(CoordinatorOutcome outcome) {
    for (CoordinatorRecord& record : outcome.records) log.push_back(std::move(record));
    for (auto& reply : outcome.replies) reply(Status());
    if (is_holding_ || !checks_compacted) return;
    // The newest record of each key has to be enough.
    std::map<Bytes, CoordinatorRecord> newest;
    for (const CoordinatorRecord& record : log) newest[record.key] = record;
    TransactionCoordinator compacted(settings, unused_);
    for (const auto& [key, record] : newest) {
      if (record.value) apply_to(compacted, {record});
    }
    expect_same(compacted, "the newest records");
  }
  static void apply_to(TransactionCoordinator& coordinator, const std::vector<CoordinatorRecord>& records) {
    for (const CoordinatorRecord& record : records) {
      const auto value = record.value ? std::optional<BytesView>(*record.value) : std::nullopt;
      const Status applied = coordinator.apply(record.key, value);
      EXPECT_TRUE(applied.ok()) << applied.to_string();
    }
  }
  void expect_same(const TransactionCoordinator& replayed, const char* what) {
    EXPECT_TRUE(replayed.durable_state() == coordinator->durable_state())
        << what << ":\n"
        << to_string(replayed.durable_state()) << "live:\n"
        << to_string(coordinator->durable_state());
  }

  bool is_holding_ = false;
  std::vector<CoordinatorOutcome> held_;
  RememberedMarkers unused_;
  std::unique_ptr<TransactionCoordinator> follower_;  // has applied every record, and nothing else has happened to it
};

}  // namespace naru
