// Brings what leaders want of their in-sync sets to the controller: one request at a time, with all that has come up.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "async/task_group.h"
#include "cluster_control/alter_partitions.h"
#include "cluster_control/metadata_publisher.h"
#include "platform/seams.h"
#include "replication/partition.h"

namespace naru {

// Thread-safe.
class IsrSender final : public IsrProposals {
 public:
  // Asks the controller (ControllerLink::alter_partitions()); results in the order of the changes.
  using Alter = std::function<Task<Result<std::vector<AlterPartitionResult>>>(std::vector<IsrChange>)>;

  IsrSender(Seams seams, Alter alter, const MetadataPublisher& metadata)
      : seams_(seams), alter_(std::move(alter)), metadata_(metadata) {}

  void propose(std::shared_ptr<Partition> partition, IsrProposal proposal) override;

  // What waits is answered as unknown. No propose() has an effect afterwards.
  Task<void> stop();

 private:
  struct Asked {
    std::shared_ptr<Partition> partition;
    IsrProposal proposal;
  };

  Task<void> send_all();
  Task<void> send(std::vector<Asked> asked);
  Task<void> look_again(std::vector<std::shared_ptr<Partition>> partitions);
  std::vector<Asked> take();

  Seams seams_;
  const Alter alter_;
  const MetadataPublisher& metadata_;
  std::mutex mutex_;
  std::vector<Asked> waiting_;
  bool sending_ = false;
  bool stopped_ = false;
  TaskGroup tasks_;
};

}  // namespace naru
