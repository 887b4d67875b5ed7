// What one simulated process sees of the world. Its machine outlives it, and so does everything on the machine's disk.
//
// After its death (SimulatedNode::kill or crash) the objects of a broker still exist in the test's memory. They may be
// shut down in an orderly way: timers and posts go on, but every file call fails and every connection is broken, so
// nothing they do is seen by anybody. Or they may be left alone: destroying the process drops their pending events
// unrun. What the process was given must not outlive it.
#pragma once

#include <memory>

#include "platform/seams.h"
#include "platform/simulated/simulated_clock.h"
#include "platform/simulated/simulated_file_system.h"
#include "platform/simulated/simulated_network.h"
#include "platform/simulated/simulated_random.h"
#include "platform/simulated/simulated_scheduler.h"

namespace naru {

class SimulatedNode;

class SimulatedProcess {
 public:
  // Ends the process, if it is not dead yet.
  ~SimulatedProcess();
  SimulatedProcess(const SimulatedProcess&) = delete;
  SimulatedProcess& operator=(const SimulatedProcess&) = delete;

  Seams seams();
  SimulatedScheduler& scheduler() { return scheduler_; }
  bool is_alive() const { return alive_; }
  // Nothing of it runs for a while; the world around it goes on.
  void pause(Duration length);

 private:
  friend class SimulatedNode;
  class Files;
  class Sockets;

  SimulatedProcess(SimulatedNode& node, SimulatedNetwork& network, SimulatedEventQueue::Owner owner);
  void die(bool silently);

  SimulatedNode& node_;
  SimulatedNetwork& network_;
  SimulatedRandom random_;
  SimulatedScheduler scheduler_;
  NetworkPeer peer_;
  bool alive_ = true;
  std::unique_ptr<Files> files_;
  std::unique_ptr<Sockets> transport_;
};

}  // namespace naru
