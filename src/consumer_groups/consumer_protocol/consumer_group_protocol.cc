#include "consumer_groups/consumer_protocol/consumer_group_protocol.h"

#include <algorithm>
#include <utility>

#include "foundation/sort_and_drop_doubles.h"
#include "kafka_protocol/embedded_consumer_protocol.h"

namespace naru {
namespace {

template <class Topic>
std::vector<GroupPartition> flattened(const std::vector<Topic>& topics) {
  std::vector<GroupPartition> partitions;
  for (const Topic& topic : topics) {
    for (const int32_t partition : topic.partitions) partitions.push_back({topic.topic, PartitionIndex(partition)});
  }
  return partitions;
}

}  // namespace

Result<ConsumerProtocolMetadata> read_protocol_metadata(BytesView metadata) {
  auto read = kafka::read_embedded_subscription(metadata);
  if (!read.has_value()) return failure(ErrorCode::invalid_request, "its metadata is not that of a consumer");
  ConsumerProtocolMetadata result{.version = read->version,
                                  .topics = std::move(read->message.topics),
                                  .owned = flattened(read->message.owned_partitions),
                                  .rack_id = std::move(read->message.rack_id)};
  sort_and_drop_doubles(result.topics);
  return result;
}

Result<std::vector<GroupPartition>> read_protocol_assignment(BytesView assignment) {
  if (assignment.empty()) return std::vector<GroupPartition>{};
  const auto read = kafka::read_embedded_assignment(assignment);
  if (!read.has_value()) return failure(ErrorCode::invalid_request, "its assignment is not that of a consumer");
  return flattened(read->message.assigned_partitions);
}

Bytes write_protocol_assignment(const PartitionSet& partitions, const SubscribableTopics& topics, int16_t version) {
  kafka::ConsumerProtocolAssignment assignment;
  const SubscribableTopic* topic = nullptr;
  for (const auto& [topic_id, partition] : partitions) {
    if (topic == nullptr || topic->id != topic_id) {
      topic = topics.find(topic_id);
      if (topic == nullptr) continue;
      assignment.assigned_partitions.emplace_back().topic = topic->name;
    }
    assignment.assigned_partitions.back().partitions.push_back(partition.value());
  }
  return kafka::write_embedded_assignment(assignment, version);
}

PartitionSet with_topic_ids(const std::vector<GroupPartition>& partitions, const SubscribableTopics& topics) {
  std::vector<TopicIdPartition> result;
  for (const auto& [name, partition] : partitions) {
    const SubscribableTopic* topic = topics.find(name);
    if (topic != nullptr) result.push_back({topic->id, partition});
  }
  return make_partition_set(std::move(result));
}

}  // namespace naru
