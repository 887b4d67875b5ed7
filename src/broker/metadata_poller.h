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
  // Whether this broker leads and follows as the image says.
  using HasRoles = UniqueFunction<bool(const MetadataImage&) const>;

  MetadataPoller(Seams seams, ControllerLink& controller, Peers& peers, MetadataPublisher& metadata, BrokerId self,
                 ClusterContact& contact, HasRoles has_roles)
      : seams_(seams),
        controller_(controller),
        peers_(peers),
        metadata_(metadata),
        self_(self),
        contact_(contact),
        has_roles_(std::move(has_roles)) {}

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
  const HasRoles has_roles_;
  MetadataFollower follower_;
  TaskGroup background_;
};

}  // namespace naru
