// A planner that goes through the states of all partitions and changes some of them: thousands in one transaction.
//
// Whole buckets are rewritten, as many as fit into a transaction; the next step goes on behind them. So a step that is
// planned again (conflict, unknown outcome) looks at its buckets again, and what it did already is done or, if its kind
// of change can be repeated, repeated.
#pragma once

#include <cstddef>
#include <optional>

#include "cluster_control/planner.h"

namespace naru {

class PartitionSweep : public Planner {
 public:
  // In one step, whether their partitions change or not.
  static constexpr size_t kBucketsLookedAt = 64;

  bool done() const override { return done_; }
  std::optional<Transaction> plan(const MetadataImage& image) override;
  void committed() override;
  void abandon(const Status& status) override;

  const Status& status() const { return status_; }

 protected:
  // Before the states of a step are looked at.
  virtual void begin_step(const MetadataImage& image) = 0;
  // The new state of a partition; nothing if it stays as it is.
  virtual std::optional<PartitionState> change(const MetadataImage& image, const PartitionState& before) = 0;
  // The change goes into this step's transaction.
  virtual void changed(const MetadataImage&, const PartitionState& /*before*/, const PartitionState& /*after*/) {}
  // What else is to be changed when all partitions are done, with the last of them or after them. Must fit into one
  // transaction; true when nothing will be left.
  virtual bool last_change(const MetadataImage&, MetadataChange&) { return true; }
  // The step's transaction is in effect.
  virtual void step_committed() {}

 private:
  // False: does not fit any more.
  bool sweep_bucket(const MetadataImage& image, size_t bucket, MetadataDraft& draft);

  size_t next_bucket_ = 0;
  size_t step_end_ = 0;  // next_bucket_ after this step
  size_t changed_buckets_ = 0;
  bool step_is_last_ = false;
  bool done_ = false;
  Status status_;
};

}  // namespace naru
