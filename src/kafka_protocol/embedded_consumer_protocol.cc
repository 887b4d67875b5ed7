#include "kafka_protocol/embedded_consumer_protocol.h"

#include <algorithm>
#include <utility>

#include "kafka_protocol/wire_reader.h"
#include "kafka_protocol/wire_writer.h"

namespace naru::kafka {
namespace {

// What newer versions add stands behind what older ones have, so that a rest is no error.
template <class Message>
std::optional<Embedded<Message>> read_embedded(BytesView bytes, int16_t at_most) {
  WireReader reader(bytes, Message::kName);
  Embedded<Message> embedded;
  reader.read<int16_t>(embedded.version);
  if (!reader.ok() || embedded.version < 0) return std::nullopt;
  decode(reader, embedded.message, std::min(embedded.version, at_most));
  if (!reader.ok()) return std::nullopt;
  return embedded;
}

}  // namespace

std::optional<Embedded<ConsumerProtocolSubscription>> read_embedded_subscription(BytesView metadata) {
  using Subscription = ConsumerProtocolSubscription;
  auto whole = read_embedded<Subscription>(metadata, Subscription::kMaxVersion);
  return whole.has_value() ? std::move(whole) : read_embedded<Subscription>(metadata, Subscription::kMinVersion);
}

std::optional<Embedded<ConsumerProtocolAssignment>> read_embedded_assignment(BytesView assignment) {
  return read_embedded<ConsumerProtocolAssignment>(assignment, ConsumerProtocolAssignment::kMaxVersion);
}

Bytes write_embedded_assignment(const ConsumerProtocolAssignment& assignment, int16_t version) {
  using Assignment = ConsumerProtocolAssignment;
  const int16_t known_version = std::clamp(version, Assignment::kMinVersion, Assignment::kMaxVersion);
  Bytes bytes;
  WireWriter writer(bytes);
  writer.write<int16_t>(known_version);
  encode(writer, assignment, known_version);
  return bytes;
}

}  // namespace naru::kafka
