// What consumers of the classic protocol put into the metadata and assignments of their groups: messages of Kafka's
// that a coordinator only passes on, each behind its version.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "foundation/bytes.h"
#include "kafka_protocol/messages/consumer_protocol_assignment.h"
#include "kafka_protocol/messages/consumer_protocol_subscription.h"

namespace naru::kafka {

// The protocol type of groups whose members speak this.
inline constexpr std::string_view kConsumerProtocolType = "consumer";

template <class Message>
struct Embedded {
  int16_t version = 0;  // that the writer says it has, and can read
  Message message;
};

// None: these bytes are something else. Versions newer than ours are read as far as we know them. A subscription that
// claims a version and breaks off behind the fields of the first one (kafka-go's do) is read as the first.
std::optional<Embedded<ConsumerProtocolSubscription>> read_embedded_subscription(BytesView metadata);
std::optional<Embedded<ConsumerProtocolAssignment>> read_embedded_assignment(BytesView assignment);

// In the newest version that we know and `version` is not older than.
Bytes write_embedded_assignment(const ConsumerProtocolAssignment& assignment, int16_t version);

}  // namespace naru::kafka
