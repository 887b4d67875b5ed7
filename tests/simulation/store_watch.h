// Looks at every change of the coordination service's contents: elections and changes of in-sync sets are decided
// there, so what must never happen to them shows there at once.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "cluster_control/metadata_image.h"
#include "coordination_store/store_state.h"

namespace naru::simulation {

class StoreWatch {
 public:
  // After each change. Unclean elections are not allowed in the runs that it watches.
  void look(const StoreState& state);

  // A follower that has come into an in-sync set.
  struct Joined {
    BrokerId leader;
    BrokerId broker;
  };
  // With the newest change; empty: nobody.
  const std::vector<Joined>& joined() const { return joined_; }

  // What the contents say now.
  const MetadataImage& image() const { return *image_; }
  // Who was elected in an epoch; kNoBroker: nobody, or there was no such epoch.
  BrokerId leader_of(const Uuid& topic_id, PartitionIndex index, LeaderEpoch epoch) const;
  // Who has come into the in-sync set under this leader, and may have left it again.
  std::set<BrokerId> joined_under(const Uuid& topic_id, PartitionIndex index, LeaderEpoch epoch) const;

  const std::optional<std::string>& violation() const { return violation_; }

 private:
  void look_at_controller(const ClusterMetadata& before, const ClusterMetadata& now);
  void look_at_topic(const TopicMetadata* before, const TopicMetadata& now);
  void look_at_partition(const std::string& name, const PartitionState& before, const PartitionState& now);
  void note_joined(const PartitionState& before, const PartitionState& now);
  void violated(std::string sentence);

  MetadataImagePtr image_ = std::make_shared<const MetadataImage>();
  std::map<std::string, KeyVersion> versions_;
  std::map<int32_t, Uuid> controllers_;  // by controller epoch
  std::map<std::tuple<Uuid, PartitionIndex, LeaderEpoch>, BrokerId> leaders_;
  std::map<std::tuple<Uuid, PartitionIndex, LeaderEpoch>, std::set<BrokerId>> joined_ever_;
  std::vector<Joined> joined_;
  std::optional<std::string> violation_;
};

}  // namespace naru::simulation
