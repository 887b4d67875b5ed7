// What group coordinators have to know of the cluster's metadata, in their own words.
#pragma once

#include "cluster_control/metadata_image.h"
#include "configuration/broker_config.h"
#include "consumer_groups/consumer_protocol/consumer_group_topics.h"
#include "consumer_groups/group_settings.h"

namespace naru {

SharedTopics subscribable_topics(const MetadataImage& image);

// What the broker was started with, and what was set for single groups.
GroupSettings group_settings(const GroupsConfig& config, const MetadataImage& image);

}  // namespace naru
