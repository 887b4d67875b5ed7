// What several handlers say about brokers, partitions and errors.
#pragma once

#include <optional>
#include <string>

#include "broker/request_context.h"
#include "cluster_control/metadata_image.h"
#include "foundation/status.h"
#include "platform/transport.h"

namespace naru {

// The address of a broker at the listener that the client used. Without an advertised address it is the one that the
// client has reached us at: right by construction on a single machine, in a container and behind a port mapping to the
// same port.
std::optional<Endpoint> address_for(const RequestContext& context, const BrokerMetadata& broker);

// A partition as clients see it, in Metadata and DescribeTopicPartitions alike.
template <class ResponsePartition>
void fill_partition(const MetadataImage& image, const PartitionState& state, ResponsePartition& partition) {
  const bool leader_alive = image.find_broker(state.leader) != nullptr;
  partition.error_code = leader_alive ? ErrorCode::none : ErrorCode::leader_not_available;
  partition.partition_index = state.index;
  partition.leader_id = leader_alive ? state.leader : kNoBroker;
  partition.leader_epoch = state.leader_epoch;
  partition.replica_nodes = state.replicas;
  partition.isr_nodes = state.isr;
  for (const BrokerId id : state.replicas) {
    if (image.find_broker(id) == nullptr) partition.offline_replicas.push_back(id);
  }
}

// What a person reads: the message, or else what the error means.
std::string error_text(const Status& status);

// When a request to the controller wants to be answered.
MonotonicTime deadline_of(const RequestContext& context, int32_t timeout_ms);
// For each item of a request whose deadline passed before there was a result.
Status not_in_time(int32_t timeout_ms);

}  // namespace naru
