#include "consumer_groups/offsets/offset_expiry.h"

#include <algorithm>

namespace naru {
namespace {

bool time_is_over(const CommittedOffset& committed, const OffsetHolder& holder, Milliseconds retention,
                  WallTimeMs now) {
  if (committed.expires_at) return *committed.expires_at <= now;
  // Somebody may have set it after the members had gone: that counts as a use of the group.
  const WallTimeMs unused_since = std::max(committed.committed_at, holder.empty_since.value_or(committed.committed_at));
  return unused_since <= now - retention.count();
}

}  // namespace

bool is_expired(const GroupPartition& partition, const CommittedOffset& committed, const OffsetHolder& holder,
                const UnreadRecords& unread, Milliseconds retention, WallTimeMs now) {
  if (!unread.topic_exists(partition.topic, committed)) return true;
  const bool unused = !holder.has_members && time_is_over(committed, holder, retention, now);
  return unused && !unread.has_unread(partition, committed);
}

}  // namespace naru
