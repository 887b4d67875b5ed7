// The way to the controller, which may be this broker or another one.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "async/task.h"
#include "broker/forwarded_requests.h"
#include "broker/peers.h"
#include "broker/request_context.h"
#include "cluster_control/allocate_producer_ids.h"
#include "cluster_control/alter_partitions.h"

namespace naru {

class ControllerShell;

// Thread-safe. Everything it is made of outlives it.
class ControllerLink {
 public:
  ControllerLink(ControllerShell& controller, Peers& peers, BrokerId self)
      : controller_(controller), peers_(peers), self_(self) {}

  // Whether this broker is it. Its own handlers answer then.
  bool is_here() const;
  // Passes a request on to the controller, with its caller, and yields its answer; nothing when the controller is here,
  // is not known or cannot be reached: then this broker's own answer, which says that it is not the controller, is the
  // right one. request_timed_out when the controller does not answer: it may have done it, or may still.
  Task<Result<std::optional<ForwardedRequests::Answer>>> forward(const RequestContext& context);

  // Asks the controller elsewhere for topics that are missing (missing_topics.h). One result for each, in their order.
  Task<std::vector<Status>> make_topics(std::vector<std::string> names);
  Task<Result<ProducerIdBlock>> allocate_producer_ids();
  Task<Status> confirm_deletions(std::vector<Uuid> topic_ids);
  // Results in the order of the changes.
  Task<Result<std::vector<AlterPartitionResult>>> alter_partitions(std::vector<IsrChange> changes);
  // All partitions whose logs cannot be used here.
  Task<Status> report_offline_logs(PartitionIds partitions);
  // This broker is going to stop: leaders move elsewhere. How many partitions nobody else can lead.
  Task<Result<int32_t>> announce_stop();

  // The controller, if it is another broker and known.
  std::optional<Peer> elsewhere() const;
  // Of this broker's registration; -1 before it.
  int64_t broker_epoch() const;

 private:
  // Calls the controller elsewhere.
  template <class Response, class Request>
  Task<Result<Response>> call(Request request);

  ControllerShell& controller_;
  Peers& peers_;
  const BrokerId self_;
};

}  // namespace naru
