// What classic consumers put into the metadata and assignments of their groups: Kafka's "consumer" protocol type.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "consumer_groups/consumer_protocol/consumer_group_partitions.h"
#include "consumer_groups/consumer_protocol/consumer_group_topics.h"
#include "consumer_groups/group_messages.h"
#include "foundation/bytes.h"
#include "foundation/status.h"
#include "kafka_protocol/embedded_consumer_protocol.h"

namespace naru {

using kafka::kConsumerProtocolType;

struct ConsumerProtocolMetadata {
  int16_t version = 0;              // that the client can read
  std::vector<std::string> topics;  // in order, each once
  std::vector<GroupPartition> owned;
  std::optional<std::string> rack_id;
};

// Written by clients.
Result<ConsumerProtocolMetadata> read_protocol_metadata(BytesView metadata);
Result<std::vector<GroupPartition>> read_protocol_assignment(BytesView assignment);

// What belongs to a topic that is gone is left out, in both directions.
Bytes write_protocol_assignment(const PartitionSet& partitions, const SubscribableTopics& topics, int16_t version);
PartitionSet with_topic_ids(const std::vector<GroupPartition>& partitions, const SubscribableTopics& topics);

}  // namespace naru
