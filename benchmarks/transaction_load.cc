#include <algorithm>
#include <optional>
#include <string>

#include "benchmarks/exchange.h"
#include "benchmarks/kafka_frames.h"
#include "benchmarks/load.h"
#include "benchmarks/measurement.h"
#include "foundation/endian.h"
#include "kafka_protocol/messages/add_partitions_to_txn_request.h"
#include "kafka_protocol/messages/add_partitions_to_txn_response.h"
#include "kafka_protocol/messages/end_txn_request.h"
#include "kafka_protocol/messages/end_txn_response.h"
#include "kafka_protocol/messages/init_producer_id_request.h"
#include "kafka_protocol/messages/init_producer_id_response.h"
#include "kafka_protocol/messages/produce_request.h"
#include "kafka_protocol/messages/produce_response.h"
#include "record_format/batch_builder.h"
#include "record_format/record_batch.h"
#include "record_format/transaction_marker.h"

namespace naru::bench {
namespace {

constexpr std::string_view kTransactionalId = "bench";
constexpr int16_t kInitVersion = 4, kAddVersion = 3;
constexpr int32_t kTransactionTimeoutMs = 60'000;

// The requests of a version of transactions. From the second on, producing adds the partition.
struct Versions {
  int16_t produce;
  int16_t end;
  bool adds_partitions;
};
constexpr Versions kVersion1{.produce = 9, .end = 3, .adds_partitions = true};
constexpr Versions kVersion2{.produce = 12, .end = 5, .adds_partitions = false};

// One request with one batch, sent again and again: only what differs is written anew.
class ProduceAgain {
 public:
  ProduceAgain(const TransactionLoad& load, bool transactional, int16_t version)
      : batch_(make_batch(load.records, load.message_bytes)) {
    if (transactional) {
      const auto attributes = load_big_endian<int16_t>(&batch_[batch_field::kAttributes]);
      store_big_endian<int16_t>(&batch_[batch_field::kAttributes], attributes | batch_attribute::kTransactional);
    }
    kafka::ProduceRequest request;
    if (transactional) request.transactional_id = kTransactionalId;
    request.acks = -1;
    request.timeout_ms = 30'000;
    auto& topic = request.topic_data.emplace_back();
    topic.name = load.topic;
    topic.partition_data.emplace_back().records = batch_;
    frame_ = kafka::encode_request_frame(request, version, 0, "bench").bytes;
    constexpr size_t kTagsBehind = 3;  // of the partition, the topic, the request: none
    batch_at_ = frame_.size() - kTagsBehind - batch_.size();
    if (!equal_bytes(batch(), batch_)) die("finding the batch in its request");
    size_t length_bytes = 1;
    for (size_t rest = (batch_.size() + 1) >> 7; rest > 0; rest >>= 7) ++length_bytes;
    partition_at_ = batch_at_ - length_bytes - sizeof(int32_t);
  }

  size_t batch_size() const { return batch_.size(); }

  void send(int socket, int32_t partition, ProducerIdentity producer, int32_t sequence) {
    store_big_endian(&frame_[partition_at_], partition);
    std::byte* at = &frame_[batch_at_];
    store_big_endian(at + batch_field::kProducerId, producer.id.value());
    store_big_endian(at + batch_field::kProducerEpoch, producer.epoch.value());
    store_big_endian(at + batch_field::kBaseSequence, sequence);
    seal_batch(batch());
    write_all(socket, frame_.data(), frame_.size());
  }

 private:
  MutableBytesView batch() { return MutableBytesView(frame_).subspan(batch_at_, batch_.size()); }

  Bytes batch_;
  Bytes frame_;
  size_t batch_at_ = 0;
  size_t partition_at_ = 0;
};

class TransactionRun {
 public:
  explicit TransactionRun(const TransactionLoad& load)
      : load_(load),
        versions_(load.version == 2 ? kVersion2 : kVersion1),
        socket_(connect_to(load.port)),
        produce_(load, load.commit_ms > 0, versions_.produce),
        sequences_(static_cast<size_t>(load.partitions), 0) {}

  void run() {
    init();
    const int64_t start = now_ns();
    const int64_t end = start + int64_t{load_.seconds} * 1'000'000'000;
    if (transactional()) {
      while (now_ns() < end) one_transaction();
    } else {
      send_until(end, 0);
      take_answers(0);
    }
    report(now_ns() - start);
  }

 private:
  bool transactional() const { return load_.commit_ms > 0; }

