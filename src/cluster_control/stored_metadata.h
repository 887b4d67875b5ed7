// Metadata as the values of coordination-store keys. MetadataImageBuilder reads them back.
#pragma once

#include "cluster_control/metadata_image.h"
#include "foundation/bytes.h"
#include "foundation/status.h"

namespace naru {

Bytes encode_cluster(const ClusterMetadata& cluster);
// The value of the key `controller`, which is no part of the image.
struct ControllerHolder {
  BrokerId id;
  Uuid incarnation;
};
Bytes encode_controller(const ControllerHolder& holder);
Result<ControllerHolder> decode_controller(BytesView value);
Bytes encode_controller_epoch(const ClusterMetadata& cluster);
Bytes encode_generation(int64_t generation);
Bytes encode_producer_ids(ProducerId next);
Bytes encode_synced_since(int64_t generation);
Bytes encode_topic(const Uuid& id, int32_t partition_count, WallTimeMs created_at_ms, int64_t synced_since = -1,
                   ProducerId first_new_producer = kNoProducerId);
Bytes encode_configs(const ConfigOverrides& configs);
Bytes encode_bucket(const PartitionBucket& bucket);
Bytes encode_broker(const BrokerMetadata& broker);
Bytes encode_known_broker(const KnownBroker& known);
Bytes encode_deleted_topic(const DeletedTopic& deleted);

}  // namespace naru
