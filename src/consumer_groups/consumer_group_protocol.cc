#include "consumer_groups/consumer_group_protocol.h"

#include <algorithm>
#include <utility>

#include "kafka_protocol/messages/consumer_protocol_assignment.h"
#include "kafka_protocol/messages/consumer_protocol_subscription.h"
#include "kafka_protocol/wire_reader.h"
#include "kafka_protocol/wire_writer.h"

namespace naru {
namespace {

// What newer versions add stands behind what we know, so that a rest is no error.
template <class Message>
Result<std::pair<int16_t, Message>> read_embedded(BytesView bytes) {
  kafka::WireReader reader(bytes, Message::kName);
  int16_t version = 0;
  reader.read<int16_t>(version);
  if (!reader.ok() || version < 0) return failure(ErrorCode::invalid_request, "{} has no version", Message::kName);
  Message message;
  kafka::decode(reader, message, std::min(version, Message::kMaxVersion));
  if (!reader.ok()) return failure(ErrorCode::invalid_request, "{} does not decode", Message::kName);
  return std::pair(version, std::move(message));
}

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
  NARU_TRY_ASSIGN(auto read, read_embedded<kafka::ConsumerProtocolSubscription>(metadata));
  auto& [version, subscription] = read;
  ConsumerProtocolMetadata result{.version = version,
                                  .topics = std::move(subscription.topics),
                                  .owned = flattened(subscription.owned_partitions),
                                  .rack_id = std::move(subscription.rack_id)};
  std::ranges::sort(result.topics);
  const auto surplus = std::ranges::unique(result.topics);
  result.topics.erase(surplus.begin(), surplus.end());
  return result;
}

Result<std::vector<GroupPartition>> read_protocol_assignment(BytesView assignment) {
  if (assignment.empty()) return std::vector<GroupPartition>{};
  NARU_TRY_ASSIGN(const auto read, read_embedded<kafka::ConsumerProtocolAssignment>(assignment));
  return flattened(read.second.assigned_partitions);
}

Bytes write_protocol_assignment(const PartitionSet& partitions, const SubscribableTopics& topics, int16_t version) {
  using Assignment = kafka::ConsumerProtocolAssignment;
  const int16_t known_version = std::clamp(version, Assignment::kMinVersion, Assignment::kMaxVersion);
  Assignment assignment;
  const SubscribableTopic* topic = nullptr;
  for (const auto& [topic_id, partition] : partitions) {
    if (topic == nullptr || topic->id != topic_id) {
      topic = topics.find(topic_id);
      if (topic == nullptr) continue;
      assignment.assigned_partitions.emplace_back().topic = topic->name;
    }
    assignment.assigned_partitions.back().partitions.push_back(partition.value());
  }
  Bytes bytes;
  kafka::WireWriter writer(bytes);
  writer.write<int16_t>(known_version);
  kafka::encode(writer, assignment, known_version);
  return bytes;
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
