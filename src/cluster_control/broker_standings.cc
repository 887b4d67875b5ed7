#include "cluster_control/broker_standings.h"

#include <algorithm>
#include <utility>

#include "foundation/canary.h"

namespace naru {
namespace {

// A broker of which nothing is known yet has nothing to lose.
DataLoss loss_of(const BrokerMetadata& broker, const KnownBroker& known) {
  const auto is_missing = [&broker](const Uuid& id) {
    return std::ranges::find(broker.directory_ids, id) == broker.directory_ids.end();
  };
  const auto missing = static_cast<size_t>(std::ranges::count_if(known.directory_ids, is_missing));
  if (missing > 0 && missing == known.directory_ids.size()) return DataLoss::everything;
  const bool rolled_back = !known.rolled_back.empty() && !is_planted(Canary::older_copy_counts);
  if (missing > 0 || rolled_back) return DataLoss::some;
  return broker.clean_shutdown ? DataLoss::nothing : DataLoss::unsynced;
}

}  // namespace

BrokerStandings::BrokerStandings(const MetadataImage& image, const StoppingBrokers& stopping) {
  for (const auto& [id, broker] : image.brokers()) {
    const KnownBroker known = image.known_broker(id);
    BrokerStanding& standing = registered_[id];
    standing.registered = true;
    const auto asked = stopping.find(id);
    standing.stopping = asked != stopping.end() && asked->second == broker.epoch;
    if (auto offline = known.offline_in(broker.epoch)) offline_.emplace(id, std::move(offline));
    if (image.is_settled(id)) continue;
    standing.returned = true;
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
  const bool offline = told != offline_.end() && partition.replicas.size() > 1 &&
                       told->second->partitions.contains({partition.topic_id, partition.index});
  if (!offline) return of(id);
  // The loss is forgotten with the settling, so it counts now: the log may be usable again later.
  return {.loss = of(id).loss};
}

}  // namespace naru
