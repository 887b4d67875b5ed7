// One transaction on the metadata while it is being put together.
//
// Every such transaction compares the controller epoch, so that a controller that lost its office changes nothing, and
// the generation, so that it was planned on the newest image; and it counts the generation up.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "cluster_control/metadata_image.h"
#include "coordination_store/coordination_store.h"

namespace naru {

// So many buckets are changed in one step: each is encoded, and taken apart again for the image.
inline constexpr size_t kBucketsPerStep = 32;

// What one item of a request (one topic, say) changes: all of it goes into the same transaction.
struct MetadataChange {
  std::vector<Put> puts;
  std::vector<std::string> deletes;
  std::map<int32_t, PartitionBucket> buckets;  // new contents of partition_states/ keys

  bool empty() const { return puts.empty() && deletes.empty() && buckets.empty(); }
};

// The image outlives the draft.
class MetadataDraft {
 public:
  explicit MetadataDraft(const MetadataImage& image);

  // The generation that the transaction will make.
  int64_t next_generation() const { return image_.cluster().generation + 1; }
  // Buckets as they will be, with what was merged so far.
  const PartitionBucket& bucket(int32_t number) const;
  int32_t bucket_count() const;

  // False, and nothing is changed, if the transaction would become larger than the store allows.
  bool merge(MetadataChange change);
  bool empty() const { return puts_.empty() && deletes_.empty(); }
  Transaction finish() &&;

 private:
  const MetadataImage& image_;
  std::map<std::string, Put> puts_;
  std::set<std::string> deletes_;
  std::map<int32_t, PartitionBucket> buckets_;
  size_t bytes_ = 0;  // of puts_ and deletes_
};

}  // namespace naru
