// The brokers of a run: one with a store of its own, or several around a coordination service.
#pragma once

#include <memory>
#include <vector>

#include "coordination_store/simulated/simulated_coordination.h"
#include "platform/simulated/simulated_world.h"
#include "simulation/fault_plan.h"
#include "simulation/simulated_broker.h"

namespace naru::simulation {

class SimulatedCluster {
 public:
  SimulatedCluster(SimulatedWorld& world, Seams harness, const RunPlan& plan);

  std::vector<Endpoint> addresses() const;
  std::vector<std::unique_ptr<SimulatedBroker>>& brokers() { return brokers_; }
  bool is_alone() const { return brokers_.size() == 1; }
  SimulatedBroker& random_broker();
  SimulatedCoordination& coordination() { return coordination_; }

  // Starts those that do not run, all at once, because some may need others to be there.
  Task<void> start_all();
  // One behind the other. The first problem.
  Task<Status> stop_all();
  Task<void> wait_for_remains();

 private:
  SimulatedWorld& world_;
  SimulatedCoordination coordination_;
  std::vector<std::unique_ptr<SimulatedBroker>> brokers_;
};

}  // namespace naru::simulation
