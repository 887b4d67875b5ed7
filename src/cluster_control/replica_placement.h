// Where the replicas of a new topic go.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cluster_control/broker_standings.h"
#include "cluster_control/metadata_image.h"
#include "foundation/ids.h"
#include "foundation/status.h"

namespace naru {

struct PlacementBroker {
  BrokerId id;
  std::optional<std::string> rack;  // none: a rack of its own
};

// The replicas of each partition, the leader first. Leaders go round the brokers; the followers of a partition are on
// other brokers, in racks that have none of its replicas yet as long as there are such, and differ between partitions
// with the same leader. Equal arguments give equal answers; `seed` decides where the round starts, so that many small
// topics spread too. 1 <= replication_factor <= brokers.
std::vector<std::vector<BrokerId>> place_replicas(std::span<const PlacementBroker> brokers, int32_t partition_count,
                                                  int16_t replication_factor, uint64_t seed);

// The brokers that are there and stay. Those that are stopping come only if there would be fewer than `needed`: it is
// better to wait for one that is restarted than to refuse.
std::vector<PlacementBroker> placement_brokers(const MetadataImage& image, const StoppingBrokers& stopping,
                                               int16_t needed);

// Replicas that somebody assigned by hand: invalid_replica_assignment unless they are different brokers that are there.
Status check_replicas(const MetadataImage& image, int32_t partition, const std::vector<BrokerId>& replicas);

}  // namespace naru
