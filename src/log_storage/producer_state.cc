#include "log_storage/producer_state.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "foundation/assert.h"

namespace naru {

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
         last_append_ms == other.last_append_ms &&
         std::equal(batches.begin(), batches.begin() + batch_count, other.batches.begin(),
                    other.batches.begin() + other.batch_count);
}

SequenceCheck ProducerState::check(const BatchHeader& header) const {
  SequenceCheck result;
  const Producer* known = header.producer_id < ProducerId(0) ? nullptr : find(header.producer_id);
  if (known == nullptr) return result;
  const auto out_of_order = [&](int32_t expected) {
    result.refused = error(ErrorCode::out_of_order_sequence_number,
                           "producer {} (epoch {}) sent a batch that begins with sequence {}, where {} was expected",
                           header.producer_id, header.producer_epoch, header.base_sequence, expected);
    return result;
  };
  if (header.producer_epoch < known->epoch) {
    result.refused = error(ErrorCode::invalid_producer_epoch, "producer {} has epoch {} by now, the batch has {}",
                           header.producer_id, known->epoch, header.producer_epoch);
    return result;
  }
  if (header.producer_epoch > known->epoch) return header.base_sequence == 0 ? result : out_of_order(0);
  if (const ProducerBatch* original = known->find(header.base_sequence, header.last_offset_delta)) {
    result.duplicate = *original;
    return result;
  }
  const int32_t expected = sequence_after(known->newest().last_sequence(), 1);
  return header.base_sequence == expected ? result : out_of_order(expected);
}

void ProducerState::apply(const BatchHeader& stored, WallTimeMs now) {
  // Batches of other producers, and the markers of transactions, which have no sequence.
  if (stored.producer_id < ProducerId(0) || stored.base_sequence < 0) return;
  const auto known = by_id_.find(stored.producer_id);
  if (known == by_id_.end()) {
    by_idleness_.push_back({.id = stored.producer_id, .epoch = stored.producer_epoch, .batches = {}});
    by_id_.emplace(stored.producer_id, std::prev(by_idleness_.end()));
  } else {
    by_idleness_.splice(by_idleness_.end(), by_idleness_, known->second);
  }
  Producer& producer = by_idleness_.back();
  if (producer.epoch != stored.producer_epoch) {
    producer.epoch = stored.producer_epoch;
    producer.batch_count = 0;
  }
  const bool by_log = stored.timestamp_type() == TimestampType::log_append_time;
  producer.add({.first_sequence = stored.base_sequence,
                .last_offset_delta = stored.last_offset_delta,
                .base_offset = stored.base_offset,
                .log_append_time_ms = by_log ? stored.max_timestamp : kNoTimestamp});
  producer.last_timestamp = stored.max_timestamp;
  producer.last_append_ms = now;
  while (by_idleness_.size() > limits_.max_producers && evict_longest_idle()) {
  }
}

size_t ProducerState::expire(WallTimeMs now) {
  size_t expired = 0;
  // A clock that was set back makes some of them wait for longer, which does no harm.
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

void ProducerState::forget_longest_idle() {
  by_id_.erase(by_idleness_.front().id);
  by_idleness_.pop_front();
}

bool ProducerState::restore(const Producer& producer) {
  NARU_ASSERT(producer.batch_count > 0, "producer {} without a batch", producer.id);
  if (by_id_.contains(producer.id)) return false;
  by_idleness_.push_back(producer);
  by_id_.emplace(producer.id, std::prev(by_idleness_.end()));
  while (by_idleness_.size() > limits_.max_producers && evict_longest_idle()) {
  }
  return true;
}

const Producer* ProducerState::find(ProducerId id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : &*found->second;
}

}  // namespace naru
