// What this broker follows, as the metadata says, and how that changes from one image to the next.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>

#include "broker/replica_fetcher.h"
#include "cluster_control/metadata_image.h"

namespace naru {

// Looks at the topics that changed, and at all of them only when a broker has come, gone or moved. One caller at a
// time.
class FollowedPartitions {
 public:
  // The partition that is served here; none if it is not.
  using FindPartition = std::function<std::shared_ptr<Partition>(const Uuid& topic_id, PartitionIndex index)>;
  FollowedPartitions(BrokerId self, FindPartition find) : self_(self), find_(std::move(find)) {}

  // Partitions of these topics are other objects than before, though the image says nothing new of them.
  void look_again_at(const std::set<Uuid>& topics);

  // What is different from the image before.
  FollowChanges update(MetadataImagePtr image);

 private:
  std::vector<TopicMetadataPtr> to_be_looked_at(const MetadataImage& image);
  void look(const MetadataImage& image, const TopicMetadata& topic, FollowChanges& changes);
  std::optional<FollowedPartition> followed(const MetadataImage& image, const TopicMetadata& topic,
                                            const PartitionState& state);
  void drop(const PartitionKey& key, FollowChanges& changes);

  const BrokerId self_;
  const FindPartition find_;
  MetadataImagePtr image_ = std::make_shared<const MetadataImage>();
  std::map<PartitionKey, FollowedPartition> followed_;
  std::set<Uuid> unserved_;  // topics with partitions that belong here and could not be opened so far, or just were
};

}  // namespace naru
