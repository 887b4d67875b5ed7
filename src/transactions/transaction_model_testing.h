// For tests: producers, leaders and a network that holds, doubles and reorders, around a real coordinator; and what
// must be true of everything that comes of it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "transactions/transaction_testing.h"

namespace naru {

// Decides whatever is not determined.
class ModelChoices {
 public:
  virtual ~ModelChoices() = default;
  virtual size_t pick(size_t options) = 0;
};

class RandomChoices final : public ModelChoices {
 public:
  explicit RandomChoices(uint64_t seed) : random_(seed) {}
  size_t pick(size_t options) override { return random_() % options; }

 private:
  std::mt19937_64 random_;
};

// One after the other all that there are: the last decision that has alternatives left takes the next one.
class EveryChoice final : public ModelChoices {
 public:
  size_t pick(size_t options) override {
    if (depth_ == path_.size()) path_.push_back({0, options});
    EXPECT_EQ(path_[depth_].options, options) << "the same decisions lead to the same place";
    return path_[depth_++].taken;
  }
  // False: that was all.
  bool next() {
    depth_ = 0;
    while (!path_.empty() && path_.back().taken + 1 == path_.back().options) path_.pop_back();
    if (path_.empty()) return false;
    ++path_.back().taken;
    return true;
  }

 private:
  struct Decision {
    size_t taken;
    size_t options;
  };
  size_t depth_ = 0;
  std::vector<Decision> path_;
};

struct ModelSettings {
  int16_t version = kTransactionVersion1;
  int clients = 1;  // of the same transactional id: each fences those before
  int partitions = 1;
  int transactions = 2;  // of each client
  int first_epoch = 0;
  bool can_abort = true;
  bool slow_is_slower = false;  // what is on connections that were given up, or is sent twice, comes seldom
  // How often that may happen.
  int resends = 1;  // a client gives a connection up, and asks again on another one
  int overdue = 0;  // the clock moves on by more than the timeout
  int crashes = 0;  // of the coordinator, with what it is just deciding
  int doubled = 0;  // markers that are sent twice, or reported twice as written
};

// The log of a partition, as far as transactions are concerned. A batch is the number of its transaction.
class ModelPartition {
 public:
  enum class Admission : uint8_t { stored, verify, old_epoch, refused };

  Admission admit(const ProducerIdentity& who, int16_t version, int batch, uint64_t connection) {
    Producer& producer = producers_[who.id.value()];
    if (who.epoch < producer.epoch) return Admission::old_epoch;
    if (producer.stored.contains(batch)) return Admission::stored;
    const bool is_older = who.epoch == producer.epoch && connection < producer.newest_connection;
    if (version < kTransactionVersion2 && is_older) return Admission::refused;
    if (!producer.open || who.epoch != producer.epoch) return Admission::verify;
    store(producer, who, batch, connection);
    return Admission::stored;
  }
  // Since when nothing has ended that the producer may have had open.
  uint64_t guard(const ProducerIdentity& who) { return producers_[who.id.value()].markers; }
  Admission store_verified(const ProducerIdentity& who, int batch, uint64_t connection, uint64_t guard,
                           TransactionNumber number) {
    Producer& producer = producers_[who.id.value()];
    if (who.epoch < producer.epoch) return Admission::old_epoch;
    if (producer.stored.contains(batch)) return Admission::stored;
    if (producer.markers != guard) return Admission::refused;
    if (!producer.open) {
      producer.open.emplace();
      producer.number = number;
    }
    store(producer, who, batch, connection);
    return Admission::stored;
  }
  void end(const MarkersWanted& marker) {
    Producer& producer = producers_[marker.producer.id.value()];
    if (producer.open && producer.number != marker.number) return;
    if (marker.producer.epoch < producer.epoch) return;
    const bool is_strict = marker.transaction_version >= kTransactionVersion2 && producer.open;
    if (is_strict && marker.producer.epoch == producer.epoch) return;
    if (marker.producer.epoch > producer.epoch) producer.newest_connection = 0;
    producer.epoch = marker.producer.epoch;
    ++producer.markers;
    if (!producer.open) return;
    if (marker.result == TransactionResult::commit) {
      committed.insert(committed.end(), producer.open->begin(), producer.open->end());
    }
    producer.open.reset();
  }
  bool has_open() const {
    return std::ranges::any_of(producers_, [](const auto& each) { return each.second.open.has_value(); });
  }

  std::vector<int> committed;

