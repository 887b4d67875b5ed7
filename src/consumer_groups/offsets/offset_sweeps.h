// Looking through the offsets of all groups of a shard, in steps: there may be millions, and requests of others come
// between two steps. What happens in between is seen or not; what has to be right does not depend on it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "consumer_groups/group_messages.h"
#include "consumer_groups/group_records.h"
#include "consumer_groups/group_step.h"
#include "consumer_groups/offsets/offset_expiry.h"
#include "consumer_groups/offsets/unread_records.h"

namespace naru {

// So many groups and offsets are looked at in one step, about.
inline constexpr size_t kOffsetsPerStep = 1000;

// Removes what groups have committed for topics that were deleted, and what is pending for them. What was committed for
// another topic of the same name stays. A group is looked at no longer than its offsets or the topics take, whichever
// are fewer.
class TopicRemoval {
 public:
  explicit TopicRemoval(std::vector<FormerTopic> topics);

  // True: there is more to do.
  bool next(GroupStep& step);

 private:
  struct Found {
    OffsetKey key;
    Uuid topic_id;
  };

  template <class ByGroup>
  bool collect(const ByGroup& groups, std::vector<Found>& found);
  template <class ByPartition>
  bool collect_group(const std::string& group_id, const ByPartition& partitions, std::vector<Found>& found);

  std::vector<FormerTopic> topics_;  // by name
  enum class Stage : uint8_t { committed, pending, done } stage_ = Stage::committed;
  OffsetKey at_;  // where the next step begins
  size_t looked_at_ = 0;
};

// Removes offsets that nobody needs any more (offset_expiry.h).
class ExpirySweep {
 public:
  using HolderOf = std::function<OffsetHolder(std::string_view group_id)>;

  // True: there is more to do.
  bool next(const HolderOf& holder_of, const UnreadRecords& unread, WallTimeMs now, GroupStep& step);

 private:
  OffsetKey at_;
};

}  // namespace naru
