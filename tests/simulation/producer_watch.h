// What partitions remember of producers outlives every end of a broker, and every change of leaders.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "async/task.h"
#include "log_storage/producer_state.h"
#include "replication/partition.h"
#include "simulation/fault_plan.h"
#include "simulation/simulated_cluster.h"
#include "simulation/store_watch.h"

namespace naru::simulation {

// The last batch of a producer that is sure to survive.
struct KnownProducer {
  ProducerEpoch epoch{0};
  Offset end;  // of the batch
};

// A core without brokers: what was known to be there, and whether it is there still. Runs are too short for a producer
// to be forgotten because it was idle.
class ProducerMemory {
 public:
  // Everything below `safe_end` survives.
  void note(const ProducerState& state, Offset safe_end);
  // Nothing: `state` knows at least as much of every producer.
  std::optional<std::string> missing_in(const ProducerState& state) const;

 private:
  std::map<ProducerId, KnownProducer> known_;
};

class ProducerWatch {
 public:
  ProducerWatch(SimulatedCluster& cluster, const StoreWatch& store, const RunPlan& plan)
      : cluster_(cluster), store_(store), plan_(plan) {}

  // A leader that knows what is committed remembers every producer of it, whoever led before. One that is alone
  // remembers those of what is durable: also if nothing but segments below the start of the log tells of them. Not with
  // the loose rule, where nobody else can tell: a log that has lost its end up to a start which was moved there begins
  // anew, and knows nobody.
  Task<void> look();

  const std::optional<std::string>& violation() const { return violation_; }

 private:
  Task<void> look_at(std::shared_ptr<Partition> partition, BrokerId broker);
  bool leads_now(const PartitionIdentity& identity, LeaderEpoch epoch) const;

  SimulatedCluster& cluster_;
  const StoreWatch& store_;
  const RunPlan& plan_;
  std::map<std::pair<Uuid, PartitionIndex>, ProducerMemory> memories_;
  std::optional<std::string> violation_;
};

}  // namespace naru::simulation
