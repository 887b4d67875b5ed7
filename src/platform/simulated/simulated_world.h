// A world in one thread: machines, their disks and clocks, a network, and virtual time. One seed decides everything.
//
//     SimulatedWorld world(seed);
//     SimulatedNode& node = world.add_node("broker-1");
//     auto process = node.start();
//     ... build a broker on process->seams(), then
//     world.run_for(10s);
//     node.crash();              // power cut: unsynced data is lost in part
//     process = node.start();    // the same disk, a new process
//
// Failing runs are repeated from their seed; trace_hash() shows whether two runs did the same.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "async/task.h"
#include "platform/simulated/simulated_process.h"

namespace naru {

class SimulatedWorld;

// A machine: what survives its processes.
class SimulatedNode {
 public:
  SimulatedNode(SimulatedWorld& world, std::string host);

  // One process at a time: the one before must be dead, or destroyed.
  std::unique_ptr<SimulatedProcess> start();
  void kill();
  void crash(Unsynced unsynced = Unsynced::mixed);

  bool is_running() const { return running_ != nullptr; }
  // The process that is alive, or null.
  SimulatedProcess* running() const { return running_; }
  const std::string& host() const { return host_; }
  SimulatedFileSystem& disk() { return disk_; }
  SimulatedClock& clock() { return clock_; }

 private:
  void end_process(bool silently);

  SimulatedWorld& world_;
  const std::string host_;
  SimulatedClock clock_;
  SimulatedFileSystem disk_;
  SimulatedProcess* running_ = nullptr;
};

class SimulatedWorld {
 public:
  explicit SimulatedWorld(uint64_t seed);
  ~SimulatedWorld();
  SimulatedWorld(const SimulatedWorld&) = delete;
  SimulatedWorld& operator=(const SimulatedWorld&) = delete;

  SimulatedNode& add_node(std::string host);
  // The machine must exist.
  SimulatedNode& node(std::string_view host);

  MonotonicTime now() const { return queue_.now(); }
  bool step() { return queue_.step(); }
  void run_for(Duration duration);
  // Until nothing is left to happen; only for worlds without periodic timers.
  void run_until_idle();
  // False if `done` is still false after `limit` of virtual time, or nothing is left to happen.
  bool run_until(UniqueFunction<bool()> done, Duration limit);
  // Runs events until the task has ended, which must happen within `limit`.
  void run_task(Task<void> task, Duration limit = 24h);

  uint64_t trace_hash() { return queue_.trace().value(); }
  uint64_t events_run() const { return queue_.events_run(); }
  SimulatedRandom& random() { return random_; }
  SimulatedNetwork& network() { return network_; }
  SimulatedEventQueue& queue() { return queue_; }

 private:
  friend class SimulatedNode;

  SimulatedRandom random_;
  SimulatedEventQueue queue_;
  SimulatedNetwork network_;
  SimulatedEventQueue::Owner next_owner_ = 1;
  std::vector<std::unique_ptr<SimulatedNode>> nodes_;
};

}  // namespace naru
