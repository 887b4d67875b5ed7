// Compares the groups and the transactions that coordinators serve with what their logs say.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>

#include "async/task.h"
#include "coordinator_runtime/coordinator_shard.h"
#include "coordinator_runtime/state_shard.h"
#include "simulation/simulated_cluster.h"
#include "simulation/store_watch.h"

namespace naru::simulation {

// What a coordinator holds is a function of its log: the next one, which knows nothing else, goes on from there. So a
// shard that serves, and waits for nothing that it has written, is equal to one that has applied its log to the end;
// also to what is not committed, because that is its own, or was there before it began.
//
// One that was loaded in an earlier leader epoch than its partition is led in may have missed what others have written
// in between: until the broker has stopped it, it writes nothing.
class CoordinatorWatch {
 public:
  CoordinatorWatch(SimulatedCluster& cluster, const StoreWatch& store) : cluster_(cluster), store_(store) {}

  // Reads what the logs have got since the last look. The comparison itself happens at one moment.
  Task<void> look();
  // Looks for coordinators that their partitions should not obey any more; waits for nothing.
  void look_for_outdated(SimulatedBroker& broker);
  // Reads whole logs, as they are now: after compaction, perhaps.
  Task<void> look_anew();

  // Shards that were compared, each as often as it was.
  uint64_t compared() const { return compared_; }
  const std::optional<std::string>& violation() const { return violation_; }

 private:
  enum class Kind : uint8_t { groups, transactions };
  struct Replay {
    std::weak_ptr<CoordinatorShard> shard;
    std::unique_ptr<StateShard> state;
    Offset end;     // of what was applied
    int reads = 0;  // that it took
  };
  using Name = std::tuple<BrokerId, Kind, PartitionIndex>;

  Task<void> look_at(std::shared_ptr<CoordinatorShard> shard, Kind kind, BrokerId broker);
  void look_for_outdated(const std::shared_ptr<CoordinatorShard>& shard, BrokerId broker);
  Replay& replay_of(const std::shared_ptr<CoordinatorShard>& shard, const Name& name, Offset log_start);
  // Nothing: they hold the same, or cannot be compared now.
  std::string compare(const std::shared_ptr<CoordinatorShard>& shard, Kind kind, const Replay& replay);
  static std::unique_ptr<StateShard> make(Kind kind);
  // Nothing: they hold the same.
  static std::string difference(Kind kind, const StateShard& live, const StateShard& replayed);

  SimulatedCluster& cluster_;
  const StoreWatch& store_;
  std::map<Name, std::unique_ptr<Replay>> replays_;
  uint64_t compared_ = 0;
  std::optional<std::string> violation_;
};

}  // namespace naru::simulation
