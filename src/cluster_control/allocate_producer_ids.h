// How a broker gets producer ids: in blocks, each of which is given to one broker, once.
#pragma once

#include <cstdint>
#include <optional>

#include "cluster_control/planner.h"
#include "foundation/ids.h"
#include "foundation/status.h"

namespace naru {

struct ProducerIdBlock {
  ProducerId first;
  ProducerId end;  // exclusive

  bool operator==(const ProducerIdBlock&) const = default;
};

// Moves the key producer_ids forward by one block. A step whose outcome is unknown is planned again on what is stored
// then: if it did happen, its block is skipped.
class AllocateProducerIdsPlanner final : public Planner {
 public:
  static constexpr int64_t kBlockSize = 1000;

  bool done() const override { return done_; }
  std::optional<Transaction> plan(const MetadataImage& image) override;
  void committed() override { done_ = true; }
  void abandon(const Status& status) override;

  // When done.
  Result<ProducerIdBlock> result() const;

 private:
  bool done_ = false;
  Status status_;
  ProducerIdBlock block_;
};

}  // namespace naru
