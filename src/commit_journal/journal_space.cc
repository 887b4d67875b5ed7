#include "commit_journal/journal_space.h"

#include <algorithm>

#include "foundation/assert.h"

namespace naru {

std::optional<JournalSpace::Place> JournalSpace::find_place(uint64_t bytes, uint64_t head, uint64_t kept_from,
                                                            uint64_t reserve) const {
  const uint64_t length = round_up_to_blocks(bytes);
  if (length + reserve > ring_bytes_) return std::nullopt;
  uint64_t position = head;
  // Rounds lie in one piece.
  const uint64_t left_in_lap = ring_bytes_ - position % ring_bytes_;
  if (length > left_in_lap) position += left_in_lap;
  if (position + length + reserve > kept_from + ring_bytes_) return std::nullopt;
  return Place{next_sequence_, position, previous_position_, tail()};
}

bool JournalSpace::mark_would_help(uint64_t bytes) const {
  return tail() > recorded_tail_ && find_place(bytes, head_ + kJournalBlock, tail(), kReserve).has_value();
}

JournalSpace::Place JournalSpace::place_of_mark() const {
  const auto place = find_place(kJournalRoundHeaderBytes, head_, recorded_tail_, 0);
  NARU_ASSERT(place.has_value(), "no room for a mark at {}, kept from {}", head_, recorded_tail_);
  return *place;
}

void JournalSpace::committed(const Place& place, uint64_t bytes) {
  NARU_ASSERT(place.sequence == next_sequence_, "round {} instead of {}", place.sequence, next_sequence_);
  head_ = place.position + round_up_to_blocks(bytes);
  recorded_tail_ = place.tail;
  previous_position_ = place.position;
  ++next_sequence_;
}

void JournalSpace::added(JournalTrack& log, Offset end, uint64_t truncations) {
  if (log.number == 0) log.number = next_number_++;
  // What was added before a truncation is void.
  if (log.tracked && log.truncations != truncations) forget(log);
  if (!log.tracked) pin(log, head_);
  log.last_end = end;
  log.truncations = truncations;
}

void JournalSpace::synced(JournalTrack& log, uint64_t sync_begun_at, Offset synced_end, uint64_t truncations) {
  if (!log.tracked) return;
  const bool all_covered = log.last_end <= synced_end || log.truncations != truncations;
  if (all_covered) return forget(log);
  // What is not covered was added after the sync had begun.
  if (sync_begun_at > log.first_position) {
    forget(log);
    pin(log, sync_begun_at);
  }
}

void JournalSpace::pin(JournalTrack& log, uint64_t position) {
  log.tracked = true;
  log.first_position = position;
  pins_.emplace(position, log.number);
}

void JournalSpace::forget(JournalTrack& log) {
  if (!log.tracked) return;
  pins_.erase({log.first_position, log.number});
  log.tracked = false;
}

std::vector<uint64_t> JournalSpace::pinning_before(uint64_t position) const {
  std::vector<uint64_t> numbers;
  for (auto at = pins_.begin(); at != pins_.end() && at->first < position; ++at) numbers.push_back(at->second);
  return numbers;
}

}  // namespace naru
