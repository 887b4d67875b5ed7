#include "cluster_control/broker_standings.h"

#include <algorithm>

namespace naru {
namespace {

// A broker of which nothing is known yet has nothing to lose.
DataLoss loss_of(const BrokerMetadata& broker, const KnownBroker& known) {
  const auto is_missing = [&broker](const Uuid& id) {
    return std::ranges::find(broker.directory_ids, id) == broker.directory_ids.end();
  };
  const auto missing = static_cast<size_t>(std::ranges::count_if(known.directory_ids, is_missing));
  if (missing > 0) return missing == known.directory_ids.size() ? DataLoss::everything : DataLoss::some;
  return broker.clean_shutdown ? DataLoss::nothing : DataLoss::unsynced;
}

}  // namespace

BrokerStandings::BrokerStandings(const MetadataImage& image, const BrokerReports& reports) {
  for (const auto& [id, broker] : image.brokers()) {
    BrokerStanding& standing = registered_[id];
    standing.registered = true;
    const auto asked = reports.stopping.find(id);
    standing.stopping = asked != reports.stopping.end() && asked->second == broker.epoch;
    if (image.is_settled(id)) {
      // Only then: whoever counts as not there is not asked what it has lost, and that is forgotten with the settling.
      const auto told = reports.offline.find(id);
      if (told != reports.offline.end() && told->second->broker_epoch == broker.epoch) offline_.insert(*told);
      continue;
    }
    standing.returned = true;
    const auto found = image.known_brokers().find(id);
    const KnownBroker known = found == image.known_brokers().end() ? KnownBroker() : found->second;
    standing.loss = loss_of(broker, known);
    standing.known_since = known.settled_epoch;
  }
}

BrokerStandings BrokerStandings::settled_only() const {
  BrokerStandings settled = *this;
  std::erase_if(settled.registered_, [](const auto& broker) { return broker.second.returned; });
  return settled;
}

BrokerStanding BrokerStandings::of(BrokerId id) const {
  const auto found = registered_.find(id);
  return found == registered_.end() ? BrokerStanding{} : found->second;
}

BrokerStanding BrokerStandings::of(BrokerId id, const PartitionState& partition) const {
  const auto told = offline_.find(id);
  const bool offline =
      told != offline_.end() && told->second->partitions.contains({partition.topic_id, partition.index});
  return offline ? BrokerStanding{} : of(id);
}

}  // namespace naru
