#include "log_storage/producer_state.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "foundation/canary.h"

namespace naru {
namespace {

ProducerBatch as_known(const BatchHeader& stored) {
  const bool by_log = stored.timestamp_type() == TimestampType::log_append_time;
  return {.first_sequence = stored.base_sequence,
          .last_offset_delta = stored.last_offset_delta,
          .base_offset = stored.base_offset,
          .log_append_time_ms = by_log ? stored.max_timestamp : kNoTimestamp};
}

}  // namespace

int32_t sequence_after(int32_t sequence, int32_t steps) {
  constexpr int64_t kSequences = int64_t{std::numeric_limits<int32_t>::max()} + 1;
  return static_cast<int32_t>((int64_t{sequence} + steps) % kSequences);
}

const ProducerBatch* Producer::find(int32_t first_sequence, int32_t last_offset_delta) const {
  for (size_t i = 0; i < batch_count; ++i) {
    if (batches[i].first_sequence == first_sequence && batches[i].last_offset_delta == last_offset_delta) {
      return &batches[i];
    }
  }
  return nullptr;
}

void Producer::add(const ProducerBatch& batch) {
  if (batch_count == kWindow) {
    std::shift_left(batches.begin(), batches.end(), 1);
    --batch_count;
  }
  batches[batch_count++] = batch;
}

bool Producer::operator==(const Producer& other) const {
  return id == other.id && epoch == other.epoch && last_timestamp == other.last_timestamp &&
         last_append_ms == other.last_append_ms && transaction_start == other.transaction_start &&
         last_marker == other.last_marker && coordinator_epoch == other.coordinator_epoch &&
         std::equal(batches.begin(), batches.begin() + batch_count, other.batches.begin(),
                    other.batches.begin() + other.batch_count);
}

// --- Judging ---------------------------------------------------------------------------------------------------------

namespace {

Status out_of_order(const BatchHeader& header, int32_t expected) {
  return error(ErrorCode::out_of_order_sequence_number,
               "producer {} (epoch {}) sent a batch that begins with sequence {}, where {} was expected",
               header.producer_id, header.producer_epoch, header.base_sequence, expected);
}

Status not_in_transaction(const BatchHeader& header) {
  return error(ErrorCode::invalid_txn_state,
               "producer {} (epoch {}) has no open transaction here, and its coordinator was not asked for one",
               header.producer_id, header.producer_epoch);
}

Status check_transaction(const BatchHeader& header, const Producer& known, const AppendTerms& terms) {
  if (!known.in_transaction()) {
    return header.is_transactional() && !terms.may_open ? not_in_transaction(header) : Status();
  }
  if (!header.is_transactional()) {
    return error(ErrorCode::invalid_txn_state, "producer {} has an open transaction, and the batch is outside of it",
                 header.producer_id);
  }
  // Records of two epochs never belong to one transaction: the marker that ends the older one is missing.
  if (header.producer_epoch == known.epoch) return Status();
  return error(ErrorCode::invalid_txn_state, "producer {} has an open transaction of epoch {}, the batch has epoch {}",
               header.producer_id, known.epoch, header.producer_epoch);
}

Status check_sequence(const BatchHeader& header, const Producer& known, const AppendTerms& terms) {
  if (header.base_sequence < 0) return Status();  // of a coordinator
  int32_t expected = 0;
  if (header.producer_epoch == known.epoch) {
    if (known.batch_count == 0 && !terms.begins_at_zero) return Status();
    if (known.batch_count > 0) expected = sequence_after(known.last_sequence(), 1);
  }
  return header.base_sequence == expected ? Status() : out_of_order(header, expected);
}

}  // namespace

bool ProducerState::was_never_here(ProducerId id) const {
  return id >= complete_from() && !is_planted(Canary::new_producer_may_skip);
}

SequenceCheck ProducerState::check(const BatchHeader& header, const AppendTerms& terms) const {
  SequenceCheck result;
  if (header.producer_id < ProducerId(0)) return result;
  const Producer* known = find(header.producer_id);
  if (known == nullptr) {
    if (is_full()) {
      result.refused = error(ErrorCode::policy_violation, "all of {} producers have open transactions", size());
    } else if (header.is_transactional() && !terms.may_open) {
      result.refused = not_in_transaction(header);
    } else if (header.base_sequence > 0 && (terms.begins_at_zero || was_never_here(header.producer_id))) {
      result.refused = out_of_order(header, 0);
    }
    return result;
  }
  if (header.producer_epoch < known->epoch) {
    result.refused = error(ErrorCode::invalid_producer_epoch, "producer {} has epoch {} by now, the batch has {}",
                           header.producer_id, known->epoch, header.producer_epoch);
    return result;
  }
  if (header.producer_epoch == known->epoch && header.base_sequence >= 0) {
    const ProducerBatch* original = known->find(header.base_sequence, header.last_offset_delta);
    // One of a transaction that has ended does not come again: whoever ends it knows its batches or has given them up.
    // A client that has lost count of what it gave up sends something else under its number.
    const bool has_ended =
        original != nullptr && header.is_transactional() && original->base_offset < known->last_marker;
    if (original != nullptr && !has_ended) {
      result.duplicate = *original;
      return result;
    }
  }
  result.refused = check_transaction(header, *known, terms);
  if (result.refused.ok()) result.refused = check_sequence(header, *known, terms);
  return result;
}

Result<MarkerAction> ProducerState::check_marker(const ProducerIdentity& producer, const TransactionMarker& marker,
                                                 int16_t transaction_version) const {
  const Producer* known = find(producer.id);
  // Appended although there is nothing to end: it fences what may come late.
  if (known == nullptr) return MarkerAction::append;
  const bool is_repeat = producer.epoch == known->epoch && !known->in_transaction();
  const bool higher = producer.epoch > known->epoch;
  const bool may_end = higher || (transaction_version < 2 && producer.epoch == known->epoch);
  if (!may_end && !is_repeat) {
    return failure(ErrorCode::invalid_producer_epoch,
                   "producer {} has epoch {} by now; a marker of epoch {} does not end its transaction", producer.id,
                   known->epoch, producer.epoch);
  }
  if (marker.coordinator_epoch < known->coordinator_epoch) {
    return failure(ErrorCode::transaction_coordinator_fenced,
                   "a coordinator of epoch {} has ended a transaction of producer {}, the marker is of epoch {}",
                   known->coordinator_epoch, producer.id, marker.coordinator_epoch);
  }
  // What a new coordinator says is noted, so that its predecessor is fenced.
  const bool by_a_new_one = marker.coordinator_epoch > known->coordinator_epoch;
  return is_repeat && !by_a_new_one ? MarkerAction::nothing : MarkerAction::append;
}

// --- Noting ----------------------------------------------------------------------------------------------------------

ProducerState::Producers::iterator ProducerState::find_or_add(ProducerId id, ProducerEpoch epoch) {
  const auto known = by_id_.find(id);
  if (known != by_id_.end()) return known->second;
  const auto added = by_idleness_.insert(by_idleness_.end(), Producer{.id = id, .epoch = epoch, .batches = {}});
  by_id_.emplace(id, added);
  return added;
}

std::optional<TransactionEnd> ProducerState::apply(const BatchHeader& stored, RunningTimeMs now,
                                                   const std::optional<TransactionMarker>& marker) {
  const bool was_compacted = stored.records_count <= stored.last_offset_delta;
  if (was_compacted) forgotten_end_ = kNoneComplete;
  const bool of_producer = stored.base_sequence >= 0 || stored.is_transactional();
  if (stored.producer_id < ProducerId(0) || !of_producer) return std::nullopt;
  const auto at = find_or_add(stored.producer_id, stored.producer_epoch);
  Producer& producer = *at;
  Producers& before = list_of(producer);
  if (producer.epoch != stored.producer_epoch) {
    producer.epoch = stored.producer_epoch;
    producer.batch_count = 0;
  }
  producer.last_timestamp = stored.max_timestamp;
  producer.last_append_ms = now;

  std::optional<TransactionEnd> ended;
  if (stored.is_control()) {
    if (marker) ended = end_transaction(producer, stored.base_offset, *marker);
  } else {
    if (stored.base_sequence >= 0) producer.add(as_known(stored));
    // What compaction has emptied belongs to a transaction that has ended.
    if (stored.is_transactional() && stored.records_count > 0 && !producer.in_transaction()) {
      producer.transaction_start = stored.base_offset;
      open_.emplace(stored.base_offset, producer.id);
    }
  }
  Producers& after = list_of(producer);
  after.splice(after.end(), before, at);
  make_room(producer);
  return ended;
}

std::optional<TransactionEnd> ProducerState::end_transaction(Producer& producer, Offset marker_offset,
                                                             const TransactionMarker& marker) {
  producer.last_marker = marker_offset;
  producer.coordinator_epoch = marker.coordinator_epoch;
  if (!producer.in_transaction()) return std::nullopt;
  const Offset first = std::exchange(producer.transaction_start, kNoOffset);
  open_.erase(first);
  ended_.add({.first_offset = first, .marker_offset = marker_offset});
  return TransactionEnd{
      .producer_id = producer.id, .first_offset = first, .marker_offset = marker_offset, .result = marker.result};
}

bool ProducerState::in_transaction(const ProducerIdentity& producer) const {
  const Producer* known = find(producer.id);
  return known != nullptr && known->in_transaction() && known->epoch == producer.epoch;
}

Offset ProducerState::last_stable_offset(Offset high_watermark) const {
  Offset stable = high_watermark;
  if (is_planted(Canary::lso_is_high_watermark)) return stable;
  if (!open_.empty()) stable = std::min(stable, oldest_open() + (is_planted(Canary::lso_off_by_one) ? 1 : 0));
  if (const Offset ended = ended_.first_unstable(high_watermark); ended != kNoOffset) stable = std::min(stable, ended);
  return stable;
}

// --- Forgetting ------------------------------------------------------------------------------------------------------

size_t ProducerState::expire(RunningTimeMs now) {
  size_t expired = 0;
  while (!by_idleness_.empty() && now - by_idleness_.front().last_append_ms >= limits_.expiration_ms) {
    forget_longest_idle();
    ++expired;
  }
  return expired;
}

bool ProducerState::evict_longest_idle() {
  if (by_idleness_.size() < 2) return false;
  forget_longest_idle();
  ++evicted_;
  return true;
}

void ProducerState::make_room(const Producer& newest) {
  while (size() > limits_.max_producers && !by_idleness_.empty() && &by_idleness_.front() != &newest) {
    forget_longest_idle();
    ++evicted_;
  }
}

void ProducerState::forget_longest_idle() {
  const ProducerId id = by_idleness_.front().id;
  if (id >= forgotten_end_) forgotten_end_ = id + 1;
  by_id_.erase(id);
  by_idleness_.pop_front();
}

bool ProducerState::restore(const Producer& producer) {
  if (by_id_.contains(producer.id) || (producer.in_transaction() && open_.contains(producer.transaction_start))) {
    return false;
  }
  Producers& list = list_of(producer);
  list.push_back(producer);
  by_id_.emplace(producer.id, std::prev(list.end()));
  if (producer.in_transaction()) open_.emplace(producer.transaction_start, producer.id);
  make_room(list.back());
  return true;
}

ProducerState ProducerState::as_of(Offset start) const {
  ProducerState state(limits_);
  state.complete_from_ = complete_from_;
  state.forgotten_end_ = forgotten_end_;
  for (Producer producer : producers()) {
    while (producer.batch_count > 0 && producer.newest().next_offset() > start) --producer.batch_count;
    if (producer.transaction_start >= start) producer.transaction_start = kNoOffset;
    if (producer.last_marker >= start) {
      producer.last_marker = kNoOffset;
      producer.coordinator_epoch = -1;
    }
    state.restore(producer);
  }
  return state;
}

const Producer* ProducerState::find(ProducerId id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : &*found->second;
}

std::vector<std::reference_wrapper<const Producer>> ProducerState::producers() const {
  std::vector<std::reference_wrapper<const Producer>> all(by_idleness_.begin(), by_idleness_.end());
  all.insert(all.end(), in_transactions_.begin(), in_transactions_.end());
  return all;
}

}  // namespace naru
