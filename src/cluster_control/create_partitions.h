// CreatePartitions: a topic gets more partitions. They are never taken away again.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cluster_control/broker_standings.h"
#include "cluster_control/partition_buckets.h"
#include "cluster_control/planner.h"

namespace naru {

struct MorePartitions {
  std::string topic;
  int32_t count = 0;  // all of them, those that exist included
  // Replicas of the new ones; none: the controller places them.
  std::optional<std::vector<std::vector<BrokerId>>> assignments;
  // What this request planned for: if the topic looks like this at a later attempt, the request is fulfilled.
  std::optional<Uuid> planned_for;
};

struct MorePartitionsResult {
  std::string topic;
  Uuid topic_id;  // if ok
  Status status;
};

class CreatePartitionsPlanner final : public ItemPlanner<MorePartitions, MorePartitionsResult> {
 public:
  CreatePartitionsPlanner(std::vector<MorePartitions> items, bool validate_only, StoppingBrokers stopping = {});

 private:
  void begin_step() override { planned_partitions_ = 0; }
  // They may add thousands each.
  bool step_is_full() const override { return planned_partitions_ >= kMaxPartitionsPerTopic; }
  void step_committed() override {
    if (validate_only_) validated_partitions_ += planned_partitions_;
  }
  MorePartitionsResult plan_item(const MetadataImage& image, const MetadataDraft& draft, MorePartitions& item,
                                 MetadataChange& change) override;
  MorePartitionsResult failed_item(const MorePartitions& item, const Status& status) const override;
  void item_planned(const MorePartitions& item, const MorePartitionsResult& result) override;
  Status plan_topic(const MetadataImage& image, const MetadataDraft& draft, const TopicMetadata& topic,
                    MorePartitions& item, MetadataChange& change);

  const bool validate_only_;
  const StoppingBrokers stopping_;
  std::set<std::string> duplicates_;
  int64_t added_by_item_ = 0;
  int64_t planned_partitions_ = 0;    // by this step
  int64_t validated_partitions_ = 0;  // by earlier ones that have only validated
};

}  // namespace naru
