// Which broker may lose what it has, now: faults must leave one copy of everything that was promised, else what the
// checkers find proves nothing.
//
// Everything that is committed is on every member of the in-sync set that the coordination store holds. So a broker
// may lose its data while each of those sets that it is in has another member that runs and has lost nothing since the
// controller has looked at it last. A log with a flipped bit is lost, too, until it is repaired.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "simulation/simulated_cluster.h"
#include "simulation/store_watch.h"

namespace naru::simulation {

class FaultAtlas {
 public:
  FaultAtlas(SimulatedCluster& cluster, const StoreWatch& store) : cluster_(cluster), store_(store) {}

  // Everything, or with the loose rule what was not synced.
  bool may_lose_data(BrokerId id) const;
  // Of any partition with other members.
  bool is_in_sync(BrokerId id) const;
  // The loose rule: after two unclean ends the controller cannot tell who has lost something.
  bool may_end_uncleanly() const;

  // The controller has acted on what happened to it.
  bool is_settled(BrokerId id) const;

  // Of this partition alone.
  bool may_lose_log(BrokerId id, const Uuid& topic_id, PartitionIndex index) const;
  // A bit was flipped in a segment of the broker: this byte is not what it was.
  void flipped(BrokerId id, const Uuid& topic_id, PartitionIndex index, std::string segment, uint64_t position);
  // Everything that was flipped is repaired, or gone.
  bool any_damage() const;

  enum class End : uint8_t { unclean, lossy };
  void ended(BrokerId id, End end);
  // How often that has happened.
  int times_ended(BrokerId id) const;

 private:
  struct Ended {
    int64_t epoch = -1;  // of its registration at that time
    End end = End::unclean;
    int times = 0;
  };
  struct Flip {
    BrokerId broker;
    Uuid topic_id;
    PartitionIndex index;
    std::string segment;
    uint64_t position = 0;
    Bytes around;  // the flipped byte, and what is beside it
  };
  static Bytes bytes_around(SimulatedFileSystem& disk, const std::string& segment, uint64_t position);
  SimulatedFileSystem& disk_of(BrokerId id) const;
  bool is_there(const Flip& flip) const;
  bool is_trustworthy(BrokerId id, const PartitionState& state) const;
  bool may_lose(BrokerId id, const PartitionState& state) const;

  SimulatedCluster& cluster_;
  const StoreWatch& store_;
  std::map<BrokerId, Ended> ended_;
  std::vector<Flip> flips_;
};

}  // namespace naru::simulation
