// What was set for this broker at run time, and what holds for brokers and topics in the end.
#pragma once

#include "cluster_control/metadata_image.h"
#include "configuration/dynamic_config.h"
#include "configuration/topic_config.h"

namespace naru {

// What is stored for one broker, or under metadata_keys::kAllBrokers; empty when nothing is.
const ConfigOverrides& stored_broker_configs(const MetadataImage& image, std::string_view name);
const ConfigOverrides& stored_group_configs(const MetadataImage& image, std::string_view group);
const ConfigOverrides& stored_client_metrics(const MetadataImage& image, std::string_view subscription);

// Of the broker that was started with `config`. Both arguments outlive the result.
BrokerConfigLayers config_layers(const BrokerConfig& config, const MetadataImage& image);
BrokerConfig effective_broker_config(const BrokerConfig& config, const MetadataImage& image);
// The topic's own value, else the broker's key of the same meaning, else the default.
TopicConfig effective_topic_config(const BrokerConfig& config, const MetadataImage& image, const TopicMetadata& topic);

}  // namespace naru
