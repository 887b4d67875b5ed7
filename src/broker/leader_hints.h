// Where clients should go instead of here, as the metadata says.
#pragma once

#include <map>
#include <optional>
#include <string_view>

#include "broker/broker_services.h"
#include "broker/hosted_partitions.h"
#include "broker/request_context.h"
#include "cluster_control/metadata_image.h"
#include "platform/transport.h"

namespace naru {

// The state of a partition; topics are found by id, or by name where the id is zero. nullptr when there is none.
const PartitionState* find_partition_state(const MetadataImage& image, std::string_view topic, const Uuid& topic_id,
                                           PartitionIndex index);

// What a client is told of a partition that is not served here: that it is elsewhere, or nowhere.
Status why_not_here(const BrokerServices& services, const HostedPartition& hosted, std::string_view topic,
                    PartitionIndex index);
Status why_not_here(const BrokerServices& services, const HostedPartition& hosted, const Uuid& topic_id,
                    PartitionIndex index);

// KIP-392: an in-sync replica in the consumer's rack, if this broker leads and stands elsewhere; it takes turns between
// partitions where there are several. None: read here.
BrokerId nearest_replica(const MetadataImage& image, const PartitionState& state, BrokerId self, std::string_view rack);

// KIP-951: who leads, told together with the error that says that this broker does not. For one answer.
class LeaderHints {
 public:
  LeaderHints(const BrokerServices& services, const RequestContext& context);

  struct Hint {
    BrokerId leader = kNoBroker;
    LeaderEpoch epoch = kNoLeaderEpoch;
  };
  // None where the error has another reason, or where nothing better is known.
  std::optional<Hint> hint(ErrorCode error, std::string_view topic, const Uuid& topic_id, PartitionIndex index);

  // Fills NodeEndpoints of an answer with the leaders that were named.
  template <class NodeEndpoints>
  void fill_endpoints(NodeEndpoints& endpoints) const {
    for (const auto& [id, endpoint] : named_) {
      auto& node = endpoints.emplace_back();
      node.node_id = id;
      node.host = endpoint.address.host;
      node.port = endpoint.address.port;
      node.rack = endpoint.rack;
    }
  }

 private:
  struct Named {
    Endpoint address;
    std::optional<std::string> rack;
  };
  const BrokerServices& services_;
  const RequestContext& context_;
  MetadataImagePtr image_;  // looked up when it is needed
  std::map<BrokerId, Named> named_;
};

}  // namespace naru
