// Changes of the configuration of topics and brokers, and what holds for a topic in the end.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cluster_control/planner.h"
#include "configuration/topic_config.h"

namespace naru {

enum class ConfigResource : uint8_t { topic, broker };

struct ConfigChange {
  std::string name;
  std::optional<std::string> value;  // none: back to the default
};

struct AlterConfigsItem {
  ConfigResource resource = ConfigResource::topic;
  std::string name;  // of the topic; of a broker its id, or empty for all brokers
  std::vector<ConfigChange> changes;
};

struct AlterConfigsResult {
  ConfigResource resource = ConfigResource::topic;
  std::string name;
  Status status;
};

class AlterConfigsPlanner final : public ItemPlanner<AlterConfigsItem, AlterConfigsResult> {
 public:
  AlterConfigsPlanner(std::vector<AlterConfigsItem> items, bool validate_only);

 private:
  AlterConfigsResult plan_item(const MetadataImage& image, const MetadataDraft& draft, AlterConfigsItem& item,
                               MetadataChange& change) override;
  AlterConfigsResult failed_item(const AlterConfigsItem& item, const Status& status) const override;
  Status plan_resource(const MetadataImage& image, const AlterConfigsItem& item, MetadataChange& change) const;

  const bool validate_only_;
  std::set<std::pair<ConfigResource, std::string>> duplicates_;
};

// The broker's own configuration with what was set for it, and for all brokers, at run time.
BrokerConfig effective_broker_config(const BrokerConfig& config, const MetadataImage& image);
// The topic's own value, else the broker's key of the same meaning, else the default.
TopicConfig effective_topic_config(const BrokerConfig& config, const MetadataImage& image, const TopicMetadata& topic);

}  // namespace naru
