// Brings all partitions in line with the brokers: after some have gone, come, come back, asked to stop, or lost the use
// of logs.
//
// One pass for everything that happened since the last one. At its end it notes the registrations that it has acted on
// (known_brokers/), in the last transaction: a controller that is replaced on the way leaves the rest to the next one.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "cluster_control/broker_standings.h"
#include "cluster_control/election_rules.h"
#include "cluster_control/partition_sweep.h"
#include "configuration/broker_config.h"

namespace naru {

class SettlePartitionsPlanner final : public PartitionSweep {
 public:
  // What came of it, for the log.
  struct Tally {
    int64_t new_leaders = 0;
    int64_t leaders_lost = 0;   // had a leader, and have none now
    int64_t possible_loss = 0;  // led by a broker that may have lost acknowledged records
    int64_t unclean = 0;        // elected from outside of the ISR
    int64_t data_lost = 0;      // no member of the ISR has data any more
  };

  // Asked for at each attempt. When many brokers stop at once, the first of their planners whose turn comes sees all of
  // them, so no leadership moves to a broker that is about to stop, and the others find nothing left to do.
  using AskWhoStops = std::function<StoppingBrokers()>;

  // `config` outlives the planner.
  SettlePartitionsPlanner(const BrokerConfig& config, AskWhoStops who_stops);

  const Tally& tally() const { return tally_; }
  // The brokers that were there when it began, with the epochs in which they were: what all partitions are in line
  // with.
  const std::map<BrokerId, int64_t>& settled_brokers() const { return first_seen_; }

 private:
  void begin_step(const MetadataImage& image) override;
  std::optional<PartitionState> change(const MetadataImage& image, const PartitionState& before) override;
  void changed(const MetadataImage& image, const PartitionState& before, const PartitionState& after) override;
  bool last_change(const MetadataImage& image, MetadataChange& change) override;
  void step_committed() override;
  bool concerns(const PartitionState& state) const;

  const BrokerConfig& config_;
  const AskWhoStops who_stops_;
  bool began_ = false;
  std::map<BrokerId, int64_t> first_seen_;
  BrokerStandings brokers_;
  std::unique_ptr<ElectionRulesOfTopics> rules_;
  Tally tally_;
  Tally step_;
};

}  // namespace naru
