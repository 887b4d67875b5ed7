// Bounds of what a broker takes: memory by its own accounts, time to stop, and time on a loop. (Files: broker_watch.h.)
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "async/task.h"
#include "foundation/function.h"
#include "foundation/time.h"
#include "observability/memory_budget.h"
#include "platform/seams.h"
#include "simulation/simulated_cluster.h"

namespace naru::simulation {

// Nothing: the accounts keep to their parts, and together to the budget and what may go beyond it: answers that exist
// already, and state that a log holds.
std::optional<std::string> beyond_budget(const MemoryBudget& budget);
// Nothing: no client is there, and nothing is held for one. Producers, sessions and what coordinators know stay.
std::optional<std::string> held_for_nobody(const MemoryBudget& budget);

// How long one event keeps the thread. The processor's time counts, which takes a system call to read, and so it is
// read now and then only; an event that is over soon by the clock on the wall has not used more of it.
class EventMeter {
 public:
  // Work on a loop is done in turns of about a millisecond. This much is for a machine and a build that are slow; what
  // does not depend on the length of a list never takes as long.
  static constexpr Duration kLongest = 500ms;
  static constexpr uint64_t kEventsPerReading = 64;

  struct Clocks {
    UniqueFunction<Duration()> wall;
    UniqueFunction<Duration()> processor;  // of this thread
  };
  static Clocks real_clocks();

  explicit EventMeter(Clocks clocks) : clocks_(std::move(clocks)) {}

  // Before the first event, and after each. `counts`: it was a turn of a loop. What it took, if that was too long.
  std::optional<Duration> passed(bool counts);

 private:
  Clocks clocks_;
  std::optional<Duration> wall_;  // at the last event
  Duration processor_{0};         // at the last reading
  uint64_t events_ = 0;           // since then
};

class BoundsWatch {
 public:
  // Of a stop in which nobody hangs for as long as the limits of its phases allow; logs may need as long.
  static constexpr Duration kLongestStop = 30s;

  BoundsWatch(SimulatedCluster& cluster, Seams harness) : cluster_(cluster), harness_(harness) {}

  void look();
  // No client is left. Brokers of a cluster are clients of each other, and hold what they need for that.
  Task<void> look_without_clients();
  void look_at_stops();
  void took(std::optional<Duration> event);

  const std::optional<std::string>& violation() const { return violation_; }

 private:
  void violated(std::string sentence);

  SimulatedCluster& cluster_;
  const Seams harness_;
  std::optional<std::string> violation_;
};

}  // namespace naru::simulation
