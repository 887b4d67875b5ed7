#include "cluster_control/partition_edits.h"

#include <algorithm>
#include <utility>

#include "foundation/assert.h"

namespace naru {
namespace {

template <class Bucket>
auto find_in_bucket(Bucket& bucket, const Uuid& topic_id, PartitionIndex index) {
  return std::ranges::find_if(
      bucket, [&](const PartitionStatePtr& state) { return state->index == index && state->topic_id == topic_id; });
}

}  // namespace

const PartitionState* PartitionEdits::find(const Uuid& topic_id, PartitionIndex index) const {
  const TopicMetadata* topic = image_.find_topic(topic_id);
  const PartitionState* stored = topic == nullptr ? nullptr : topic->partition(index);
  if (stored == nullptr) return nullptr;
  const auto edited = buckets_.find(stored->bucket);
  return edited == buckets_.end() ? stored : find_in_bucket(edited->second, topic_id, index)->get();
}

void PartitionEdits::set(PartitionState state) {
  auto edited = buckets_.find(state.bucket);
  if (edited == buckets_.end()) {
    edited = buckets_.emplace(state.bucket, *image_.buckets()[static_cast<size_t>(state.bucket)]).first;
  }
  const auto at = find_in_bucket(edited->second, state.topic_id, state.index);
  NARU_ASSERT(at != edited->second.end(), "partition {} is not in bucket {}", state.index, state.bucket);
  *at = std::make_shared<const PartitionState>(std::move(state));
}

int32_t PartitionEdits::merge_into(MetadataDraft& draft) const {
  size_t merged = 0;
  for (const auto& [number, bucket] : buckets_) {
    if (merged++ == kBucketsPerStep) return number;
    MetadataChange change;
    change.buckets.emplace(number, bucket);
    if (!draft.merge(std::move(change))) return number;
  }
  return kAllFit;
}

}  // namespace naru
