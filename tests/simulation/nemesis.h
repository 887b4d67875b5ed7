// Does to the brokers of a run what its plan allows: one fault per round, now and then two at once.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "platform/simulated/simulated_world.h"
#include "simulation/fault_atlas.h"
#include "simulation/simulated_cluster.h"
#include "simulation/workload.h"

namespace naru::simulation {

inline constexpr const char* kHarnessHost = "harness";

class Nemesis {
 public:
  struct Parts {
    SimulatedWorld& world;
    Seams harness;
    SimulatedCluster& cluster;
    const RunPlan& plan;
    const StoreWatch& store;
    FaultAtlas& atlas;
    Workload& workload;
  };
  explicit Nemesis(const Parts& parts) : parts_(parts), atlas_(parts.atlas) {}

  Task<void> run();
  // Everything works again; brokers that are down stay so.
  void heal();
  // Every broker ends, by a power cut, a kill or in order.
  Task<void> end_all();

  int faults() const { return faults_; }
  const std::optional<std::string>& problem() const { return problem_; }

 private:
  enum class End : uint8_t { power_cut, kill, in_order };
  using Fault = Task<void> (Nemesis::*)();
  // A broker that one fault has, and no other.
  class Held;

  Random& random() { return parts_.world.random(); }
  SimulatedNetwork& network() { return parts_.world.network(); }
  Task<void> sleep(Duration longest);
  std::vector<Fault> menu() const;
  std::optional<Held> hold_a_broker();
  std::optional<Held> hold_coordinator_of(const std::string& transactional_id);

  Task<void> power_cut();
  Task<void> kill();
  Task<void> clean_restart();
  Task<void> power_cut_everywhere();
  Task<void> wiped_disk();
  Task<void> wiped_while_joining();
  Task<void> ended_while_joining();
  Task<void> ended_while_committing();
  Task<void> io_errors();
  Task<void> full_disk();
  Task<void> slow_disk();
  Task<void> cut_connections();
  Task<void> clock_step();
  Task<void> cut_links();
  Task<void> slow_links();
  Task<void> isolate();
  Task<void> pause_a_broker();
  Task<void> disturb_coordination();

  Task<void> restart(SimulatedBroker& broker, End end);
  // Long enough for every session that is about to end.
  Task<void> calm();
  Task<void> wait_until_out_of_sync(BrokerId id);
  void slow_down_links();
  Task<void> slow_disks_everywhere();
  // A broker that comes back at once is there again before the controller has heard that it was gone.
  Task<void> start_at_once(SimulatedBroker& broker);
  Task<void> end(SimulatedBroker& broker, End end);
  void step_clock(SimulatedNode& node, Milliseconds by);

  Parts parts_;
  FaultAtlas& atlas_;
  bool alone_ = true;      // one fault in this round
  bool may_lose_ = false;  // the present fault has seen to it that a loss does no harm
  int faults_ = 0;
  std::set<BrokerId> held_;
  std::set<BrokerId> faulty_disks_;
  std::map<std::string, Milliseconds> clock_offsets_;  // by machine
  std::optional<std::string> problem_;
};

}  // namespace naru::simulation
