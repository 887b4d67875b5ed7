// A broker that can be started, stopped, killed and cut from power, with what is left of earlier ones.
#pragma once

#include <memory>
#include <vector>

#include "async/task_group.h"
#include "broker/broker.h"
#include "coordination_store/simulated/simulated_coordination.h"
#include "platform/simulated/simulated_world.h"

namespace naru::simulation {

class SimulatedBroker {
 public:
  static constexpr uint16_t kPort = 9092;

  // `harness` is where waiting happens that must survive the broker.
  // `coordination`: the service of its cluster, which outlives it; none: it is alone, with its own store.
  SimulatedBroker(SimulatedNode& node, Seams harness, BrokerConfig config,
                  SimulatedCoordination* coordination = nullptr)
      : node_(node), harness_(harness), config_(std::move(config)), coordination_(coordination) {}

  // Whenever it starts, its disk is as the version before would have left it.
  void set_always_upgraded(bool upgraded) { always_upgraded_ = upgraded; }

  BrokerId id() const { return config_.node_id; }
  Endpoint address() const { return {node_.host(), kPort}; }
  SimulatedNode& node() { return node_; }
  bool running() const { return broker_ != nullptr; }
  SimulatedProcess& process() { return *process_; }
  // While it runs.
  Broker& broker() { return *broker_; }
  MetricsRegistry& metrics() { return broker_->metrics(); }

  // The one that is on its way to run; null: there is none.
  const Broker* starting() const { return starting_; }

  // Tries until it works; faults of the disk may make that take a while.
  Task<void> start();
  Task<Status> stop_cleanly();
  // Of all clean stops.
  Duration longest_stop() const { return longest_stop_; }
  void kill();
  void cut_power();
  // The process dies, and its machine gets another disk, an empty one.
  void wipe();

  // The last thing in a run: all remains have come to rest.
  Task<void> wait_for_remains();

 private:
  struct Remains {
    // The broker goes first: it was built on the process.
    std::unique_ptr<SimulatedProcess> process;
    std::unique_ptr<Broker> broker;
  };

  Task<Result<std::unique_ptr<Broker>>> start_once();
  Task<Result<std::unique_ptr<CoordinationStore>>> connect(Seams seams);
  void bury();
  Task<void> come_to_rest(Broker& broker);

  SimulatedNode& node_;
  Seams harness_;
  const BrokerConfig config_;
  SimulatedCoordination* const coordination_;
  bool always_upgraded_ = false;
  Duration longest_stop_{0};
  std::unique_ptr<SimulatedProcess> process_;
  std::unique_ptr<Broker> broker_;
  const Broker* starting_ = nullptr;
  std::vector<Remains> remains_;
  TaskGroup burials_;
};

}  // namespace naru::simulation
