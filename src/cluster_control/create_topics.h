// CreateTopics: what is checked, in Kafka's order and with Kafka's errors, and what is stored for a new topic.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cluster_control/broker_standings.h"
#include "cluster_control/planner.h"
#include "cluster_control/topic_name.h"
#include "configuration/broker_config.h"
#include "foundation/time.h"

namespace naru {

struct ReplicaAssignment {
  int32_t partition_index = 0;
  std::vector<BrokerId> replicas;
};

struct ConfigEntry {
  std::string name;
  std::optional<std::string> value;
};

struct NewTopic {
  std::string name;
  int32_t partition_count = -1;     // -1: num.partitions, or as assigned
  int16_t replication_factor = -1;  // -1: default.replication.factor, or as assigned
  std::vector<ReplicaAssignment> assignments;
  std::vector<ConfigEntry> configs;
  bool internal = false;  // made by a coordinator, not for a client
  // Chosen by the controller, the same for every attempt: a topic with this id is the one that this item made.
  Uuid id;
};

struct CreateTopicsRequest {
  std::vector<NewTopic> topics;
  bool validate_only = false;
};

struct CreateTopicResult {
  std::string name;
  Status status;
  // If ok; the id is zero when the request was only to be validated.
  Uuid topic_id;
  int32_t partition_count = -1;
  int16_t replication_factor = -1;
  ConfigOverrides configs;
};

class CreateTopicsPlanner final : public ItemPlanner<NewTopic, CreateTopicResult> {
 public:
  // `config` outlives the planner.
  CreateTopicsPlanner(CreateTopicsRequest request, const BrokerConfig& config, WallTimeMs now,
                      StoppingBrokers stopping = {});

 private:
  using Replicas = std::vector<std::vector<BrokerId>>;  // of each partition
  struct Alike {
    bool operator()(const std::string& a, const std::string& b) const { return compare_alike(a, b) < 0; }
  };

  void begin_step() override;
  void step_committed() override;
  CreateTopicResult plan_item(const MetadataImage& image, const MetadataDraft& draft, NewTopic& topic,
                              MetadataChange& change) override;
  CreateTopicResult failed_item(const NewTopic& topic, const Status& status) const override;
  void item_planned(const NewTopic& topic, const CreateTopicResult& result) override;

  Result<CreateTopicResult> plan_topic(const MetadataImage& image, const MetadataDraft& draft, const NewTopic& topic,
                                       MetadataChange& change) const;
  Status check_name(const MetadataImage& image, const NewTopic& topic) const;
  int32_t partitions_of(const NewTopic& topic) const;
  Result<Replicas> choose_replicas(const MetadataImage& image, const NewTopic& topic) const;
  Result<int32_t> choose_partition_count(const NewTopic& topic) const;
  Result<int16_t> choose_replication_factor(const MetadataImage& image, const NewTopic& topic) const;

  const BrokerConfig& config_;
  const WallTimeMs now_;
  const StoppingBrokers stopping_;
  const bool validate_only_;
  std::set<std::string> duplicate_names_;
  int64_t requested_partitions_ = 0;  // of all topics that are not too large by themselves
  // Of this step; what earlier steps have made is in the image.
  std::set<std::string, Alike> planned_names_;
  int64_t planned_partitions_ = 0;
  // Of earlier steps that have only validated.
  std::set<std::string, Alike> validated_names_;
  int64_t validated_partitions_ = 0;
};

}  // namespace naru
