#include "cluster_control/partition_sweep.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace naru {

std::optional<Transaction> PartitionSweep::plan(const MetadataImage& image) {
  begin_step(image);
  MetadataDraft draft(image);
  const size_t bucket_count = image.buckets().size();
  step_end_ = next_bucket_;
  changed_buckets_ = 0;
  const size_t longest = std::min(bucket_count, next_bucket_ + kBucketsLookedAt);
  while (step_end_ < longest && changed_buckets_ < kBucketsPerStep && sweep_bucket(image, step_end_, draft)) {
    ++step_end_;
  }
  step_is_last_ = false;
  if (step_end_ == bucket_count) {
    MetadataChange change;
    const bool nothing_left = last_change(image, change);
    step_is_last_ = draft.merge(std::move(change)) && nothing_left;
  }
  if (draft.empty()) return std::nullopt;
  return std::move(draft).finish();
}

bool PartitionSweep::sweep_bucket(const MetadataImage& image, size_t bucket, MetadataDraft& draft) {
  const PartitionBucket& before = *image.buckets()[bucket];
  PartitionBucket after;
  std::vector<size_t> changes;
  for (size_t i = 0; i < before.size(); ++i) {
    auto state = change(image, *before[i]);
    if (!state) continue;
    if (changes.empty()) after = before;
    after[i] = std::make_shared<const PartitionState>(std::move(*state));
    changes.push_back(i);
  }
  if (changes.empty()) return true;
  ++changed_buckets_;
  MetadataChange rewritten;
  rewritten.buckets.emplace(static_cast<int32_t>(bucket), after);
  if (!draft.merge(std::move(rewritten))) return false;
  for (const size_t i : changes) changed(image, *before[i], *after[i]);
  return true;
}

void PartitionSweep::committed() {
  next_bucket_ = step_end_;
  done_ = step_is_last_;
  step_committed();
}

void PartitionSweep::abandon(const Status& status) {
  done_ = true;
  status_ = status;
}

}  // namespace naru
