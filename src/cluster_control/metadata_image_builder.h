// Makes a metadata image from the one before and the keys that changed; from nothing and all keys at start-up.
//
// Both ways go through put() and remove(), so an image that grew by changes equals one that was read anew.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "cluster_control/metadata_image.h"
#include "coordination_store/coordination_store.h"
#include "foundation/bytes.h"
#include "foundation/status.h"

namespace naru {

// The newest feature level that this Naru understands: a cluster with a higher one was upgraded, and is refused.
inline constexpr int16_t kFeatureLevel = 1;

class MetadataImageBuilder {
 public:
  explicit MetadataImageBuilder(const MetadataImage& base);

  // corrupt_data or unsupported_format, naming the key. Keys that are not metadata are skipped.
  Status put(std::string_view key, BytesView value, KeyVersion version);
  Status remove(std::string_view key);

  // corrupt_data when the keys do not fit together: a topic whose partition has no state, a state without its topic.
  // The builder is used up.
  Result<MetadataImagePtr> build();

 private:
  // A topic whose keys were changed. The parts that are absent keep what the base has.
  struct TopicChange {
    bool removed = false;
    std::optional<TopicMetadata> identity;  // id, creation time, and an empty slot for each partition
    std::optional<ConfigOverrides> configs;
  };

  Status decode(std::string_view key, BytesView value, KeyVersion version);
  Status put_cluster(BytesView value);
  Status put_controller_epoch(BytesView value, KeyVersion version);
  Status put_generation(BytesView value, KeyVersion version);
  static Status put_producer_ids(BytesView value, ProducerId& next);
  Status put_synced_since(BytesView value);
  Status put_topic(std::string_view name, BytesView value);
  Status put_broker(std::string_view id, BytesView value);
  Status put_known_broker(std::string_view id, BytesView value);
  Status put_deleted_topic(std::string_view id, BytesView value);
  Status put_bucket(std::string_view bucket, BytesView value);
  void replace_bucket(size_t bucket, PartitionBucket partitions);

  Result<std::map<Uuid, TopicMetadata>> changed_topics();
  Status fill_partitions(std::map<Uuid, TopicMetadata>& topics);
  Status merge_topics(std::map<Uuid, TopicMetadata> topics);

  const MetadataImage& base_;
  std::unique_ptr<MetadataImage> next_;
  std::map<std::string, TopicChange, std::less<>> topic_changes_;
  // Which partitions of a topic have a new state, or (nullptr) none any more.
  std::map<Uuid, std::map<int32_t, PartitionStatePtr>> partition_changes_;
};

}  // namespace naru
