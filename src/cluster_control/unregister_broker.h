// UnregisterBroker: forgets what is remembered of a broker that is gone for good.
#pragma once

#include <optional>

#include "cluster_control/planner.h"

namespace naru {

// Removes known_brokers/ID, so that a later registration is one of a new broker, which has nothing to lose.
// broker_id_not_registered when nothing is remembered of it. invalid_request while it is registered, or where it is
// still in an ISR: it holds records then that no other replica may have, and it would have to be told from a broker
// that comes with empty folders.
class UnregisterBrokerPlanner final : public Planner {
 public:
  explicit UnregisterBrokerPlanner(BrokerId broker) : broker_(broker) {}

  bool done() const override { return done_; }
  std::optional<Transaction> plan(const MetadataImage& image) override;
  void committed() override { done_ = true; }
  void abandon(const Status& status) override;

  const Status& status() const { return status_; }

 private:
  Status check(const MetadataImage& image) const;

  const BrokerId broker_;
  bool planned_ = false;  // that it is gone at a later attempt may be this request's work
  bool done_ = false;
  Status status_;
};

}  // namespace naru
