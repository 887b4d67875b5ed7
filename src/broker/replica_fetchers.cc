#include "broker/replica_fetchers.h"

#include <algorithm>
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

std::vector<std::shared_ptr<ReplicaFetcher>> ReplicaFetchers::all() const {
  const std::scoped_lock lock(mutex_);
  std::vector<std::shared_ptr<ReplicaFetcher>> fetchers;
  for (const auto& [leader, fetcher] : fetchers_) fetchers.push_back(fetcher);
  return fetchers;
}

int64_t ReplicaFetchers::max_lag() const {
  int64_t lag = 0;
  for (const auto& fetcher : all()) lag = std::max(lag, fetcher->max_lag());
  return lag;
}

void ReplicaFetchers::follow(std::vector<FollowedPartition> partitions) {
  std::map<BrokerId, std::vector<FollowedPartition>> by_leader;
  for (FollowedPartition& partition : partitions) by_leader[partition.leader].push_back(std::move(partition));
  std::vector<std::shared_ptr<ReplicaFetcher>> gone;
  std::vector<std::shared_ptr<ReplicaFetcher>> added;
  {
    const std::scoped_lock lock(mutex_);
    std::erase_if(fetchers_, [&](const auto& entry) {
      const auto found = by_leader.find(entry.first);
      const bool same =
          found != by_leader.end() &&
          entry.second->leader() == ReplicaFetcher::Leader{entry.first, found->second.front().leader_broker_epoch,
                                                           found->second.front().leader_address};
      if (!same) gone.push_back(entry.second);
      return !same;
    });
    for (const auto& [leader, followed] : by_leader) {
      if (fetchers_.contains(leader)) continue;
      added.push_back(std::make_shared<ReplicaFetcher>(
          parts_, ReplicaFetcher::Leader{leader, followed.front().leader_broker_epoch, followed.front().leader_address},
          tasks_));
      fetchers_.emplace(leader, added.back());
    }
  }
  for (const auto& fetcher : gone) fetcher->stop();
  for (const auto& fetcher : all()) fetcher->set_partitions(by_leader[fetcher->leader().id]);
  for (const auto& fetcher : added) fetcher->start();
}

Task<void> ReplicaFetchers::stop() {
  for (const auto& fetcher : all()) fetcher->stop();
  tasks_.cancel();
  co_await tasks_.join();
  const std::scoped_lock lock(mutex_);
  fetchers_.clear();
}

}  // namespace naru
