// Periodic work on the logs of this broker: closing, removing and compacting old segments, and closing idle files.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <utility>

#include "async/task.h"
#include "async/task_group.h"
#include "broker/hosted_partitions.h"
#include "broker/live_config.h"
#include "configuration/broker_config.h"
#include "foundation/function.h"
#include "foundation/sip_hash.h"
#include "log_storage/open_files.h"
#include "observability/metrics_registry.h"
#include "platform/seams.h"
#include "replication/partition_compaction.h"

namespace naru {

// Retention goes over all hosted partitions 30 s after the start and every log.retention.check.interval.ms, one after
// the other. Compaction takes the dirtiest log that needs it, log.cleaner.threads of them at a time, and looks again
// every log.cleaner.backoff.ms when none does; all of them share log.cleaner.io.max.bytes.per.second. These keys are
// obeyed while it runs. A partition that is deleted or
// closed meanwhile refuses, and is passed over. Files that are not used for a minute or two are closed. Life: start()
// once, stop() once before the partitions are closed.
class LogMaintenance {
 public:
  LogMaintenance(Seams seams, const BrokerConfig& config, const LiveConfig& live_config, const HostedPartitions& hosted,
                 OpenFiles& open_files, MetricsRegistry& metrics);

  void start();
  // Before start(): who wants to know of logs whose compaction came across damage.
  void when_damaged(UniqueFunction<void(const LogId&)> tell) { tell_damaged_ = std::move(tell); }
  void obey_config();  // log.cleaner.threads may have changed
  Task<void> stop();
  // How many logs may be compacted at the same time now.
  size_t compactions() const;

 private:
  using PartitionPtr = std::shared_ptr<Partition>;
  using PartitionKey = std::pair<Uuid, PartitionIndex>;
  struct Metrics {
    explicit Metrics(MetricsRegistry& registry);
    Counter& removed_segments;
    Counter& removed_bytes;
    Counter& compactions;
    Counter& compaction_failures;
    Counter& compaction_read_bytes;
    Counter& compaction_replaced_bytes;
    Counter& compaction_written_bytes;
    Counter& compaction_removed_records;
    Gauge& dirtiest_percent;
    Gauge& log_bytes;
    Gauge& log_segments;
  };

  Task<void> retain_forever();
  Task<void> retain(PartitionPtr partition);
  Task<void> measure();
  Task<void> close_unused_files_forever();
  // Until there are `index` compactions or fewer.
  Task<void> compact_forever(size_t index);
  bool is_surplus(size_t index);
  // True: something was compacted, so it is worth looking again at once.
  Task<bool> compact_dirtiest();
  Task<bool> compact(PartitionPtr partition);
  bool is_given_up(const Partition& partition);

  Seams seams_;
  const BrokerConfig& config_;
  const LiveConfig& live_config_;
  const HostedPartitions& hosted_;
  OpenFiles& open_files_;
  Metrics metrics_;
  const SipKey hash_key_;
  CompactionThrottle throttle_;
  UniqueFunction<void(const LogId&)> tell_damaged_;

  mutable std::mutex mutex_;
  std::set<size_t> compacting_;  // by index
  bool stopped_ = false;
  std::map<PartitionKey, MonotonicTime> given_up_until_;  // logs that could not be compacted
  TaskGroup tasks_;
};

}  // namespace naru
