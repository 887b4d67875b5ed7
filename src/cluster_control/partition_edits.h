// New states of single partitions on top of an image, bucket by bucket, for planners whose items name partitions.
#pragma once

#include <cstdint>
#include <map>

#include "cluster_control/metadata_draft.h"
#include "cluster_control/metadata_image.h"

namespace naru {

// The image outlives it.
class PartitionEdits {
 public:
  explicit PartitionEdits(const MetadataImage& image) : image_(image) {}

  // The state with the edits so far; nullptr when there is no such partition.
  const PartitionState* find(const Uuid& topic_id, PartitionIndex index) const;
  // A partition that exists.
  void set(PartitionState state);

  bool empty() const { return buckets_.empty(); }
  // Puts as many edited buckets into the draft as fit, kBucketsPerStep at most; returns the number of the first one
  // that does not, or kAllFit. Edits in buckets before it are in the draft.
  static constexpr int32_t kAllFit = INT32_MAX;
  int32_t merge_into(MetadataDraft& draft) const;

 private:
  const MetadataImage& image_;
  std::map<int32_t, PartitionBucket> buckets_;
};

}  // namespace naru
