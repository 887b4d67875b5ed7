// Brings what leaders want of their in-sync sets to the controller: one request at a time, with all that has come up.
#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "async/task_group.h"
#include "broker/controller_link.h"
#include "cluster_control/metadata_publisher.h"
#include "platform/seams.h"
#include "replication/partition.h"

namespace naru {

// Thread-safe.
class IsrSender final : public IsrProposals {
 public:
  IsrSender(Seams seams, ControllerLink& controller, const MetadataPublisher& metadata)
      : seams_(seams), controller_(controller), metadata_(metadata) {}

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
  ControllerLink& controller_;
  const MetadataPublisher& metadata_;
  std::mutex mutex_;
  std::vector<Asked> waiting_;
  bool sending_ = false;
  bool stopped_ = false;
  TaskGroup tasks_;
};

}  // namespace naru
