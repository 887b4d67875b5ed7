// Internal topics get more replicas as brokers join: a cluster that began with one broker must not keep its groups on
// it alone.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "cluster_control/partition_sweep.h"
#include "configuration/broker_config.h"

namespace naru {

// New replicas go to the end of the list and join the ISR when they have caught up. Those of a partition are on
// different brokers, in racks that it has no replica in if there are such, and evenly spread.
class RaiseReplicationPlanner final : public PartitionSweep {
 public:
  // `config` outlives the planner.
  explicit RaiseReplicationPlanner(const BrokerConfig& config) : config_(config) {}

  // Whether any partition of an internal topic has fewer replicas than it should.
  static bool is_needed(const BrokerConfig& config, const MetadataImage& image);
  int64_t raised() const { return raised_; }

 private:
  void begin_step(const MetadataImage& image) override;
  std::optional<PartitionState> change(const MetadataImage& image, const PartitionState& before) override;
  void step_committed() override { raised_ += std::exchange(raised_by_step_, 0); }
  void changed(const MetadataImage&, const PartitionState&, const PartitionState&) override { ++raised_by_step_; }
  BrokerId choose_broker(const MetadataImage& image, const PartitionState& state) const;

  const BrokerConfig& config_;
  std::map<std::pair<Uuid, BrokerId>, int32_t> replicas_;  // of each internal topic on each broker
  int64_t raised_ = 0;
  int64_t raised_by_step_ = 0;
};

}  // namespace naru
