// Which partition of an internal topic, and which broker, coordinates a name.
#pragma once

#include <optional>
#include <string_view>

#include "async/task.h"
#include "broker/hosted_partitions.h"
#include "cluster_control/metadata_image.h"
#include "coordinator_runtime/coordinator_runtime.h"

namespace naru {

// None while there is no such topic.
std::optional<PartitionIndex> coordinator_index(const MetadataImage& image, std::string_view topic,
                                                std::string_view name);
// kNoBroker while that is not known.
BrokerId coordinator_broker(const MetadataImage& image, std::string_view topic, std::string_view name);

// The runtime serves the partitions of its topic that are led here, and no others.
Task<void> serve_led_partitions(CoordinatorRuntime& runtime, const MetadataImage& image, const HostedPartitions& hosted,
                                BrokerId self);

}  // namespace naru
