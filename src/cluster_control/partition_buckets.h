// Where the states of new partitions are stored, and how many partitions there may be.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "cluster_control/metadata_draft.h"
#include "foundation/status.h"

namespace naru {

inline constexpr int32_t kMaxPartitionsPerTopic = 10'000;
// As in Kafka. One request keeps the controller and the disks busy, and its answer has every key of every topic.
inline constexpr int32_t kMaxPartitionsPerRequest = 10'000;
inline constexpr int32_t kMaxPartitionsPerCluster = 1'000'000;

// policy_violation above the limit.
Status check_partition_count(int32_t of_topic);
// The same, and for the whole cluster: a topic grows from `present` to `wanted` partitions, and what is planned already
// adds `planned`.
Status check_partition_limits(const MetadataImage& image, int64_t planned, int32_t present, int32_t wanted);

// New partitions of a topic, numbered from `first` on, the leader of each first in its replicas: new contents of the
// buckets that they go into. As few buckets as possible, each with room: n partitions touch ceil(n / 256) of them,
// which bounds the transaction.
std::map<int32_t, PartitionBucket> add_partitions(const MetadataDraft& draft, const Uuid& topic_id, int32_t first,
                                                  std::vector<std::vector<BrokerId>> replicas);

}  // namespace naru
