// AlterPartition: a leader asks for another ISR. The rules under which it gets it.
#pragma once

#include <cstdint>
#include <vector>

#include "cluster_control/broker_standings.h"
#include "cluster_control/partition_planner.h"
#include "foundation/ids.h"
#include "foundation/status.h"
#include "foundation/uuid.h"

namespace naru {

inline constexpr int64_t kUnknownBrokerEpoch = -1;

struct IsrMember {
  BrokerId id;
  int64_t broker_epoch = kUnknownBrokerEpoch;  // in which the leader saw it catch up
};

struct IsrChange {
  Uuid topic_id;
  PartitionIndex index;
  LeaderEpoch leader_epoch;  // as the leader knows them
  int32_t partition_epoch = 0;
  std::vector<IsrMember> isr;
};

struct AlterPartitionResult {
  Status status;
  PartitionState now;  // if ok, and where the partition is known: the leader may be behind
};
using AlterPartitionResults = std::vector<AlterPartitionResult>;

// The leader has to be the partition's, in its epochs: fenced_leader_epoch or invalid_update_version when it is behind,
// not_controller when it is ahead, because then this controller is. The new ISR consists of replicas, the leader among
// them, each registered with the epoch that is named; a new one is not stopping, and its log is not offline
// (ineligible_replica). A change that is in effect
// already, because an answer was lost, is ok.
class AlterPartitionsPlanner final : public PartitionPlanner<IsrChange, AlterPartitionResult> {
 public:
  AlterPartitionsPlanner(BrokerId leader, int64_t broker_epoch, std::vector<IsrChange> changes,
                         StoppingBrokers stopping);

 private:
  void begin_step(const MetadataImage& image) override { brokers_ = BrokerStandings(image, stopping_); }
  AlterPartitionResult plan_item(const MetadataImage& image, const PartitionState* before, IsrChange& change,
                                 PartitionEdits& edits) override;
  AlterPartitionResult failed_item(const IsrChange& change, const Status& status) const override;
  Status check_leader(const MetadataImage& image) const;
  Status check_epochs(const PartitionState& before, const IsrChange& change) const;
  Status check_members(const MetadataImage& image, const PartitionState& before, const IsrChange& change) const;

  const BrokerId leader_;
  const int64_t broker_epoch_;
  const StoppingBrokers stopping_;
  BrokerStandings brokers_;
};

}  // namespace naru
