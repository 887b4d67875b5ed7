#include "consumer_groups/classic/subscribed_topics.h"

#include <utility>

#include "consumer_groups/consumer_protocol/consumer_group_protocol.h"

namespace naru {
std::optional<std::set<std::string>> subscribed_topics(const ClassicGroup& group) {
  std::set<std::string> topics;
  if (group.protocol_type() != kConsumerProtocolType) return topics;
  for (const auto& [id, member] : group.members()) {
    // Before the first generation no protocol is chosen: whatever a member names counts.
    for (const GroupProtocol& protocol : member.protocols) {
      if (group.protocol() && protocol.name != *group.protocol()) continue;
      auto metadata = read_protocol_metadata(protocol.metadata);
      if (!metadata.has_value()) return std::nullopt;
      for (std::string& topic : metadata->topics) topics.insert(std::move(topic));
    }
  }
  return topics;
}

}  // namespace naru
