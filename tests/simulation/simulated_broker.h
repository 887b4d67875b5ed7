// A broker that can be started, stopped, killed and cut from power, with what is left of earlier ones.
#pragma once

#include <memory>
#include <vector>

#include "async/task_group.h"
#include "broker/broker.h"
#include "platform/simulated/simulated_world.h"

namespace naru::simulation {

class SimulatedBroker {
 public:
  static constexpr uint16_t kPort = 9092;

  // `harness` is where waiting happens that must survive the broker.
  SimulatedBroker(SimulatedNode& node, Seams harness, BrokerConfig config)
      : node_(node), harness_(harness), config_(std::move(config)) {}

  Endpoint address() const { return {node_.host(), kPort}; }
  SimulatedNode& node() { return node_; }
  bool running() const { return broker_ != nullptr; }
  SimulatedProcess& process() { return *process_; }
  MetricsRegistry& metrics() { return broker_->metrics(); }

  // Tries until it works; faults of the disk may make that take a while.
  Task<void> start();
  Task<Status> stop_cleanly();
  void kill();
  void cut_power();

  // The last thing in a run: all remains have come to rest.
  Task<void> wait_for_remains();

 private:
  struct Remains {
    // The broker goes first: it was built on the process.
    std::unique_ptr<SimulatedProcess> process;
    std::unique_ptr<Broker> broker;
  };

  void bury();
  Task<void> come_to_rest(Broker& broker);

  SimulatedNode& node_;
  Seams harness_;
  const BrokerConfig config_;
  std::unique_ptr<SimulatedProcess> process_;
  std::unique_ptr<Broker> broker_;
  std::vector<Remains> remains_;
  TaskGroup burials_;
};

}  // namespace naru::simulation
