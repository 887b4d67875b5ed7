#include "client/consumer_protocol.h"

#include <algorithm>
#include <utility>

#include "kafka_protocol/messages/consumer_protocol_assignment.h"
#include "kafka_protocol/messages/consumer_protocol_subscription.h"
#include "kafka_protocol/wire_reader.h"

namespace naru::client {
namespace {

// A version stands in front. What newer versions add stands behind what we know, so a rest is no error.
template <class Message>
std::optional<Message> read_versioned(BytesView bytes) {
  kafka::WireReader reader(bytes, Message::kName);
  int16_t version = 0;
  reader.read<int16_t>(version);
  if (!reader.ok() || version < 0) return std::nullopt;
  Message message;
  kafka::decode(reader, message, std::min(version, Message::kMaxVersion));
  return reader.ok() ? std::optional(std::move(message)) : std::nullopt;
}

}  // namespace

std::optional<std::vector<std::string>> read_subscription(BytesView metadata) {
  auto subscription = read_versioned<kafka::ConsumerProtocolSubscription>(metadata);
  if (!subscription) return std::nullopt;
  std::ranges::sort(subscription->topics);
  return std::move(subscription->topics);
}

std::optional<std::vector<TopicPartition>> read_assignment(BytesView assignment) {
  auto assigned = read_versioned<kafka::ConsumerProtocolAssignment>(assignment);
  if (!assigned) return std::nullopt;
  std::vector<TopicPartition> partitions;
  for (const auto& topic : assigned->assigned_partitions) {
    for (const int32_t index : topic.partitions) partitions.push_back({topic.topic, PartitionIndex(index)});
  }
  std::ranges::sort(partitions);
  return partitions;
}

}  // namespace naru::client