  void init() {
    if (transactional()) find_coordinator(load_.port, kTransactionalId, CoordinatorOf::transaction);
    kafka::InitProducerIdRequest request;
    request.transactional_id.reset();
    if (transactional()) request.transactional_id = kTransactionalId;
    request.transaction_timeout_ms = kTransactionTimeoutMs;
    while (true) {
      send_request(socket_, request, kInitVersion);
      const auto made = read_response<kafka::InitProducerIdResponse>(socket_, kInitVersion);
      producer_ = {made.producer_id, made.producer_epoch};
      if (made.error_code == ErrorCode::none) return;
      // The coordinator has just been made, and is being loaded.
      if (made.error_code != ErrorCode::coordinator_load_in_progress && made.error_code != ErrorCode::not_coordinator &&
          made.error_code != ErrorCode::coordinator_not_available) {
        die_of("no producer id", made.error_code);
      }
    }
  }

  void one_transaction() {
    const int64_t commit_at = now_ns() + int64_t{load_.commit_ms} * 1'000'000;
    if (versions_.adds_partitions) add_partitions();
    send_until(commit_at, static_cast<size_t>(load_.partitions));
    const int64_t stopped = now_ns();
    take_answers(0);
    const int64_t flushed = now_ns();
    commit();
    flushes_.push_back(flushed - stopped);
    commits_.push_back(now_ns() - flushed);
  }

  // As fast as they are answered, over the partitions in turns; `least` in any case.
  void send_until(int64_t end, size_t least) {
    for (size_t count = 0; count < least || now_ns() < end; ++count) {
      take_answers(static_cast<size_t>(load_.in_flight) - 1);
      const size_t partition = turn_++ % sequences_.size();
      produce_.send(socket_, static_cast<int32_t>(partition), producer_, sequences_[partition]);
      sequences_[partition] += static_cast<int32_t>(load_.records);
      ++sent_;
    }
  }

  // Until there are no more than `left`.
  void take_answers(size_t left) {
    for (; sent_ - answered_ > left; ++answered_) {
      const auto answer = read_response<kafka::ProduceResponse>(socket_, versions_.produce);
      const auto& stored = answer.responses.at(0).partition_responses.at(0);
      if (stored.error_code != ErrorCode::none)
        die_of(stored.error_message.value_or("a batch was refused"), stored.error_code);
    }
  }

  void add_partitions() {
    kafka::AddPartitionsToTxnRequest request;
    request.transactional_id = kTransactionalId;
    request.producer_id = producer_.id;
    request.producer_epoch = producer_.epoch;
    auto& topic = request.topics.emplace_back();
    topic.name = load_.topic;
    for (int32_t i = 0; i < load_.partitions; ++i) topic.partitions.push_back(PartitionIndex(i));
    const int64_t begun = now_ns();
    while (true) {
      send_request(socket_, request, kAddVersion);
      const auto added = read_response<kafka::AddPartitionsToTxnResponse>(socket_, kAddVersion);
      const ErrorCode code = added.results_by_topic.at(0).results_by_partition.at(0).partition_error_code;
      if (code == ErrorCode::none) break;
      if (code != ErrorCode::concurrent_transactions) die_of("partitions cannot be added", code);
      ++repeated_;
    }
    adds_.push_back(now_ns() - begun);
  }

  void commit() {
    kafka::EndTxnRequest request;
    request.transactional_id = kTransactionalId;
    request.producer_id = producer_.id;
    request.producer_epoch = producer_.epoch;
    request.committed = true;
    send_request(socket_, request, versions_.end);
    const auto ended = read_response<kafka::EndTxnResponse>(socket_, versions_.end);
    if (ended.error_code != ErrorCode::none) die_of("a transaction cannot be committed", ended.error_code);
    if (versions_.adds_partitions) return;
    producer_ = {ended.producer_id, ended.producer_epoch};
    std::ranges::fill(sequences_, 0);
  }

  static double median_us(std::vector<int64_t>& times) {
    if (times.empty()) return 0;
    const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
    std::ranges::nth_element(times, middle);
    return static_cast<double>(*middle) / 1000;
  }

  void report(int64_t nanoseconds) {
    const double seconds = static_cast<double>(nanoseconds) / 1e9;
    const double bytes = static_cast<double>(answered_) * static_cast<double>(produce_.batch_size());
    std::printf(
        "{\"bytes_per_second\": %.0f, \"transactions\": %zu, \"add_p50_us\": %.1f, \"flush_p50_us\": %.1f, "
        "\"commit_p50_us\": %.1f, \"repeated_adds\": %zu}\n",
        bytes / seconds, commits_.size(), median_us(adds_), median_us(flushes_), median_us(commits_), repeated_);
  }

  const TransactionLoad& load_;
  const Versions versions_;
  const int socket_;
  ProduceAgain produce_;
  std::vector<int32_t> sequences_;  // of each partition, the next one
  ProducerIdentity producer_;
  size_t turn_ = 0, sent_ = 0, answered_ = 0, repeated_ = 0;
  std::vector<int64_t> adds_, flushes_, commits_;
};

}  // namespace

void run_transactions(const TransactionLoad& load) {
  TransactionRun(load).run();
}

}  // namespace naru::bench