 private:
  struct Producer {
    ProducerEpoch epoch{-1};
    std::optional<std::vector<int>> open;
    TransactionNumber number = kNoTransactionNumber;
    std::set<int> stored;  // stands for sequence numbers
    uint64_t markers = 0;
    uint64_t newest_connection = 0;
  };
  static void store(Producer& producer, const ProducerIdentity& who, int batch, uint64_t connection) {
    producer.epoch = who.epoch;
    producer.open->push_back(batch);
    producer.stored.insert(batch);
    producer.newest_connection = std::max(producer.newest_connection, connection);
  }
  std::map<int64_t, Producer> producers_;
};

class ModelWorld;

// A producer as clients are: one request at a time, and on an error it aborts, if it can, and goes on.
class ModelProducer {
 public:
  ModelProducer(ModelWorld& world, int name);
  void start() { init(std::nullopt); }
  bool is_waiting() const { return static_cast<bool>(send_); }
  bool is_finished() const { return !is_waiting(); }
  void give_up_connection();

  enum class Outcome : uint8_t { aborted, committed, unknown };
  struct Transaction {
    Outcome outcome = Outcome::aborted;
    bool has_asked_to_commit = false;
    std::set<int> stored;  // partitions that have said so
  };
  std::map<int, Transaction> transactions;  // by number
  bool is_dead = false;

 private:
  Transaction& current() { return transactions[batch_]; }
  void request(int target, std::function<void()> send);
  template <class Answer>
  Reply<Answer> on_answer(void (ModelProducer::*handle)(const Answer&));
  void again();
  void back_off();
  void reconnect();

  void init(std::optional<ProducerIdentity> expected);
  void on_init(const InitProducerAnswer& answer);
  void begin_next();
  void proceed();
  void add();
  void on_added(const AddPartitionsAnswer& answer);
  void produce();
  void on_produced(ErrorCode error);
  void end(TransactionResult result);
  void on_ended(const EndTransactionAnswer& answer);
  void abort();
  void die();

  ModelWorld& world_;
  const int name_;
  ProducerIdentity who_;
  int begun_ = 0;
  int batch_ = 0;
  int partition_ = 0;  // the one to write to
  bool needs_epoch_ = false;
  TransactionResult result_ = TransactionResult::abort;
  std::map<int, uint64_t> connections_;  // by target: a partition, or -1 for the coordinator
  int target_ = -1;
  uint64_t request_ = 0;  // only its answer counts
  std::function<void()> send_;
};

class ModelWorld {
 public:
  ModelWorld(const ModelSettings& settings, ModelChoices& choices);
  // Until all is done and all messages have arrived, and then as long as it takes for everything to end.
  void run();

  const ModelSettings settings;
  ModelChoices& choices;
  TestTransactions test;
  std::vector<ModelPartition> partitions;
  std::set<uint64_t> slow;  // connections that were given up, and whatever is sent twice

  uint64_t connect() { return next_connection_++; }
  // What was sent on a connection before arrives before.
  void send(uint64_t lane, bool to_coordinator, std::function<void()> arrive) {
    lanes_[lane].push_back({to_coordinator, std::move(arrive)});
  }
  void send_anyhow(bool to_coordinator, std::function<void()> arrive, bool is_repeated = false) {
    if (is_repeated) slow.insert(kOwnLanes + next_lane_);
    send(kOwnLanes + next_lane_++, to_coordinator, std::move(arrive));
  }
  void later(std::function<void()> action) { backed_off_.push_back(std::move(action)); }
  void produce(int partition, ProducerIdentity who, int batch, uint64_t connection,
               std::function<void(ErrorCode)> answer);

 private:
  static constexpr uint64_t kOwnLanes = 1'000'000;
  struct Message {
    bool to_coordinator;
    std::function<void()> arrive;
  };
  bool step();
  void deliver(uint64_t lane);
  void stop_backing_off();
  void send_markers();
  void send_marker(std::shared_ptr<std::set<int>> missing, const MarkersWanted& wanted, int partition,
                   bool is_repeated);
  void check();

  std::map<uint64_t, std::deque<Message>> lanes_;
  std::vector<std::function<void()>> backed_off_;
  std::vector<std::unique_ptr<ModelProducer>> clients_;
  size_t started_ = 0;
  uint64_t next_connection_ = 1;
  uint64_t next_lane_ = 0;
  int resends_;
  int overdue_;
  int crashes_;
  int doubled_;
};

}  // namespace naru
