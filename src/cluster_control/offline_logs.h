// What the controller remembers of logs that a broker cannot use: in the store, so that the next controller knows it,
// too.
#pragma once

#include <optional>

#include "cluster_control/planner.h"

namespace naru {

// Stores what the broker told in the epoch of its registration: all of its offline logs, whatever it said before.
// stale_broker_epoch when it is not registered with that epoch.
class NoteOfflineLogsPlanner final : public Planner {
 public:
  NoteOfflineLogsPlanner(BrokerId broker, OfflineLogs logs);

  bool done() const override { return done_; }
  std::optional<Transaction> plan(const MetadataImage& image) override;
  void committed() override { done_ = true; }
  void abandon(const Status& status) override;

  const Status& status() const { return status_; }

 private:
  const BrokerId broker_;
  const std::shared_ptr<const OfflineLogs> logs_;
  bool done_ = false;
  Status status_;
};

}  // namespace naru
