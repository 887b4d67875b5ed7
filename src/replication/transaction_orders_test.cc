// Producers, their coordinator and a network that loses, repeats and delays requests, all random, against one
// partition: whatever comes late touches no other transaction than its own. A failure prints its seed.
#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "log_storage/control_batches.h"
#include "platform/simulated/simulated_random.h"
#include "platform/simulated/simulated_world.h"
#include "record_format/batch_builder.h"
#include "replication/partition.h"
#include "replication/partition_testing.h"

namespace naru {
namespace {

class TransactionOrders {
 public:
  TransactionOrders(uint64_t seed, bool second_version) : random_(seed), second_version_(second_version) {
    open();
    for (int64_t id = 0; id < 3; ++id)
      producers_[id].sequence = second_version || random_.one_in(2) ? 0 : first_sequence();
  }

  void step() {
    auto& [id, producer] = *std::next(producers_.begin(), static_cast<ptrdiff_t>(random_.below(producers_.size())));
    if (!held_.empty() && random_.one_in(3)) return deliver_late();
    if (random_.one_in(40)) return next_reign();
    if (producer.marker_due) return send_marker(id, producer);
    if (!producer.ongoing) return begin(producer);
    if (random_.one_in(15)) return time_out(producer);
    if (producer.unanswered || !random_.one_in(4)) return send_batch(id, producer);
    end(producer, random_.one_in(2) ? TransactionResult::commit : TransactionResult::abort);
  }

  void finish() {
    while (!held_.empty()) deliver_late();
    for (auto& [id, producer] : producers_) {
      if (producer.ongoing && !producer.marker_due) end(producer, TransactionResult::abort);
      while (producer.marker_due) send_marker(id, producer);
    }
    while (!held_.empty()) deliver_late();
    check();
  }

 private:
  struct Batch {
    std::string value;
    int32_t sequence = 0;
    int16_t epoch = 0;
  };
  // What the producer knows, and what its coordinator does: they differ only in requests that are on their way.
  struct KnownProducer {
    int16_t epoch = 0;
    int32_t sequence = 0;
    uint64_t connection = 1;
    std::optional<Batch> unanswered;
    int values = 0;
    // The coordinator's.
    bool ongoing = false;
    bool added = false;
    int64_t number = 0;
    std::optional<TransactionResult> marker_due;
    int16_t marker_epoch = 0;
    bool new_epoch_after = false;
  };
  struct Held {
    int64_t producer;
    std::optional<Batch> batch;  // none: a marker
    uint64_t connection = 0;
    MarkerRequest marker;
  };

  static int32_t first_sequence() { return std::numeric_limits<int32_t>::max() - 2; }

  void open() {
    const Seams seams = process_->seams();
    partition_ = open_test_partition(node_.disk(), open_files_.emplace_back(node_.disk(), 4),
                                     {seams.clock, seams.scheduler, durability_, unsynced_logs_},
                                     {{"flush.messages", "1000000"}});
  }

  void begin(KnownProducer& producer) {
    producer.ongoing = true;
    ++producer.number;
    producer.added = !second_version_ && !random_.one_in(10);  // else the producer forgets to ask, and gets nowhere
  }

  void send_batch(int64_t id, KnownProducer& producer) {
    if (!producer.unanswered) {
      producer.unanswered = Batch{.value = fmt::format("{}/{}/{}", id, producer.number, producer.values++),
                                  .sequence = producer.sequence,
                                  .epoch = producer.epoch};
      transaction_of_[producer.unanswered->value] = {id, producer.number};
    }
    const Batch batch = *producer.unanswered;
    if (random_.one_in(4))
      held_.push_back({.producer = id, .batch = batch, .connection = producer.connection, .marker = {}});
    if (random_.one_in(6)) {  // lost on the way; the client connects anew and asks again
      ++producer.connection;
      return;
    }
    const ErrorCode code = deliver(id, batch, producer.connection);
    if (random_.one_in(6)) {  // the answer is lost
      ++producer.connection;
      return;
    }
    if (code == ErrorCode::none) {
      acknowledged_.insert(batch.value);
      producer.sequence = sequence_after(batch.sequence, 1);
      producer.unanswered = std::nullopt;
    } else {
      // The client cannot go on: it aborts, and gets a new epoch for what it does not know.
      abort_with_new_epoch(producer);
    }
  }

