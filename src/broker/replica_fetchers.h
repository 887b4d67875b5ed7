// Everything that this broker follows, fetched from its leaders: one ReplicaFetcher for each of them.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "async/task.h"
#include "async/task_group.h"
#include "broker/replica_fetcher.h"
#include "observability/metrics_registry.h"

namespace naru {

// follow() one at a time, and not after stop(); the partitions have heard of their assignments before.
class ReplicaFetchers {
 public:
  // `broker_epoch`: of this broker, as it is registered now; called on any thread.
  ReplicaFetchers(Seams seams, const ReplicationConfig& config, BrokerId self,
                  UniqueFunction<int64_t() const> broker_epoch, MetricsRegistry& metrics);
  ~ReplicaFetchers();

  // Costs as much as there is changed.
  void follow(FollowChanges changes);
  // Returns when nothing is fetched or stored any more. Once, before the partitions are closed.
  Task<void> stop();

  // Records that the partition that is furthest behind lacks. Any thread.
  int64_t max_lag() const;

 private:
  using FetcherPtr = std::shared_ptr<ReplicaFetcher>;

  std::vector<FetcherPtr> all() const;
  std::map<BrokerId, FollowChanges> by_leader(FollowChanges changes);

  ReplicaFetcherParts parts_;
  TaskGroup tasks_;
  mutable std::mutex mutex_;
  std::map<BrokerId, FetcherPtr> fetchers_;   // by leader
  std::map<PartitionKey, BrokerId> leaders_;  // of follow() alone
  std::map<BrokerId, size_t> led_;            // how many each of them leads
  GaugeCallback fetchers_gauge_;
  GaugeCallback lag_gauge_;
};

}  // namespace naru
