// The controller's decisions, without I/O: (metadata, request) -> transaction and results.
//
// A planner works through one request in steps of one transaction each. plan() may be called again for the same step
// with newer metadata, when the transaction met a conflict or its outcome is unknown; planning again after it did
// happen recognises its own work, so a step takes effect once.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "cluster_control/metadata_draft.h"
#include "cluster_control/metadata_image.h"
#include "coordination_store/coordination_store.h"
#include "foundation/status.h"

namespace naru {

// Not thread-safe.
class Planner {
 public:
  virtual ~Planner() = default;

  virtual bool done() const = 0;
  // The next step on this metadata; nullopt when it needs no transaction.
  virtual std::optional<Transaction> plan(const MetadataImage& image) = 0;
  // What plan() returned last is in effect.
  virtual void committed() = 0;
  // The step and all that would follow have failed; done() afterwards.
  virtual void abandon(const Status& status) = 0;
};

// So many items are planned in one step, whether they change anything or not: other work comes between two steps.
inline constexpr size_t kItemsPerStep = 128;

// A request with many items, each with its own result (a struct with a Status `status`), in the order of the items.
template <class Item, class ItemResult>
class ItemPlanner : public Planner {
 public:
  bool done() const override { return results_.size() == items_.size(); }

  std::optional<Transaction> plan(const MetadataImage& image) override {
    MetadataDraft draft(image);
    step_.clear();
    begin_step();
    while (results_.size() + step_.size() < items_.size() && step_.size() < kItemsPerStep && !step_is_full()) {
      Item& item = items_[results_.size() + step_.size()];
      MetadataChange change;
      ItemResult result = plan_item(image, draft, item, change);
      if (!draft.merge(std::move(change))) {
        if (!draft.empty()) break;  // goes into the next transaction
        result = failed_item(item, Status(ErrorCode::policy_violation, "too large for one transaction"));
      }
      item_planned(item, result);
      step_.push_back(std::move(result));
    }
    if (draft.empty()) return std::nullopt;
    Transaction transaction = std::move(draft).finish();
    transaction.may_use_reserve = may_use_reserve();
    return transaction;
  }

  void committed() override {
    for (ItemResult& result : step_) results_.push_back(std::move(result));
    step_.clear();
    step_committed();
  }

  void abandon(const Status& status) override {
    for (size_t i = 0; results_.size() < items_.size(); ++i) {
      const bool failed_already = i < step_.size() && !step_[i].status.ok();
      results_.push_back(failed_already ? std::move(step_[i]) : failed_item(items_[results_.size()], status));
    }
    step_.clear();
  }

  // Once, when done.
  std::vector<ItemResult> take_results() { return std::move(results_); }

 protected:
  explicit ItemPlanner(std::vector<Item> items) : items_(std::move(items)) {}

  const std::vector<Item>& items() const { return items_; }
  virtual void begin_step() {}
  virtual void step_committed() {}
  // Items are large: what was planned is enough for one step.
  virtual bool step_is_full() const { return false; }
  // Whether this is done even when the disk is full, because it gives room back.
  virtual bool may_use_reserve() const { return false; }
  // Fills `change` if the result is ok and something has to be changed. May note in `item` what a retry has to know.
  virtual ItemResult plan_item(const MetadataImage& image, const MetadataDraft& draft, Item& item,
                               MetadataChange& change) = 0;
  virtual ItemResult failed_item(const Item& item, const Status& status) const = 0;
  // The item is part of the step now.
  virtual void item_planned(const Item&, const ItemResult&) {}

 private:
  std::vector<Item> items_;
  std::vector<ItemResult> results_;
  std::vector<ItemResult> step_;
};

}  // namespace naru
