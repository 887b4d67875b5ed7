// How a controller takes office and how a broker joins.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cluster_control/planner.h"

namespace naru {

// Takes the office that nobody holds: puts the key `controller`, which lives as long as this store's session, and
// counts the controller epoch up, which ends every earlier controller's power to write. Names the cluster if it has no
// name yet. version_conflict if somebody else holds the office.
class ClaimControllerPlanner final : public Planner {
 public:
  // `incarnation`: of this process.
  ClaimControllerPlanner(BrokerId controller_id, Uuid incarnation, Uuid new_cluster_id);

  bool done() const override { return done_; }
  std::optional<Transaction> plan(const MetadataImage& image) override;
  void committed() override { done_ = true; }
  void abandon(const Status& status) override;

  const Status& status() const { return status_; }
  int32_t epoch() const { return epoch_; }
  const Uuid& incarnation() const { return incarnation_; }
  // The claim happened, though no answer came: the key `controller` is this process's. False if the image is older.
  bool recognise(const MetadataImage& image);

 private:
  const BrokerId controller_id_;
  const Uuid incarnation_;
  const Uuid new_cluster_id_;
  int32_t epoch_ = 0;
  bool done_ = false;
  Status status_;
};

struct DataFolder {
  Uuid id;
  int64_t found_epoch = -1;  // the newest broker epoch that was written to it; -1: none
};

struct BrokerRegistration {
  BrokerId id;
  Uuid incarnation;  // chosen anew for every session
  std::optional<std::string> rack;
  std::vector<BrokerListener> listeners;
  bool clean_shutdown = false;  // the process before left everything in order
  std::vector<DataFolder> folders;
  Uuid cluster_id;  // that the data folders belong to; zero: to none yet
  // Of replicas that are here; none: those that were told in the registration before.
  std::optional<PartitionIds> offline = PartitionIds();
};

// Registers a broker under an ephemeral key of this store's session. already_exists when another process has the id:
// is_own_predecessor() tells whether that was this broker before it was started again, whose session has not ended yet.
// inconsistent_cluster_id when the data folders belong to another cluster.
//
// A registration that follows one that was not clean, and that the controller has not acted on, does not count as clean
// either: what was lost before that one would never be known. For the same reason a data folder that was an older copy
// of itself stays one until the controller has acted.
class RegisterBrokerPlanner final : public Planner {
 public:
  explicit RegisterBrokerPlanner(BrokerRegistration registration);

  bool done() const override { return done_; }
  std::optional<Transaction> plan(const MetadataImage& image) override;
  void committed() override { done_ = true; }
  void abandon(const Status& status) override;

  const Status& status() const { return status_; }
  bool is_own_predecessor() const { return is_own_predecessor_; }
  // Of the registration.
  int64_t broker_epoch() const { return broker_epoch_; }

 private:
  Status check_cluster(const MetadataImage& image) const;
  // What the store says of it from now on.
  KnownBroker known_now(KnownBroker known) const;

  const BrokerRegistration registration_;
  bool is_own_predecessor_ = false;
  int64_t broker_epoch_ = -1;
  bool done_ = false;
  Status status_;
};

}  // namespace naru
