// When a group's offsets are not needed any more.
//
// An offset goes when the group has had no members for offsets.retention.minutes (a group that never had any: since the
// commit), or when the time is over that an old client asked for itself; and in both cases only if the group has read
// everything that is still in the log, so that nobody who comes back late begins elsewhere than where he stopped.
// Offsets of topics that are gone go too, also if there is another topic of that name now.
#pragma once

#include <optional>

#include "consumer_groups/group_messages.h"
#include "consumer_groups/group_store.h"
#include "consumer_groups/offsets/unread_records.h"
#include "foundation/time.h"

namespace naru {

// Whose offsets they are.
struct OffsetHolder {
  bool has_members = false;
  std::optional<WallTimeMs> empty_since;  // none: never had members, or it is not known
};

bool is_expired(const GroupPartition& partition, const CommittedOffset& committed, const OffsetHolder& holder,
                const UnreadRecords& unread, Milliseconds retention, WallTimeMs now);

}  // namespace naru
