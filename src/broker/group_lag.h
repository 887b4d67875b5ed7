// How far groups are behind, as metrics: naru_group_lag_records and naru_group_lag_seconds, by group and topic.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "async/task.h"
#include "broker/hosted_partitions.h"
#include "coordinator_runtime/coordinator_runtime.h"
#include "foundation/time.h"
#include "observability/metrics_registry.h"
#include "platform/clock.h"
#include "platform/scheduler.h"

namespace naru {

// One measure() at a time. Everything it is made of outlives it.
class GroupLag {
 public:
  GroupLag(const HostedPartitions& hosted, Clock& clock, Scheduler& scheduler, MetricsRegistry& metrics);
  ~GroupLag();

  // Looks at every committed offset of the groups that are coordinated here, whose partitions are here too.
  Task<void> measure(const CoordinatorRuntime& runtime);

 private:
  using GroupAndTopic = std::pair<std::string, std::string>;
  struct Lag {
    int64_t records = 0;
    int64_t oldest_ms = 0;  // how long the oldest unread record has been waiting
  };
  struct Series;

  Task<void> measure_shard(std::shared_ptr<CoordinatorShard> shard, std::map<GroupAndTopic, Lag>& lags);
  Task<void> measure_group(std::shared_ptr<CoordinatorShard> shard, std::string group,
                           std::map<GroupAndTopic, Lag>& lags);
  Task<int64_t> age_of_record(std::shared_ptr<Partition> partition, Offset offset);
  void publish(const std::map<GroupAndTopic, Lag>& lags);

  const HostedPartitions& hosted_;
  Clock& clock_;
  Scheduler& scheduler_;
  MetricsRegistry& metrics_;
  std::map<GroupAndTopic, std::unique_ptr<Series>> series_;
};

}  // namespace naru
