#include "consumer_groups/subscribed_topics.h"

#include <algorithm>
#include <utility>

#include "kafka_protocol/messages/consumer_protocol_subscription.h"
#include "kafka_protocol/wire_reader.h"

namespace naru {
namespace {

using Subscription = kafka::ConsumerProtocolSubscription;

// What newer versions add stands behind what older ones have, so that a rest is no error.
std::optional<Subscription> parse_as(BytesView metadata, int16_t at_most) {
  kafka::WireReader reader(metadata, Subscription::kName);
  int16_t version = 0;
  reader.read<int16_t>(version);
  if (!reader.ok() || version < 0) return std::nullopt;
  Subscription subscription;
  kafka::decode(reader, subscription, std::min(version, at_most));
  if (!reader.ok()) return std::nullopt;
  return subscription;
}

std::optional<Subscription> parse_subscription(BytesView metadata) {
  auto whole = parse_as(metadata, Subscription::kMaxVersion);
  return whole ? std::move(whole) : parse_as(metadata, Subscription::kMinVersion);
}

}  // namespace

std::optional<std::set<std::string>> subscribed_topics(const ClassicGroup& group) {
  std::set<std::string> topics;
  if (group.protocol_type() != kConsumerProtocolType) return topics;
  for (const auto& [id, member] : group.members()) {
    // Before the first generation no protocol is chosen: whatever a member names counts.
    for (const GroupProtocol& protocol : member.protocols) {
      if (group.protocol() && protocol.name != *group.protocol()) continue;
      auto subscription = parse_subscription(protocol.metadata);
      if (!subscription) return std::nullopt;
      for (std::string& topic : subscription->topics) topics.insert(std::move(topic));
    }
  }
  return topics;
}

}  // namespace naru
