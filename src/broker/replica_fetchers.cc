#include "broker/replica_fetchers.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace naru {

ReplicaFetchers::ReplicaFetchers(Seams seams, const ReplicationConfig& config, BrokerId self,
                                 UniqueFunction<int64_t() const> broker_epoch, MetricsRegistry& metrics)
    : parts_{.seams = seams,
             .config = config,
             .self = self,
             .broker_epoch = std::move(broker_epoch),
             .fetched_bytes = metrics.counter("naru_replica_fetched_bytes_total", "Bytes of batches from leaders"),
             .failures = metrics.counter("naru_replica_fetch_failures_total",
                                         "Fetches that failed, and partitions that could not be followed for a while")},
      fetchers_gauge_(metrics.computed_gauge("naru_replica_fetchers", "Leaders that are fetched from", {},
                                             [this] { return static_cast<double>(all().size()); })),
      lag_gauge_(metrics.computed_gauge("naru_replica_max_lag_records",
                                        "Committed records that the partition furthest behind its leader lacks", {},
                                        [this] { return static_cast<double>(max_lag()); })) {}

ReplicaFetchers::~ReplicaFetchers() = default;

std::vector<ReplicaFetchers::FetcherPtr> ReplicaFetchers::all() const {
  const std::scoped_lock lock(mutex_);
  std::vector<FetcherPtr> fetchers;
  for (const auto& [leader, fetcher] : fetchers_) fetchers.push_back(fetcher);
  return fetchers;
}

int64_t ReplicaFetchers::max_lag() const {
  int64_t lag = 0;
  for (const auto& fetcher : all()) lag = std::max(lag, fetcher->max_lag());
  return lag;
}

// What a leader does not lead any more is dropped there.
std::map<BrokerId, FollowChanges> ReplicaFetchers::by_leader(FollowChanges changes) {
  std::map<BrokerId, FollowChanges> sorted;
  for (const PartitionKey& key : changes.dropped) {
    const auto known = leaders_.find(key);
    if (known == leaders_.end()) continue;
    --led_[known->second];
    sorted[known->second].dropped.push_back(key);
    leaders_.erase(known);
  }
  for (FollowedPartition& partition : changes.changed) {
    const PartitionIdentity& identity = partition.partition->identity();
    const PartitionKey key{identity.topic_id, identity.index};
    const auto [known, is_new] = leaders_.try_emplace(key, partition.leader);
    if (!is_new && known->second != partition.leader) {
      --led_[known->second];
      sorted[known->second].dropped.push_back(key);
    }
    if (is_new || std::exchange(known->second, partition.leader) != partition.leader) ++led_[partition.leader];
    sorted[partition.leader].changed.push_back(std::move(partition));
  }
  return sorted;
}

void ReplicaFetchers::follow(FollowChanges changes) {
  for (const auto& [leader, change] : by_leader(std::move(changes))) {
    FetcherPtr gone;
    FetcherPtr added;
    FetcherPtr fetcher;
    {
      const std::scoped_lock lock(mutex_);
      FetcherPtr& slot = fetchers_[leader];
      const FollowedPartition* any = change.changed.empty() ? nullptr : &change.changed.front();
      const auto now =
          any ? std::optional(ReplicaFetcher::Leader{leader, any->leader_broker_epoch, any->leader_address})
              : std::nullopt;
      if (slot && (led_[leader] == 0 || (now && slot->leader() != *now))) gone = std::exchange(slot, nullptr);
      if (!slot && now) slot = added = std::make_shared<ReplicaFetcher>(parts_, *now, tasks_);
      fetcher = slot;
      if (!slot) fetchers_.erase(leader);
    }
    if (gone) gone->stop();
    if (fetcher) fetcher->change_partitions(change);
    if (added) added->start();
  }
}

Task<void> ReplicaFetchers::stop() {
  for (const auto& fetcher : all()) fetcher->stop();
  tasks_.cancel();
  co_await tasks_.join();
  const std::scoped_lock lock(mutex_);
  fetchers_.clear();
}

}  // namespace naru
