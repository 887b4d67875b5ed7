#include "replication/transaction_guards.h"

#include <algorithm>
#include <iterator>

#include "foundation/canary.h"

namespace naru {
namespace {

// Sequences wrap: of two that are in flight together, the one from which the other is the shorter way ahead.
bool is_earlier(int32_t sequence, int32_t other) {
  constexpr uint32_t kSequences = 1u << 31;
  const uint32_t ahead = (static_cast<uint32_t>(other) - static_cast<uint32_t>(sequence)) % kSequences;
  return ahead != 0 && ahead < kSequences / 2;
}

}  // namespace

const TransactionGuards::Entry* TransactionGuards::find(ProducerId id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : &*found->second;
}

TransactionGuards::Entry& TransactionGuards::touch(ProducerId id) {
  const auto known = by_id_.find(id);
  if (known != by_id_.end()) {
    entries_.splice(entries_.end(), entries_, known->second);
    return entries_.back();
  }
  if (entries_.size() >= kMaxProducers) {
    const auto without_open = std::ranges::find(entries_, kNoTransactionNumber, &Entry::number);
    const auto forgotten = without_open == entries_.end() ? entries_.begin() : without_open;
    by_id_.erase(forgotten->id);
    entries_.erase(forgotten);
  }
  entries_.push_back({.id = id});
  by_id_.emplace(id, std::prev(entries_.end()));
  return entries_.back();
}

VerificationGuard TransactionGuards::begin(const ProducerIdentity& producer, int32_t base_sequence) {
  Entry& entry = touch(producer.id);
  if (entry.guard == 0 || entry.guarded_epoch != producer.epoch) {
    entry.guard = ++last_guard_;
    entry.guarded_epoch = producer.epoch;
    entry.lowest_sequence = base_sequence;
  } else if (base_sequence >= 0 && is_earlier(base_sequence, entry.lowest_sequence)) {
    entry.lowest_sequence = base_sequence;
  }
  return entry.guard;
}

bool TransactionGuards::holds(const ProducerIdentity& producer, VerificationGuard guard) const {
  const Entry* entry = find(producer.id);
  return guard != 0 && entry != nullptr && entry->guard == guard && entry->guarded_epoch == producer.epoch;
}

bool TransactionGuards::comes_too_early(const ProducerIdentity& producer, int32_t base_sequence) const {
  const Entry* entry = find(producer.id);
  if (entry == nullptr || entry->guard == 0 || entry->guarded_epoch != producer.epoch) return false;
  return entry->lowest_sequence >= 0 && base_sequence >= 0 && is_earlier(entry->lowest_sequence, base_sequence);
}

void TransactionGuards::opened(const ProducerIdentity& producer, TransactionNumber number) {
  Entry& entry = touch(producer.id);
  entry.guard = 0;
  entry.number = number;
}

void TransactionGuards::ended(const ProducerIdentity& marker, TransactionNumber number, int16_t transaction_version) {
  if (has_ended(marker.id, number)) return;
  Entry& entry = touch(marker.id);
  const bool ends_guard = transaction_version < 2 && !is_planted(Canary::version_1_guard_kept);
  if (ends_guard || entry.guarded_epoch != marker.epoch) entry.guard = 0;
  entry.ended = std::max({entry.ended, entry.number, number});
  entry.number = kNoTransactionNumber;
}

bool TransactionGuards::has_ended(ProducerId producer, TransactionNumber number) const {
  const Entry* entry = find(producer);
  return entry != nullptr && number != kNoTransactionNumber && number <= entry->ended;
}

TransactionNumber TransactionGuards::number(ProducerId producer) const {
  const Entry* entry = find(producer);
  return entry == nullptr ? kNoTransactionNumber : entry->number;
}

bool TransactionGuards::comes_late(const ProducerIdentity& producer, uint64_t connection) const {
  const Entry* entry = find(producer.id);
  return entry != nullptr && entry->heard_epoch == producer.epoch && connection < entry->connection;
}

void TransactionGuards::appended(const ProducerIdentity& producer, uint64_t connection) {
  Entry& entry = touch(producer.id);
  entry.heard_epoch = producer.epoch;
  entry.connection = connection;
}

void TransactionGuards::clear() {
  entries_.clear();
  by_id_.clear();
}

}  // namespace naru
