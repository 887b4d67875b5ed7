// What consumers tell each other through their group: the topics they want and the partitions they got. It is theirs,
// so it may be anything; what cannot be understood is counted, never an error. No I/O.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "client/cluster_metadata.h"
#include "foundation/bytes.h"
#include "kafka_protocol/embedded_consumer_protocol.h"

namespace naru::client {

using kafka::kConsumerProtocolType;

// None: these bytes are something else. Versions newer than ours are read as far as we know them.
std::optional<std::vector<std::string>> read_subscription(BytesView metadata);
std::optional<std::vector<TopicPartition>> read_assignment(BytesView assignment);

}  // namespace naru::client
