// A broker tells the store that its epoch is durable in its data folders, so that an older copy of one is recognised.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "cluster_control/planner.h"

namespace naru {

struct FolderConfirmation {
  BrokerId id;
  int64_t broker_epoch = -1;
  std::vector<Uuid> directory_ids;  // those in which it is durable
};

// stale_broker_epoch when the broker has registered again since.
class ConfirmFoldersPlanner final : public Planner {
 public:
  explicit ConfirmFoldersPlanner(FolderConfirmation confirmation);

  bool done() const override { return done_; }
  std::optional<Transaction> plan(const MetadataImage& image) override;
  void committed() override { done_ = true; }
  void abandon(const Status& status) override;

  const Status& status() const { return status_; }

 private:
  const FolderConfirmation confirmation_;
  bool done_ = false;
  Status status_;
};

}  // namespace naru
