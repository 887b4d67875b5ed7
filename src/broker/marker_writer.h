// Writes the markers of transactions into partitions that are led here.
#pragma once

#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "async/cancellation.h"
#include "async/task.h"
#include "async/task_group.h"
#include "broker/group_coordinators.h"
#include "broker/hosted_partitions.h"
#include "broker/turns.h"
#include "log_storage/unsynced_logs.h"
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
  MarkerWriter(Seams seams, const HostedPartitions& hosted, GroupCoordinators& groups, UnsyncedLogs& unsynced_logs)
      : seams_(seams), hosted_(hosted), groups_(groups), unsynced_logs_(unsynced_logs) {}

  // All at once; returns when each is committed, refused, or was waited for long enough. Results in their order.
  // request_timed_out: it may have been written, and nobody waits for it; who wants to know asks again.
  // `turns`: of a handler whose client chose how many they are; settled once all are in their partitions' queues.
  Task<std::vector<Status>> write(std::vector<MarkerToWrite> markers, CancelToken cancelled, Turns* turns = nullptr);

  // After the groups have stopped, and the last caller.
  Task<void> stop() {
    tasks_.cancel();
    return tasks_.join();
  }

 private:
  // What a group's coordinator is asked to write: partition, producer, epoch and number.
  using Asked = std::tuple<PartitionIndex, ProducerId, ProducerEpoch, TransactionNumber>;

  Task<void> write_to_group(MarkerToWrite marker, std::shared_ptr<AppendGroup> group, size_t slot);
  Task<Status> ask_group(const MarkerToWrite& marker);
  Task<Status> ask_partition(const MarkerToWrite& marker);

  Seams seams_;
  const HostedPartitions& hosted_;
  GroupCoordinators& groups_;
  UnsyncedLogs& unsynced_logs_;
  std::mutex mutex_;
  std::set<Asked> asked_;  // and not answered yet
  TaskGroup tasks_;
};

}  // namespace naru
