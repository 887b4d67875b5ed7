// Looks into running brokers: what each believes to be, and whether those beliefs go together and with what clients
// were promised.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "async/task.h"
#include "replication/partition.h"
#include "simulation/fault_atlas.h"
#include "simulation/history.h"
#include "simulation/simulated_cluster.h"
#include "simulation/store_watch.h"

namespace naru::simulation {

class BrokerWatch {
 public:
  BrokerWatch(SimulatedCluster& cluster, const StoreWatch& store, const FaultAtlas& atlas, const History& history,
              const Clock& clock)
      : cluster_(cluster), store_(store), atlas_(atlas), history_(history), clock_(clock) {}

  // At most one controller in an epoch, at most one leader of a partition in an epoch, which is the elected one, and
  // leads in another one after it was killed: others may have seen more of its log than is left of it; a
  // leader of the newest epoch has everything that was acknowledged as soon as it knows its high watermark; and so has
  // every member of the in-sync set, synced where acknowledgements wait for that. The same for what a leader has told
  // to be committed, and for where it says that earlier epochs end: both are final. Whoever comes into the in-sync set
  // has everything that the leader had when it began to lead. A leader reckons with the election
  // of everybody whom the controller may elect. One that was replaced stops to take records, whatever acknowledgement
  // they want, within the time that it may take to notice. A broker that starts neither leads nor follows before the
  // controller has acted on its return.
  Task<void> look();
  // Of every partition, and of a broker that is alone as well: compaction has removed nothing for the sake of records
  // that a power cut may take.
  Task<void> look_at_compaction();
  // When all replicas are in sync and nobody writes: what they have in common is the same in all of them.
  Task<void> compare_replicas();

  const std::optional<std::string>& violation() const { return violation_; }

 private:
  struct Replica;
  using Contents = std::map<Offset, uint64_t>;  // a hash of each record

  void look_for_settled();
  Task<void> look_at_start(std::vector<std::shared_ptr<Partition>> partitions, BrokerId broker);
  void look_at_files(SimulatedBroker& broker, size_t partitions);
  Task<void> look_at(std::shared_ptr<Partition> partition, BrokerId broker);
  void look_at_leader(const PartitionIdentity& identity, const PartitionView& view, const PartitionState* state,
                      BrokerId broker);
  // It leads, as far as it knows.
  Task<void> look_at_decisions(std::shared_ptr<Partition> partition, LeaderEpoch epoch, const PartitionState* state,
                               BrokerId broker);
  Task<void> look_at_epochs(std::shared_ptr<Partition> partition, LeaderEpoch epoch);
  // Nobody comes into the in-sync set without everything that an earlier leader may have promised.
  Task<void> look_at_joined(std::shared_ptr<Partition> partition, LeaderEpoch epoch);
  Task<void> look_at_electable(std::shared_ptr<Partition> partition, BrokerId broker);
  const PartitionState* state_of(const PartitionIdentity& identity) const;
  // Everything below `end` is final.
  void is_final(const PartitionIdentity& identity, Offset end);
  Offset final_end(const PartitionIdentity& identity) const;
  void look_at_member(const PartitionIdentity& identity, const FollowerPosition& position, BrokerId broker);
  Task<std::optional<Replica>> read(std::shared_ptr<Partition> partition, BrokerId broker);
  void compare(const std::string& name, const Replica& one, const Replica& other);
  void violated(std::string sentence);

  SimulatedCluster& cluster_;
  const StoreWatch& store_;
  const FaultAtlas& atlas_;
  const History& history_;
  const Clock& clock_;
  std::map<int32_t, BrokerId> controllers_;
  struct Leader {
    BrokerId broker;
    int unclean_ends = 0;                   // before it led
    std::optional<MonotonicTime> replaced;  // a later leader was seen then
    std::optional<Offset> epoch_start;      // where its log ended when it began to lead
  };
  std::map<std::tuple<Uuid, PartitionIndex, LeaderEpoch>, Leader> leaders_;
  std::map<std::pair<Uuid, PartitionIndex>, Offset> final_ends_;
  std::set<BrokerId> settled_starts_;  // of those that start: the controller has acted on their return
  std::optional<std::string> violation_;
};

}  // namespace naru::simulation
