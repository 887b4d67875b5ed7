// Stopping in phases, each of which has a limit: what others do, or fail to do, does not hold a broker up for ever.
#pragma once

#include <string_view>

#include "async/cancellation.h"
#include "async/task.h"
#include "async/task_group.h"
#include "foundation/time.h"
#include "platform/seams.h"

namespace naru {

// How long the phases take at most, whatever clients, other brokers and the coordination service do. Of a stop in which
// nothing hangs they take milliseconds. Closing the logs takes what their disks need for what is not synced.
namespace stop_limits {

constexpr Duration kHandOver = 10s;     // until others lead what this broker led
constexpr Duration kCoordinators = 4s;  // what is on its way to the logs of groups and transactions
constexpr Duration kConnections = 10s;  // requests in flight; then their connections are cut
constexpr Duration kRequests = 2s;      // those whose connections are gone
constexpr Duration kCluster = 3s;       // fetchers, and what is being asked of the controller
constexpr Duration kController = 3s;    // what it does by itself
constexpr Duration kStore = 6s;         // the end of its session
constexpr Duration kAllButLogs = kHandOver + kCoordinators + kConnections + kRequests + kCluster + kController + kStore;

// Between two lines of the log about the same phase, if it has no limit.
constexpr Duration kMentioned = 10s;

}  // namespace stop_limits

// One stop of a broker. Thread-safe, one call at a time. The log says how long each phase took, at level info if that
// is long.
class StopPhases {
 public:
  explicit StopPhases(Seams seams) : seams_(seams) {}

  // Returns when the work is done, or after `longest`: then it goes on by itself, and must end when what it waits for
  // is closed by a later phase. On a loop.
  Task<void> run(std::string_view name, Duration longest, Task<void> work);
  // Returns when the work is done: work that waits for disks only, or has a limit of its own. As long as it takes, the
  // log says every now and then what the stop is waiting for. On a loop.
  Task<void> run_to_the_end(std::string_view name, Task<void> work);
  // Returns when nothing that was left behind goes on any more. Once, at the end.
  Task<void> join() { return running_.join(); }

 private:
  Task<void> mention(std::string_view name, MonotonicTime begun, CancelToken ended);
  void report(std::string_view name, Duration took) const;

  const Seams seams_;
  TaskGroup running_;
};

}  // namespace naru
