// Writes the markers of transactions into partitions that are led here.
#pragma once

#include <string>
#include <vector>

#include "async/task.h"
#include "async/task_group.h"
#include "broker/group_coordinators.h"
#include "broker/hosted_partitions.h"
#include "platform/seams.h"
#include "replication/partition.h"

namespace naru {

struct MarkerToWrite {
  std::string topic;
  PartitionIndex partition;
  MarkerRequest request;
};

// Thread-safe. Everything it is made of outlives it.
class MarkerWriter {
 public:
  MarkerWriter(Seams seams, const HostedPartitions& hosted, GroupCoordinators& groups)
      : seams_(seams), hosted_(hosted), groups_(groups) {}

  // All at once; returns when each is committed, refused, or was waited for long enough. Results in their order.
  // request_timed_out: it may have been written.
  Task<std::vector<Status>> write(std::vector<MarkerToWrite> markers);

  // After the groups have stopped.
  Task<void> stop() { return tasks_.join(); }

 private:
  Task<void> write_to_group(MarkerToWrite marker, std::shared_ptr<AppendGroup> group, size_t slot);

  Seams seams_;
  const HostedPartitions& hosted_;
  GroupCoordinators& groups_;
  TaskGroup tasks_;
};

}  // namespace naru
