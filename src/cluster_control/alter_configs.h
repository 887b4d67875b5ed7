// Changes of the configuration of topics, brokers, groups and subscriptions to the metrics of clients.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cluster_control/planner.h"
#include "configuration/broker_config.h"

namespace naru {

enum class ConfigResource : uint8_t { topic, broker, group, client_metrics };

// The numbers are those of Kafka's IncrementalAlterConfigs request.
enum class ConfigOperation : int8_t {
  set = 0,
  remove = 1,  // back to the default
  append = 2,  // to a list
  subtract = 3,
};

struct ConfigChange {
  std::string name;
  std::optional<std::string> value;  // not looked at by `remove`
  ConfigOperation operation = ConfigOperation::set;
};

struct AlterConfigsItem {
  ConfigResource resource = ConfigResource::topic;
  std::string name;  // of the topic, group or subscription; of a broker its id, or empty for all brokers
  std::vector<ConfigChange> changes;
  bool replace_all = false;  // what is not named goes back to its default
};

struct AlterConfigsResult {
  ConfigResource resource = ConfigResource::topic;
  std::string name;
  Status status;
};

class AlterConfigsPlanner final : public ItemPlanner<AlterConfigsItem, AlterConfigsResult> {
 public:
  // `config`, what this broker was started with, outlives the planner.
  AlterConfigsPlanner(std::vector<AlterConfigsItem> items, bool validate_only, const BrokerConfig& config);

 private:
  bool may_use_reserve() const override { return true; }
  AlterConfigsResult plan_item(const MetadataImage& image, const MetadataDraft& draft, AlterConfigsItem& item,
                               MetadataChange& change) override;
  AlterConfigsResult failed_item(const AlterConfigsItem& item, const Status& status) const override;
  // `generation`: of the transaction.
  Status plan_resource(const MetadataImage& image, const AlterConfigsItem& item, int64_t generation,
                       MetadataChange& change) const;

  const bool validate_only_;
  const BrokerConfig& config_;
  std::set<std::pair<ConfigResource, std::string>> duplicates_;
};

}  // namespace naru
