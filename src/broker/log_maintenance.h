// Periodic work on the logs of this broker: closing and removing old segments.
#pragma once

#include "async/task.h"
#include "async/task_group.h"
#include "broker/hosted_partitions.h"
#include "configuration/broker_config.h"
#include "observability/metrics_registry.h"
#include "platform/seams.h"

namespace naru {

// Goes over all hosted partitions every log.retention.check.interval.ms, one after the other. A partition that is
// deleted or closed meanwhile refuses, and is passed over.
// Life: start() once, stop() once before the partitions are closed.
class LogMaintenance {
 public:
  LogMaintenance(Seams seams, const BrokerConfig& config, const HostedPartitions& hosted, MetricsRegistry& metrics);

  void start();
  Task<void> stop();

 private:
  Task<void> retain_forever();
  Task<void> retain(std::shared_ptr<Partition> partition);

  Seams seams_;
  const BrokerConfig& config_;
  const HostedPartitions& hosted_;
  Counter& removed_segments_;
  Counter& removed_bytes_;
  TaskGroup tasks_;
};

}  // namespace naru
