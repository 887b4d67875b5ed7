#include "fetch_sessions/fetch_session_slots.h"

#include <tuple>

#include "foundation/assert.h"

namespace naru {

FetchSessionSlots::Admission FetchSessionSlots::admit(int32_t id, size_t partitions, MonotonicTime now) {
  NARU_ASSERT(!sessions_.contains(id), "session {} has a slot already", id);
  if (slots_ == 0) return {};
  Admission admission{.granted = true};
  if (sessions_.size() >= slots_) {
    admission.evicted = find_victim(partitions, now);
    if (!admission.evicted) return {};
    sessions_.erase(*admission.evicted);
  }
  sessions_.emplace(id, Session{.created = now, .last_used = now, .partitions = partitions});
  return admission;
}

// Looks at all of them: only when every slot is taken and somebody new comes.
std::optional<int32_t> FetchSessionSlots::find_victim(size_t partitions, MonotonicTime now) const {
  std::optional<std::pair<MonotonicTime, int32_t>> stalest;
  std::optional<std::pair<size_t, int32_t>> smallest;
  for (const auto& [id, session] : sessions_) {
    if (now - session.last_used > min_age_ && (!stalest || session.last_used < stalest->first)) {
      stalest.emplace(session.last_used, id);
    }
    const bool evictable = now - session.created >= min_age_ && session.partitions < partitions;
    if (evictable && (!smallest || session.partitions < smallest->first)) smallest.emplace(session.partitions, id);
  }
  if (stalest) return stalest->second;
  if (smallest) return smallest->second;
  return std::nullopt;
}

void FetchSessionSlots::used(int32_t id, size_t partitions, MonotonicTime now) {
  const auto found = sessions_.find(id);
  if (found == sessions_.end()) return;
  found->second.last_used = now;
  found->second.partitions = partitions;
}

}  // namespace naru
