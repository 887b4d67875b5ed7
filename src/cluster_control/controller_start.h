// How a controller takes office and how a broker joins.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cluster_control/planner.h"

namespace naru {

// Counts the controller epoch up, which ends every earlier controller's power to write, and names the cluster if it has
// no name yet.
class ClaimControllerPlanner final : public Planner {
 public:
  ClaimControllerPlanner(BrokerId controller_id, Uuid new_cluster_id);

  bool done() const override { return done_; }
  std::optional<Transaction> plan(const MetadataImage& image) override;
  void committed() override { done_ = true; }
  void abandon(const Status& status) override;

  const Status& status() const { return status_; }
  int32_t epoch() const { return epoch_; }

 private:
  const BrokerId controller_id_;
  const Uuid new_cluster_id_;
  int32_t epoch_ = 0;
  bool done_ = false;
  Status status_;
};

struct BrokerRegistration {
  BrokerId id;
  Uuid incarnation;  // chosen anew at every start
  std::optional<std::string> rack;
  std::vector<BrokerListener> listeners;
};

// Registers a broker under an ephemeral key of this store's session. already_exists when another process has the id.
class RegisterBrokerPlanner final : public Planner {
 public:
  explicit RegisterBrokerPlanner(BrokerRegistration registration);

  bool done() const override { return done_; }
  std::optional<Transaction> plan(const MetadataImage& image) override;
  void committed() override { done_ = true; }
  void abandon(const Status& status) override;

  const Status& status() const { return status_; }

 private:
  const BrokerRegistration registration_;
  bool done_ = false;
  Status status_;
};

}  // namespace naru
