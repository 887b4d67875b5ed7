// What group coordinators have to know of the cluster's metadata, in their own words.
#pragma once

#include <vector>

#include "cluster_control/metadata_image.h"
#include "configuration/broker_config.h"
#include "consumer_groups/consumer_protocol/consumer_group_topics.h"
#include "consumer_groups/group_messages.h"
#include "consumer_groups/group_settings.h"

namespace naru {

SharedTopics subscribable_topics(const MetadataImage& image);

// What groups have to hear of one image after another. Most images bring other leaders and in-sync sets, which are none
// of their business: this costs what has changed, not what is there.
struct TopicNews {
  std::vector<FormerTopic> gone;
  bool others = false;  // subscribable_topics() are others than before
};
TopicNews topic_news(const MetadataImage& before, const MetadataImage& now);

// What the broker was started with, and what was set for single groups.
GroupSettings group_settings(const BrokerConfig& broker, const MetadataImage& image);

}  // namespace naru
