// Learns the metadata from the controller, when that is another broker: asks it for changes, and publishes them.
#pragma once

#include "async/task_group.h"
#include "broker/controller_link.h"
#include "broker/peers.h"
#include "cluster_control/metadata_feed.h"
#include "cluster_control/metadata_publisher.h"
#include "platform/seams.h"
#include "replication/cluster_contact.h"

namespace naru {

// Everything it is made of outlives it.
class MetadataPoller {
 public:
  MetadataPoller(Seams seams, ControllerLink& controller, Peers& peers, MetadataPublisher& metadata, BrokerId self,
                 ClusterContact& contact)
      : seams_(seams), controller_(controller), peers_(peers), metadata_(metadata), self_(self), contact_(contact) {}

  void start() { background_.spawn(poll_for_ever()); }
  // After the peers have stopped, so that no question waits.
  Task<void> stop();

 private:
  Task<void> poll_for_ever();
  Task<Status> poll(const Peer& controller);

  Seams seams_;
  ControllerLink& controller_;
  Peers& peers_;
  MetadataPublisher& metadata_;
  const BrokerId self_;
  ClusterContact& contact_;
  MetadataFollower follower_;
  TaskGroup background_;
};

}  // namespace naru
