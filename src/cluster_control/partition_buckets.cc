#include "cluster_control/partition_buckets.h"

#include <algorithm>
#include <utility>

namespace naru {

Status check_partition_count(int32_t of_topic) {
  if (of_topic <= kMaxPartitionsPerTopic) return {};
  return error(ErrorCode::policy_violation, "{} partitions: a topic has at most {}", of_topic, kMaxPartitionsPerTopic);
}

Status check_partition_limits(const MetadataImage& image, int64_t planned, int32_t present, int32_t wanted) {
  NARU_TRY(check_partition_count(wanted));
  const int64_t total = int64_t{image.partition_count()} + planned + wanted - present;
  if (total <= kMaxPartitionsPerCluster) return {};
  return error(ErrorCode::policy_violation, "the cluster would have {} partitions, and {} are the limit", total,
               kMaxPartitionsPerCluster);
}

std::map<int32_t, PartitionBucket> add_partitions(const MetadataDraft& draft, const Uuid& topic_id, int32_t first,
                                                  std::vector<std::vector<BrokerId>> replicas) {
  std::map<int32_t, PartitionBucket> changed;
  int32_t bucket = 0;
  for (size_t begin = 0; begin < replicas.size(); begin += kPartitionsPerBucket) {
    const size_t count = std::min<size_t>(kPartitionsPerBucket, replicas.size() - begin);
    const auto has_room = [&](int32_t number) {
      return !changed.contains(number) && draft.bucket(number).size() + count <= kPartitionsPerBucket;
    };
    if (count < kPartitionsPerBucket) bucket = 0;
    while (!has_room(bucket)) ++bucket;
    PartitionBucket& content = changed.emplace(bucket, draft.bucket(bucket)).first->second;
    for (size_t at = begin; at < begin + count; ++at) {
      PartitionState state;
      state.topic_id = topic_id;
      state.index = PartitionIndex(first + static_cast<int32_t>(at));
      state.replicas = std::move(replicas[at]);
      state.isr = state.replicas;
      state.leader = state.replicas.front();
      state.bucket = bucket;
      content.push_back(std::make_shared<const PartitionState>(std::move(state)));
    }
  }
  return changed;
}

}  // namespace naru