  ErrorCode deliver(int64_t id, const Batch& batch, uint64_t connection) {
    BatchBuilder builder({.transactional = true,
                          .producer_id = ProducerId(id),
                          .producer_epoch = ProducerEpoch(batch.epoch),
                          .base_sequence = batch.sequence});
    builder.add(1000, std::nullopt, batch.value);
    SharedBytes bytes(builder.build().value());
    const auto validated = validate_produced_batch(bytes.view(), {}, 1000);
    AppendRequest request{.batch = bytes, .validated = *validated, .connection = connection};
    Result<VerificationGuard> guard = VerificationGuard{0};
    const auto task = [&]() -> Task<void> { guard = co_await partition_->begin_verification(validated->header); };
    world_.run_task(task());
    if (!guard) return guard.error().code();
    if (*guard != 0) {
      KnownProducer& asked = producers_.at(id);
      const bool known = asked.ongoing && !asked.marker_due && asked.epoch == batch.epoch;
      if (!known || (!second_version_ && !asked.added)) return ErrorCode::invalid_txn_state;
      asked.added = true;
      request.verified = {.guard = *guard, .number = TransactionNumber(asked.number), .implicit = second_version_};
      // While the coordinator is asked, other requests arrive.
      if (!held_.empty() && random_.one_in(4) && !inside_) {
        inside_ = true;
        deliver_late();
        inside_ = false;
      }
    }
    const auto group = std::make_shared<AppendGroup>(1);
    partition_->append(std::move(request), group, 0);
    return group->result(0).status.code();
  }

  void end(KnownProducer& producer, TransactionResult result) {
    producer.marker_due = result;
    producer.marker_epoch = static_cast<int16_t>(producer.epoch + (second_version_ ? 1 : 0));
    producer.new_epoch_after = second_version_;
    results_[{id_of(producer), producer.number}] = result;
  }
  void abort_with_new_epoch(KnownProducer& producer) {
    producer.marker_due = TransactionResult::abort;
    producer.marker_epoch = static_cast<int16_t>(producer.epoch + 1);
    producer.new_epoch_after = true;
    producer.unanswered = std::nullopt;
    results_[{id_of(producer), producer.number}] = TransactionResult::abort;
  }
  void time_out(KnownProducer& producer) { abort_with_new_epoch(producer); }

  void send_marker(int64_t id, KnownProducer& producer) {
    const MarkerRequest request{.producer = {ProducerId(id), ProducerEpoch(producer.marker_epoch)},
                                .marker = {.result = *producer.marker_due, .coordinator_epoch = 0},
                                .transaction_version = static_cast<int16_t>(second_version_ ? 2 : 1),
                                .number = TransactionNumber(producer.number),
                                .leader_epoch = LeaderEpoch(leader_epoch_)};
    if (random_.one_in(3)) held_.push_back({.producer = id, .batch = std::nullopt, .marker = request});
    if (random_.one_in(5)) return;  // lost: it is sent again
    const ErrorCode code = deliver(request);
    ASSERT_EQ(code, ErrorCode::none) << "a coordinator must be able to end what it has decided";
    if (random_.one_in(5)) return;  // the answer is lost
    if (producer.new_epoch_after) {
      producer.epoch = static_cast<int16_t>(producer.marker_epoch + (second_version_ ? 0 : 1));
      producer.sequence = 0;
      producer.unanswered = std::nullopt;
    }
    producer.ongoing = producer.added = producer.new_epoch_after = false;
    producer.marker_due = std::nullopt;
  }
  ErrorCode deliver(const MarkerRequest& request) {
    const auto group = std::make_shared<AppendGroup>(1);
    partition_->append_marker(request, group, 0);
    return group->result(0).status.code();
  }

