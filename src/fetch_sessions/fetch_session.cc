#include "fetch_sessions/fetch_session.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "foundation/assert.h"
#include "foundation/request_canary.h"

namespace naru {

int32_t FetchSession::epoch_after(int32_t epoch) {
  return epoch == std::numeric_limits<int32_t>::max() ? 1 : epoch + 1;
}

ErrorCode FetchSession::accept(int32_t epoch, bool by_topic_id) {
  if (epoch != next_epoch_) return ErrorCode::invalid_fetch_session_epoch;
  if (by_topic_id != by_topic_id_) return ErrorCode::fetch_session_topic_id_error;
  next_epoch_ = epoch_after(epoch);
  return ErrorCode::none;
}

// A name that comes along with an id is not part of the identity, and the other way round.
FetchSession::TopicKey FetchSession::key_of(std::string_view topic, const Uuid& topic_id) const {
  return by_topic_id_ ? TopicKey{std::string(), topic_id} : TopicKey{std::string(topic), Uuid()};
}

FetchSession::Slot FetchSession::new_slot() {
  ++partitions_;
  if (!free_slots_.empty()) {
    const Slot slot = free_slots_.back();
    free_slots_.pop_back();
    return slot;
  }
  entries_.emplace_back();
  return static_cast<Slot>(entries_.size() - 1);
}

FetchSession::Slot FetchSession::put(std::string_view topic, const Uuid& topic_id, PartitionIndex index,
                                     const FetchPosition& position) {
  TopicKey key = key_of(topic, topic_id);
  const auto [found, is_new] = topics_.try_emplace(key);
  Topic& in_session = found->second;
  if (is_new) {
    in_session.name = key.first;
    in_session.id = key.second;
  }
  const auto partition = in_session.partitions.find(index);
  const Slot slot = partition != in_session.partitions.end() ? partition->second : new_slot();
  if (partition == in_session.partitions.end()) {
    in_session.partitions.emplace(index, slot);
    entries_[slot] = Entry{.topic = &in_session, .index = index};
  }
  entries_[slot].position = position;
  make_due(slot);
  return slot;
}

std::optional<FetchSession::Slot> FetchSession::forget(std::string_view topic, const Uuid& topic_id,
                                                       PartitionIndex index) {
  const auto found = topics_.find(key_of(topic, topic_id));
  if (found == topics_.end()) return std::nullopt;
  const auto partition = found->second.partitions.find(index);
  if (partition == found->second.partitions.end()) return std::nullopt;
  const Slot slot = partition->second;
  found->second.partitions.erase(partition);
  if (is_planted(RequestCanary::session_forgets_by_walk)) {
    due_.remove(slot);
  } else if (entries_[slot].due) {
    due_.erase(entries_[slot].place_in_queue);
  }
  entries_[slot] = Entry{};
  if (found->second.partitions.empty()) topics_.erase(found);
  free_slots_.push_back(slot);
  --partitions_;
  return slot;
}

FetchSession::Place FetchSession::place(Slot slot) const {
  const Entry& entry = entries_[slot];
  NARU_ASSERT(entry.topic != nullptr, "slot {} is not in use", slot);
  return {.topic = entry.topic->name, .topic_id = entry.topic->id, .index = entry.index, .position = entry.position};
}

void FetchSession::make_due(Slot slot) {
  if (std::exchange(entries_[slot].due, true)) return;
  entries_[slot].place_in_queue = due_.insert(due_.end(), slot);
}

void FetchSession::news(Slot slot) {
  if (slot < entries_.size() && entries_[slot].topic != nullptr) make_due(slot);
}

bool FetchSession::must_tell(Slot slot, const FetchSeen& seen) const {
  const Entry& entry = entries_[slot];
  return seen.has_records || seen.diverges || seen.elsewhere || seen.asks || seen.error != ErrorCode::none ||
         seen.high_watermark != entry.told_high_watermark || seen.log_start_offset != entry.told_log_start_offset;
}

bool FetchSession::has_other_start(Slot slot, Offset log_start) const {
  const Offset told = entries_[slot].told_log_start_offset;
  return told != kNoOffset && told != log_start;
}

void FetchSession::commit(std::span<const Look> looks) {
  NARU_ASSERT(looks.size() == due_.size(), "{} partitions were looked at, {} are due", looks.size(), due_.size());
  for (const Look& look : looks) {
    Entry& entry = entries_[look.slot];
    NARU_ASSERT(entry.due, "slot {} was looked at but is not due", look.slot);
    entry.told_high_watermark = look.seen.high_watermark;
    entry.told_log_start_offset = look.seen.log_start_offset;
    // When the error goes away, the client is told that it did. A replica that cuts its log back takes nothing else
    // from the answer, neither the high watermark nor the start of the log.
    const bool failed = look.seen.error != ErrorCode::none;
    if (failed || look.seen.diverges) entry.told_high_watermark = kNoOffset;
    entry.due = failed || look.seen.diverges || look.seen.more_to_read;
    if (!entry.due) {
      due_.erase(entry.place_in_queue);
    } else if (look.seen.has_records) {
      due_.splice(due_.end(), due_, entry.place_in_queue);
    }
  }
}

}  // namespace naru
