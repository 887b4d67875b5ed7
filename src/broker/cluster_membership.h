// What ties this broker to the others: connections to them, the way to the controller, the metadata it publishes, and
// what leaders and followers have to say to each other.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "async/task.h"
#include "async/wakeup.h"
#include "broker/controller_link.h"
#include "broker/followed_partitions.h"
#include "broker/hosted_partitions.h"
#include "broker/isr_sender.h"
#include "broker/metadata_poller.h"
#include "broker/offline_log_reporter.h"
#include "broker/peers.h"
#include "broker/replica_fetchers.h"
#include "cluster_control/controller_shell.h"
#include "cluster_control/metadata_publisher.h"
#include "configuration/broker_config.h"
#include "foundation/shared_cell.h"
#include "observability/metrics_registry.h"
#include "platform/seams.h"

namespace naru {

// Thread-safe. Everything it is made of outlives it.
class ClusterMembership {
 public:
  struct Parts {
    Seams seams;
    const BrokerConfig& config;
    ControllerShell& controller;
    MetadataPublisher& metadata;
    const SharedCell<const MetadataImage>& role_image;  // the newest one as which partitions lead and follow
    const HostedPartitions& hosted;
    MetricsRegistry& metrics;
    ClusterContact& contact;
  };
  explicit ClusterMembership(Parts parts);

  ControllerLink& controller() { return controller_; }
  Peers& peers() { return peers_; }
  IsrProposals& isr_proposals() { return isr_sender_; }
  OfflineLogObserver& offline_logs() { return offline_logs_; }

  // Whether this broker may lead and follow as the image says: not before the controller has acted on its registration,
  // because an earlier life of it may be what the image means.
  bool may_take_roles(const MetadataImage& image) const;
  // Follows where others lead, as the newest roles say. After the partitions have them, and after some were opened.
  void follow();
  // Before follow(): FollowedPartitions.
  void look_again_at(const std::set<Uuid>& topics);

  // Once, when the controller of this process was started: returns when the partitions have their roles.
  Task<Status> join(CancelToken cancelled);
  // Before anything is stopped: others take over what this broker leads, and the controller's office, as far as there
  // are others.
  Task<void> hand_over();
  // Before the controller of this process is stopped.
  Task<void> stop();

 private:
  Task<void> check_followers_from_time_to_time();
  Task<void> wait_until_led(int64_t still_led, MonotonicTime deadline);
  Task<void> pass_office_on();
  int64_t led() const;

  Parts parts_;
  Peers peers_;
  ControllerLink controller_;
  IsrSender isr_sender_;
  std::mutex mutex_;
  bool stopped_ = false;
  ReplicaFetchers fetchers_;  // not after stopped_
  FollowedPartitions followed_;
  MetadataPoller poller_;
  OfflineLogReporter offline_logs_;
  std::atomic<bool> has_roles_{false};
  const std::shared_ptr<Wakeup> joined_ = std::make_shared<Wakeup>();  // has roles, or it was too late
  TaskGroup background_;
};

}  // namespace naru
