// Looks for damage in this broker's logs, and lets it be repaired.
//
// Every naru.log.verify.interval.ms all of them are read again, one partition after the other, at most
// naru.log.verify.max.bytes.per.second; a log that something else found to be damaged, or that seems to be, at once.
//
// Damage is found, and another replica is in sync: the log goes offline, the controller is told, another replica leads,
// PartitionKeeper cuts off what is damaged, and it comes back from the leader. Where no other replica is in sync, the
// log stays online and serves what is whole, until there is one.
//
// Why not at every read: docs/decisions/0013-verification-in-the-background.md.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

#include "async/task.h"
#include "async/task_group.h"
#include "broker/hosted_partitions.h"
#include "broker/live_config.h"
#include "cluster_control/change_signal.h"
#include "cluster_control/metadata_image.h"
#include "log_storage/compaction_throttle.h"
#include "log_storage/log_verification.h"
#include "observability/metrics_registry.h"
#include "platform/seams.h"
#include "replication/cluster_contact.h"
#include "replication/partition.h"

namespace naru {

// Whether a damaged replica may go offline, so that it can be repaired: it is in sync, which the controller will end,
// and another member of the in-sync set is registered and can use its log.
bool may_hand_over(const MetadataImage& image, const LogId& id, BrokerId self);

// Thread-safe. Life: start() once, stop() once before the partitions are closed.
class LogVerifier {
 public:
  struct Parts {
    Seams seams;
    BrokerId self;
    const LiveConfig& live_config;
    const HostedPartitions& hosted;
    std::function<MetadataImagePtr()> image;
    const ClusterContact& contact;
    MetricsRegistry& metrics;
  };
  explicit LogVerifier(Parts parts);

  void start();
  void obey_config() { news_.notify(); }
  Task<void> stop();

  // Something in this log may be damaged. Also inside of a partition's strand.
  void suspect(const LogId& id);

  // What is damaged here and served, but for that; by log.
  std::map<LogId, LogDamage> damaged() const;

 private:
  using PartitionPtr = std::shared_ptr<Partition>;

  Task<void> verify_all_for_ever();
  Task<void> verify_suspects_for_ever();
  Task<void> look_after_damaged_for_ever();
  Task<void> verify(PartitionPtr partition);
  Task<void> verify_suspects();
  void found(const Partition& partition, const LogDamage& damage);
  Task<void> look_after_damaged();
  Task<void> look_after(LogId id);
  std::set<LogId> take_suspects();
  void forget(const LogId& id);

  Parts parts_;
  Counter& verified_bytes_;
  Counter& damaged_segments_;
  CompactionThrottle throttle_;
  ChangeSignal news_;

  mutable std::mutex mutex_;
  std::set<LogId> suspects_;
  std::map<LogId, LogDamage> damaged_;
  std::map<LogId, MonotonicTime> whole_until_;  // suspects that were verified in vain
  TaskGroup tasks_;
  GaugeCallback damaged_gauge_;
};

}  // namespace naru
