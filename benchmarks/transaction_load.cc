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
// Clients put what they have for several partitions into one request, up to 1 MB.
constexpr size_t kBatchesPerRequest = 10;

// The requests of a version of transactions. From the second on, producing adds the partition.
struct Versions {
  int16_t produce;
  int16_t end;
  bool adds_partitions;
};
constexpr Versions kVersion1{.produce = 9, .end = 3, .adds_partitions = true};
constexpr Versions kVersion2{.produce = 12, .end = 5, .adds_partitions = false};

// One request with a batch for each of some partitions, sent again and again: only what differs is written anew.
class ProduceAgain {
 public:
  ProduceAgain(const TransactionLoad& load, size_t batches, bool transactional, int16_t version)
      : batch_size_(make_batch(load.records, load.message_bytes).size()) {
    const Bytes batch = [&] {
      Bytes made = make_batch(load.records, load.message_bytes);
      const auto attributes = load_big_endian<int16_t>(&made[batch_field::kAttributes]);
      const int16_t added = transactional ? batch_attribute::kTransactional : int16_t{0};
      store_big_endian<int16_t>(&made[batch_field::kAttributes], attributes | added);
      return made;
    }();
    kafka::ProduceRequest request;
    if (transactional) request.transactional_id = kTransactionalId;
    request.acks = -1;
    request.timeout_ms = 30'000;
    auto& topic = request.topic_data.emplace_back();
    topic.name = load.topic;
    for (size_t i = 0; i < batches; ++i) topic.partition_data.emplace_back().records = batch;
    frame_ = kafka::encode_request_frame(request, version, 0, "bench").bytes;
    find_batches(batches, batch);
  }

  size_t batches() const { return batch_at_.size(); }
  size_t batch_size() const { return batch_size_; }

  void address(size_t which, int32_t partition, ProducerIdentity producer, int32_t sequence) {
    std::byte* at = &frame_[batch_at_[which]];
    store_big_endian(at - before_batch_, partition);
    store_big_endian(at + batch_field::kProducerId, producer.id.value());
    store_big_endian(at + batch_field::kProducerEpoch, producer.epoch.value());
    store_big_endian(at + batch_field::kBaseSequence, sequence);
    seal_batch(batch(which));
  }
  void send(int socket) const { write_all(socket, frame_.data(), frame_.size()); }

 private:
  // A partition is its index, the length of its batch, the batch, and no tags. The topic and the request have none
  // either.
  void find_batches(size_t batches, BytesView expected) {
    constexpr size_t kNoTags = 1;
    size_t length_bytes = 1;
    for (size_t rest = (batch_size_ + 1) >> 7; rest > 0; rest >>= 7) ++length_bytes;
    before_batch_ = sizeof(int32_t) + length_bytes;
    const size_t partition_size = before_batch_ + batch_size_ + kNoTags;
    const size_t first = frame_.size() - 2 * kNoTags - batches * partition_size;
    for (size_t i = 0; i < batches; ++i) batch_at_.push_back(first + i * partition_size + before_batch_);
    for (size_t i = 0; i < batches; ++i) {
      if (!equal_bytes(batch(i), expected)) die("finding the batches in their request");
    }
  }
  MutableBytesView batch(size_t which) { return MutableBytesView(frame_).subspan(batch_at_[which], batch_size_); }

  const size_t batch_size_;
  Bytes frame_;
  std::vector<size_t> batch_at_;
  size_t before_batch_ = 0;  // from the partition's index to its batch
};

class TransactionRun {
 public:
  explicit TransactionRun(const TransactionLoad& load)
      : load_(load),
        versions_(load.version == 2 ? kVersion2 : kVersion1),
        socket_(connect_to(load.port)),
        sequences_(static_cast<size_t>(load.partitions), 0),
        produce_(load, std::min(sequences_.size(), kBatchesPerRequest), load.commit_ms > 0, versions_.produce) {}

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
    send_until(commit_at, (sequences_.size() + produce_.batches() - 1) / produce_.batches());
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
      for (size_t i = 0; i < produce_.batches(); ++i) {
        const size_t partition = turn_++ % sequences_.size();
        produce_.address(i, static_cast<int32_t>(partition), producer_, sequences_[partition]);
        sequences_[partition] += static_cast<int32_t>(load_.records);
      }
      produce_.send(socket_);
      ++sent_;
    }
  }

  // Until there are no more than `left`.
  void take_answers(size_t left) {
    for (; sent_ - answered_ > left; ++answered_) {
      const auto answer = read_response<kafka::ProduceResponse>(socket_, versions_.produce);
      for (const auto& stored : answer.responses.at(0).partition_responses) {
        if (stored.error_code == ErrorCode::none) continue;
        die_of(stored.error_message.value_or("a batch was refused"), stored.error_code);
      }
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
    const double bytes = static_cast<double>(answered_ * produce_.batches() * produce_.batch_size());
    std::printf(
        "{\"bytes_per_second\": %.0f, \"transactions\": %zu, \"add_p50_us\": %.1f, \"flush_p50_us\": %.1f, "
        "\"commit_p50_us\": %.1f, \"repeated_adds\": %zu}\n",
        bytes / seconds, commits_.size(), median_us(adds_), median_us(flushes_), median_us(commits_), repeated_);
  }

  const TransactionLoad& load_;
  const Versions versions_;
  const int socket_;
  std::vector<int32_t> sequences_;  // of each partition, the next one
  ProduceAgain produce_;
  ProducerIdentity producer_;
  size_t turn_ = 0, sent_ = 0, answered_ = 0, repeated_ = 0;
  std::vector<int64_t> adds_, flushes_, commits_;
};

}  // namespace

void run_transactions(const TransactionLoad& load) {
  TransactionRun(load).run();
}

}  // namespace naru::bench
