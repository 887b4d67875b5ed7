#include "consumer_groups/offsets/transactional_producers.h"

#include <algorithm>
#include <chrono>

#include "foundation/assert.h"

namespace naru {
namespace {

// A log has no place for negative ones, so that nobody with one can be in a transaction.
ErrorCode why_nobody(const ProducerIdentity& producer) {
  if (producer.id < ProducerId(0)) return ErrorCode::invalid_producer_id_mapping;
  return producer.epoch < ProducerEpoch(0) ? ErrorCode::invalid_producer_epoch : ErrorCode::none;
}

}  // namespace

void TransactionalProducers::apply_pending(const ProducerIdentity& producer, TransactionNumber number) {
  Producer& known = producers_[producer.id];
  if (!known.open) ended_.erase(known.ended_at);
  if (known.epoch != producer.epoch) known.connection = 0;
  known.epoch = producer.epoch;
  known.open = true;
  if (number != kNoTransactionNumber) known.transaction_number = number;
}

void TransactionalProducers::apply_marker(const ProducerIdentity& producer, const TransactionMarker& marker,
                                          TransactionNumber number) {
  Producer& known = producers_[producer.id];
  if (known.epoch != producer.epoch) known.connection = 0;
  known.epoch = producer.epoch;
  known.coordinator_epoch = marker.coordinator_epoch;
  const bool is_repeated = !known.open && known.has_ended(number);
  known.ended_number = std::max({known.ended_number, known.transaction_number, number});
  known.transaction_number = kNoTransactionNumber;
  if (!is_repeated) note_end(known, producer.id);  // else guards for the next one have been given since
}

void TransactionalProducers::note_end(Producer& producer, ProducerId id) {
  if (!producer.open) ended_.erase(producer.ended_at);
  producer.open = false;
  producer.ended_at = ++clock_;
  ended_.emplace(producer.ended_at, id);
  if (ended_.size() <= ended_max_) return;
  const auto oldest = ended_.begin();
  forgotten_until_ = oldest->first;
  producers_.erase(oldest->second);
  ended_.erase(oldest);
}

void TransactionalProducers::loaded(MonotonicTime now) {
  // Another shard of this process has given guards before, and fewer of them than nanoseconds have passed.
  const auto nanoseconds = std::chrono::duration_cast<std::chrono::nanoseconds>(now.time_since_epoch()).count();
  clock_ = std::max(clock_, static_cast<uint64_t>(std::max<int64_t>(nanoseconds, 0)));
  loaded_at_ = clock_;
}

const TransactionalProducers::Producer* TransactionalProducers::find(ProducerId producer) const {
  const auto found = producers_.find(producer);
  return found == producers_.end() ? nullptr : &found->second;
}

bool TransactionalProducers::has_open(ProducerId producer) const {
  const Producer* known = find(producer);
  return known != nullptr && known->open;
}

CommitVerification TransactionalProducers::begin_verification(const ProducerIdentity& producer) {
  if (const ErrorCode error = why_nobody(producer); error != ErrorCode::none) return {.error = error};
  const Producer* known = find(producer.id);
  if (known != nullptr && producer.epoch < known->epoch) return {.error = ErrorCode::invalid_producer_epoch};
  if (known != nullptr && known->open && producer.epoch == known->epoch) return {};
  return {.guard = ++clock_};
}

bool TransactionalProducers::guard_holds(uint64_t guard, const Producer* producer) const {
  return guard > loaded_at_ && guard > (producer == nullptr ? forgotten_until_ : producer->ended_at);
}

ErrorCode TransactionalProducers::check_commit(const TransactionalCommit& request) const {
  if (const ErrorCode error = why_nobody(request.producer); error != ErrorCode::none) return error;
  const Producer* known = find(request.producer.id);
  if (known != nullptr) {
    if (request.producer.epoch < known->epoch) return ErrorCode::invalid_producer_epoch;
    const bool is_same = request.producer.epoch == known->epoch;
    // With one epoch for all transactions only the connection tells that it was meant for an earlier one.
    const bool is_late = is_same && request.connection != 0 && request.connection < known->connection;
    if (is_late) return ErrorCode::invalid_txn_state;
    if (known->open) return is_same ? ErrorCode::none : ErrorCode::concurrent_transactions;
  }
  if (!guard_holds(request.guard, known)) return ErrorCode::invalid_txn_state;
  // Whoever has confirmed it was replaced, and did not know how it has ended; the one of now may confirm another one.
  const bool was_replaced =
      known != nullptr && request.coordinator_epoch >= 0 && request.coordinator_epoch < known->coordinator_epoch;
  const bool is_over = known != nullptr && known->has_ended(request.transaction_number);
  return was_replaced || is_over ? ErrorCode::concurrent_transactions : ErrorCode::none;
}

void TransactionalProducers::note_connection(const ProducerIdentity& producer, uint64_t connection) {
  const auto known = producers_.find(producer.id);
  NARU_ASSERT(known != producers_.end(), "nothing was applied of producer {}", producer.id);
  known->second.connection = std::max(known->second.connection, connection);
}

TransactionalProducers::MarkerJudgement TransactionalProducers::judge(const WriteMarker& request) const {
  if (const ErrorCode error = why_nobody(request.producer); error != ErrorCode::none) return {.error = error};
  const Producer* known = find(request.producer.id);
  if (known == nullptr) return {.is_needed = true};
  const TransactionNumber number = request.transaction_number;
  const bool has_ended = known->has_ended(number);
  // Of one that has ended before the open one was begun.
  const bool is_late =
      known->open && number != kNoTransactionNumber && (has_ended || number < known->transaction_number);
  if (is_late) return {};
  const bool must_be_newer = known->open && request.transaction_version >= 2;
  const ProducerEpoch epoch = request.producer.epoch;
  if (epoch < known->epoch || (must_be_newer && epoch == known->epoch)) {
    return {.error = ErrorCode::invalid_producer_epoch};
  }
  if (request.marker.coordinator_epoch < known->coordinator_epoch) {
    return {.error = ErrorCode::transaction_coordinator_fenced};
  }
  // A new coordinator is noted, so that its predecessor is fenced.
  const bool is_news = epoch > known->epoch || request.marker.coordinator_epoch > known->coordinator_epoch;
  return {.is_needed = known->open || is_news || !has_ended};
}

}  // namespace naru
