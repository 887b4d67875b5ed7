// Tells the controller which logs of this broker cannot be used, so that others lead those partitions, and count as in
// sync in them.
//
// What it has told is part of the metadata, so that a new controller knows it. Told again whenever the metadata says
// otherwise: whatever was lost on the way, the last word is this broker's. What cannot be used when the broker starts
// is told by its registration. Partitions without another replica are not told: nobody could take over, and the error
// of their leader says more than that there is none.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

#include "async/task.h"
#include "async/task_group.h"
#include "broker/hosted_partitions.h"
#include "cluster_control/broker_standings.h"
#include "cluster_control/change_signal.h"
#include "cluster_control/metadata_publisher.h"
#include "platform/seams.h"
#include "replication/partition.h"

namespace naru {

// Thread-safe. Everything it is made of outlives it. Stopped before it is destroyed, if it was started.
class OfflineLogReporter final : public OfflineLogObserver {
 public:
  struct Parts {
    Seams seams;
    BrokerId self;
    const HostedPartitions& hosted;
    const MetadataPublisher& metadata;
    std::function<bool(const MetadataImage&)> has_roles;  // whether this registration is one that the controller knows
    std::function<int64_t()> broker_epoch;
    std::function<Task<Status>(PartitionIds)> report;  // to the controller
  };
  explicit OfflineLogReporter(Parts parts);

  void offline_logs_changed() override;
  // After the partitions have followed the newest image.
  void follow_metadata();

  void start() { background_.spawn(report_for_ever()); }
  Task<void> stop();

 private:
  Task<void> report_for_ever();
  Task<Status> report_if_needed();
  static PartitionIds replicated(const MetadataImage& image, const PartitionIds& logs);
  bool is_ignored(const MetadataImage& image, const PartitionIds& partitions) const;

  Parts parts_;
  ChangeSignal news_;
  std::atomic<bool> look_again_{false};   // at the logs
  std::atomic<bool> any_offline_{false};  // or any that were told to be
  // The coroutine's.
  PartitionIds offline_;
  TaskGroup background_;
};

}  // namespace naru
