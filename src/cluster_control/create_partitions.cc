#include "cluster_control/create_partitions.h"

#include <iterator>
#include <string_view>
#include <utility>

#include "cluster_control/internal_topics.h"
#include "cluster_control/metadata_keys.h"
#include "cluster_control/partition_buckets.h"
#include "cluster_control/replica_placement.h"
#include "cluster_control/stored_metadata.h"

namespace naru {
namespace {

using Replicas = std::vector<std::vector<BrokerId>>;  // of each new partition

Result<Replicas> check_assignments(const MetadataImage& image, const TopicMetadata& topic, int32_t added,
                                   const Replicas& assignments) {
  if (assignments.size() != static_cast<size_t>(added)) {
    return failure(ErrorCode::invalid_replica_assignment, "{} partitions are added, and {} have replicas assigned",
                   added, assignments.size());
  }
  int32_t partition = topic.partition_count();
  for (const auto& replicas : assignments) {
    if (replicas.size() != static_cast<size_t>(topic.replication_factor())) {
      return failure(ErrorCode::invalid_replica_assignment,
                     "partition {} is assigned to {} brokers, and the replication factor of the topic is {}", partition,
                     replicas.size(), topic.replication_factor());
    }
    NARU_TRY(check_replicas(image, partition++, replicas));
  }
  return assignments;
}

// The same places that the partitions would have if the topic had been created with all of them.
Result<Replicas> place(const MetadataImage& image, const StoppingBrokers& stopping, const TopicMetadata& topic,
                       int32_t count) {
  const auto brokers = placement_brokers(image, stopping, topic.replication_factor());
  if (brokers.size() < static_cast<size_t>(topic.replication_factor())) {
    return failure(ErrorCode::invalid_replication_factor,
                   "replication factor {} needs as many brokers, and {} are there", topic.replication_factor(),
                   brokers.size());
  }
  Replicas replicas = place_replicas(brokers, count, topic.replication_factor(), topic.id.low);
  replicas.erase(replicas.begin(), replicas.begin() + topic.partition_count());
  return replicas;
}

}  // namespace

CreatePartitionsPlanner::CreatePartitionsPlanner(std::vector<MorePartitions> all, bool validate_only,
                                                 StoppingBrokers stopping)
    : ItemPlanner(std::move(all)), validate_only_(validate_only), stopping_(std::move(stopping)) {
  std::set<std::string_view> seen;
  for (const MorePartitions& item : items()) {
    if (!seen.insert(item.topic).second) duplicates_.insert(item.topic);
  }
}

MorePartitionsResult CreatePartitionsPlanner::plan_item(const MetadataImage& image, const MetadataDraft& draft,
                                                        MorePartitions& item, MetadataChange& change) {
  added_by_item_ = 0;
  if (duplicates_.contains(item.topic)) {
    return failed_item(item, Status(ErrorCode::invalid_request, "the request names this topic more than once"));
  }
  const TopicMetadata* topic = image.find_topic(std::string_view(item.topic));
  if (topic == nullptr) {
    return failed_item(item, error(ErrorCode::unknown_topic_or_partition, "there is no topic {}", item.topic));
  }
  if (is_internal_topic(topic->name)) {
    return failed_item(
        item, error(ErrorCode::invalid_topic_exception,
                    "{} is an internal topic: what is where in it depends on the number of partitions", item.topic));
  }
  if (Status status = plan_topic(image, draft, *topic, item, change); !status.ok()) return failed_item(item, status);
  return {item.topic, topic->id, {}};
}

MorePartitionsResult CreatePartitionsPlanner::failed_item(const MorePartitions& item, const Status& status) const {
  return {item.topic, {}, status};
}

void CreatePartitionsPlanner::item_planned(const MorePartitions&, const MorePartitionsResult& result) {
  if (result.status.ok()) planned_partitions_ += added_by_item_;
}

Status CreatePartitionsPlanner::plan_topic(const MetadataImage& image, const MetadataDraft& draft,
                                           const TopicMetadata& topic, MorePartitions& item, MetadataChange& change) {
  const int32_t present = topic.partition_count();
  if (item.planned_for == topic.id && present == item.count) return {};
  if (item.count <= present) {
    return error(ErrorCode::invalid_partitions, "topic {} has {} partitions, and {} would not be more", topic.name,
                 present, item.count);
  }
  NARU_TRY(check_partition_limits(image, validated_partitions_ + planned_partitions_, present, item.count));
  NARU_TRY_ASSIGN(Replicas replicas, item.assignments
                                         ? check_assignments(image, topic, item.count - present, *item.assignments)
                                         : place(image, stopping_, topic, item.count));
  added_by_item_ = item.count - present;
  if (validate_only_) return {};
  item.planned_for = topic.id;
  change.puts.push_back({metadata_keys::topic(topic.name), encode_topic(topic.id, item.count, topic.created_at_ms,
                                                                        topic.synced_since, topic.first_new_producer)});
  change.buckets = add_partitions(draft, topic.id, present, std::move(replicas));
  return {};
}

}  // namespace naru