  void deliver_late() {
    const size_t which = random_.below(held_.size());
    const Held held = held_[which];
    held_.erase(held_.begin() + static_cast<ptrdiff_t>(which));
    if (held.batch) {
      deliver(held.producer, *held.batch, held.connection);
    } else {
      deliver(held.marker);
    }
  }

  // Everything that is known in memory alone is gone.
  void next_reign() {
    PartitionAssignment next = leads_alone(BrokerId(1), LeaderEpoch(++leader_epoch_));
    next.partition_epoch = leader_epoch_;
    partition_->assign(next);
  }

  int64_t id_of(const KnownProducer& producer) const {
    for (const auto& [id, each] : producers_) {
      if (&each == &producer) return id;
    }
    return -1;
  }

  void check() {
    PartitionLog& log = partition_->log();
    ASSERT_EQ(log.last_stable_offset(log.end_offset()), log.end_offset()) << "a transaction hangs";
    std::map<ProducerId, std::vector<std::string>> open;
    std::set<std::string> seen;
    for (Offset at{0}; at < log.end_offset();) {
      const LogSlice slice = log.read(at, log.end_offset(), 1 << 20, true).value();
      Bytes bytes(slice.bytes);
      ASSERT_TRUE(slice.file->read_at(slice.position, bytes).has_value());
      for (BytesView rest = bytes; !rest.empty();) {
        const BatchHeader header = parse_batch_header(rest).value();
        const BytesView whole = rest.first(header.total_size);
        if (const auto marker = marker_of(header, whole).value()) {
          for (const std::string& value : open[header.producer_id]) {
            ASSERT_EQ(results_.at(transaction_of_.at(value)), marker->result) << value << " ended as another one";
          }
          open[header.producer_id].clear();
        } else {
          RecordReader reader(header, batch_records(whole));
          for (RecordView record; reader.next(record);) {
            const std::string value(as_text(*record.value));
            ASSERT_TRUE(seen.insert(value).second) << value << " is there twice";
            auto& together = open[header.producer_id];
            if (!together.empty()) {
              ASSERT_EQ(transaction_of_.at(together.front()), transaction_of_.at(value)) << value << " is with others";
            }
            together.push_back(value);
          }
        }
        rest = rest.subspan(header.total_size);
      }
      at = slice.next_offset;
    }
    for (const std::string& value : acknowledged_) ASSERT_TRUE(seen.contains(value)) << value << " is lost";
  }

  SimulatedRandom random_;
  const bool second_version_;
  SimulatedWorld world_{1};
  SimulatedNode& node_ = world_.add_node("broker");
  std::unique_ptr<SimulatedProcess> process_ = node_.start();
  std::deque<OpenFiles> open_files_;
  MetricsRegistry metrics_;
  UnsyncedLogs unsynced_logs_{{.sync_beyond = 100, .full = 200}, metrics_};
  ManualDurability durability_;
  std::shared_ptr<Partition> partition_;
  std::map<int64_t, KnownProducer> producers_;
  std::vector<Held> held_;
  bool inside_ = false;
  int32_t leader_epoch_ = 0;
  std::map<std::string, std::pair<int64_t, int64_t>> transaction_of_;
  std::map<std::pair<int64_t, int64_t>, TransactionResult> results_;
  std::set<std::string> acknowledged_;
};

TEST(TransactionOrders, WhatComesLateTouchesNoOtherTransaction) {
  for (const bool second_version : {false, true}) {
    for (uint64_t seed = 1; seed <= 150; ++seed) {
      SCOPED_TRACE(fmt::format("version {}, seed {}", second_version ? 2 : 1, seed));
      TransactionOrders orders(seed, second_version);
      for (int step = 0; step < 200 && !testing::Test::HasFatalFailure(); ++step) orders.step();
      orders.finish();
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

}  // namespace
}  // namespace naru
