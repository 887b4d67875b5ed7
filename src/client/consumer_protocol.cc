#include "client/consumer_protocol.h"

#include <algorithm>
#include <utility>

#include "kafka_protocol/embedded_consumer_protocol.h"

namespace naru::client {
std::optional<std::vector<std::string>> read_subscription(BytesView metadata) {
  auto read = kafka::read_embedded_subscription(metadata);
  if (!read) return std::nullopt;
  std::vector<std::string> topics = std::move(read->message.topics);
  std::ranges::sort(topics);
  return topics;
}

std::optional<std::vector<TopicPartition>> read_assignment(BytesView assignment) {
  const auto read = kafka::read_embedded_assignment(assignment);
  if (!read) return std::nullopt;
  std::vector<TopicPartition> partitions;
  for (const auto& topic : read->message.assigned_partitions) {
    for (const int32_t index : topic.partitions) partitions.push_back({topic.topic, PartitionIndex(index)});
  }
  std::ranges::sort(partitions);
  return partitions;
}

}  // namespace naru::client
