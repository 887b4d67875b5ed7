#include "consumer_groups/offsets/offset_sweeps.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "consumer_groups/offsets/group_offsets.h"
#include "foundation/request_canary.h"

namespace naru {
namespace {

size_t offsets_per_step() {
  return is_planted(RequestCanary::offsets_in_one_step) ? std::numeric_limits<size_t>::max() : kOffsetsPerStep;
}

GroupPartition first_partition_of(std::string topic) {
  return {std::move(topic), PartitionIndex(std::numeric_limits<int32_t>::min())};
}

// Everything that is known about the partition was committed for that topic.
bool all_belongs_to(const OffsetKey& key, const Uuid& topic_id, const GroupStore& store) {
  const GroupOffsets& offsets = store.offsets_of(key.group_id);
  const auto committed = offsets.find(key.partition);
  if (committed != offsets.end() && !committed->second.belongs_to(topic_id)) return false;
  const auto& pending = store.pending().of_group(key.group_id);
  const auto staged = pending.find(key.partition);
  if (staged == pending.end()) return true;
  return std::ranges::all_of(staged->second, [&](const auto& each) { return each.committed.belongs_to(topic_id); });
}

}  // namespace

TopicRemoval::TopicRemoval(std::vector<FormerTopic> topics)
    : topics_(std::move(topics)), at_{.group_id = {}, .partition = first_partition_of({})} {
  std::ranges::sort(topics_, {}, &FormerTopic::name);
}

bool TopicRemoval::next(GroupStep& step) {
  looked_at_ = 0;
  std::vector<Found> found;
  if (stage_ == Stage::committed && collect(step.store.all().offsets, found)) {
    stage_ = Stage::pending;
    at_ = {.group_id = {}, .partition = first_partition_of({})};
  } else if (stage_ == Stage::pending && collect(step.store.pending().all(), found)) {
    stage_ = Stage::done;
  }
  for (const auto& [key, topic_id] : found) {
    // The tombstone would take what was committed for the next topic along; what is left of this one expires.
    if (all_belongs_to(key, topic_id, step.store)) remove_offset(key.group_id, key.partition, step);
  }
  return stage_ != Stage::done;
}

// True: all groups were looked at.
template <class ByGroup>
bool TopicRemoval::collect(const ByGroup& groups, std::vector<Found>& found) {
  for (auto group = groups.lower_bound(at_.group_id); group != groups.end(); ++group) {
    if (group->first != at_.group_id) at_ = {.group_id = group->first, .partition = first_partition_of({})};
    if (++looked_at_ > offsets_per_step()) return false;
    if (!collect_group(group->first, group->second, found)) return false;
  }
  return true;
}

// Both are sorted by topic: from the next of one to the next of the other.
template <class ByPartition>
bool TopicRemoval::collect_group(const std::string& group_id, const ByPartition& partitions,
                                 std::vector<Found>& found) {
  auto each = partitions.lower_bound(at_.partition);
  while (each != partitions.end()) {
    const auto topic = std::ranges::lower_bound(topics_, each->first.topic, {}, &FormerTopic::name);
    if (topic == topics_.end()) return true;
    if (++looked_at_ > offsets_per_step()) {
      at_.partition = each->first;
      return false;
    }
    if (topic->name != each->first.topic) {
      each = partitions.lower_bound(first_partition_of(topic->name));
      continue;
    }
    for (auto same = topic; same != topics_.end() && same->name == topic->name; ++same) {
      found.push_back({{group_id, each->first}, same->id});
    }
    ++each;
  }
  return true;
}

bool ExpirySweep::next(const HolderOf& holder_of, const UnreadRecords& unread, WallTimeMs now, GroupStep& step) {
  size_t looked_at = 0;
  std::vector<OffsetKey> expired;
  const auto look_at_group = [&](const std::string& group_id, const GroupOffsets& offsets) {
    const OffsetHolder holder = holder_of(group_id);
    for (auto each = offsets.lower_bound(at_.partition); each != offsets.end(); ++each) {
      if (++looked_at > kOffsetsPerStep) {
        at_.partition = each->first;
        return false;
      }
      if (!is_expired(each->first, each->second, holder, unread, step.settings.offsets_retention, now)) continue;
      // A transaction is about to commit another one.
      if (!step.store.pending().contains(group_id, each->first)) expired.push_back({group_id, each->first});
    }
    return true;
  };
  const auto& groups = step.store.all().offsets;
  bool more = false;
  for (auto group = groups.lower_bound(at_.group_id); group != groups.end() && !more; ++group) {
    if (group->first != at_.group_id) at_ = {.group_id = group->first, .partition = first_partition_of({})};
    more = !look_at_group(group->first, group->second);
  }
  for (const OffsetKey& key : expired) remove_offset(key.group_id, key.partition, step);
  return more;
}

}  // namespace naru
