#include "broker/leader_hints.h"

#include <vector>

#include "broker/handlers/metadata_words.h"
#include "cluster_control/metadata_publisher.h"

namespace naru {
namespace {

ErrorCode why_missing(const TopicMetadata* topic, PartitionIndex index, ErrorCode unknown_topic) {
  if (topic == nullptr) return unknown_topic;
  return topic->partition(index) == nullptr ? ErrorCode::unknown_topic_or_partition : ErrorCode::not_leader_or_follower;
}

}  // namespace

Status why_not_here(const BrokerServices& services, const HostedPartition& hosted, std::string_view topic,
                    PartitionIndex index) {
  const MetadataImagePtr image = services.metadata.current();
  return hosted.why_missing(why_missing(image->find_topic(topic), index, ErrorCode::unknown_topic_or_partition));
}

Status why_not_here(const BrokerServices& services, const HostedPartition& hosted, const Uuid& topic_id,
                    PartitionIndex index) {
  const MetadataImagePtr image = services.metadata.current();
  return hosted.why_missing(why_missing(image->find_topic(topic_id), index, ErrorCode::unknown_topic_id));
}

const PartitionState* find_partition_state(const MetadataImage& image, std::string_view topic, const Uuid& topic_id,
                                           PartitionIndex index) {
  const TopicMetadata* found = topic_id.is_zero() ? image.find_topic(topic) : image.find_topic(topic_id);
  return found == nullptr ? nullptr : found->partition(index);
}

BrokerId nearest_replica(const MetadataImage& image, const PartitionState& state, BrokerId self,
                         std::string_view rack) {
  if (rack.empty() || state.leader != self) return kNoBroker;
  std::vector<BrokerId> near;
  for (const BrokerId id : state.isr) {
    const BrokerMetadata* broker = image.find_broker(id);
    if (broker == nullptr || broker->rack != rack) continue;
    if (id == self) return kNoBroker;
    near.push_back(id);
  }
  return near.empty() ? kNoBroker : near[static_cast<size_t>(state.index.value()) % near.size()];
}

LeaderHints::LeaderHints(const BrokerServices& services, const RequestContext& context)
    : services_(services), context_(context) {}

std::optional<LeaderHints::Hint> LeaderHints::hint(ErrorCode error, std::string_view topic, const Uuid& topic_id,
                                                   PartitionIndex index) {
  if (error != ErrorCode::not_leader_or_follower && error != ErrorCode::fenced_leader_epoch) return std::nullopt;
  if (!image_) image_ = services_.metadata.current();
  const PartitionState* state = find_partition_state(*image_, topic, topic_id, index);
  if (state == nullptr) return std::nullopt;
  const BrokerMetadata* leader = image_->find_broker(state->leader);
  // With this error, the client is told that it is wrong about this broker; to send it here again would be no help.
  if (leader == nullptr || (error == ErrorCode::not_leader_or_follower && state->leader == services_.config.node_id)) {
    return std::nullopt;
  }
  const auto address = address_for(context_, *leader);
  if (!address) return std::nullopt;
  named_.try_emplace(leader->id, Named{*address, leader->rack});
  return Hint{state->leader, state->leader_epoch};
}

}  // namespace naru
