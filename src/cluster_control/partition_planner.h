// A request whose items name single partitions, each with its own result (a struct with a Status `status`).
//
// Unlike ItemPlanner it encodes a bucket once, not once for each of its partitions: ten thousand items are a few
// transactions. Items of one step are planned in their order; those whose bucket does not fit any more wait for the
// next.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <ranges>
#include <utility>
#include <vector>

#include "cluster_control/partition_edits.h"
#include "cluster_control/planner.h"

namespace naru {

// So many items are planned in one step, whether they change anything or not.
inline constexpr size_t kPartitionItemsPerStep = 5000;

template <class Item, class ItemResult>
class PartitionPlanner : public Planner {
 public:
  bool done() const override { return waiting_.empty(); }

  std::optional<Transaction> plan(const MetadataImage& image) override {
    begin_step(image);
    PartitionEdits edits(image);
    step_.clear();
    for (const size_t item : waiting_ | std::views::take(kPartitionItemsPerStep)) {
      const PartitionState* before = edits.find(items_[item].topic_id, items_[item].index);
      ItemResult result = plan_item(image, before, items_[item], edits);
      step_.push_back({item, before == nullptr ? -1 : before->bucket, std::move(result)});
    }
    MetadataDraft draft(image);
    const int32_t too_many = edits.merge_into(draft);
    std::erase_if(step_, [too_many](const Planned& planned) { return planned.bucket >= too_many; });
    if (draft.empty()) return std::nullopt;
    return std::move(draft).finish();
  }

  void committed() override {
    // Both are in the order of the items.
    auto planned = step_.begin();
    std::erase_if(waiting_, [&](size_t item) {
      if (planned == step_.end() || planned->item != item) return false;
      results_[item] = std::move((planned++)->result);
      return true;
    });
    step_.clear();
  }

  void abandon(const Status& status) override {
    for (const size_t item : waiting_) results_[item] = failed_item(items_[item], status);
    waiting_.clear();
    step_.clear();
  }

  // Once, when done; in the order of the items.
  std::vector<ItemResult> take_results() { return std::move(results_); }

 protected:
  explicit PartitionPlanner(std::vector<Item> items) : items_(std::move(items)), results_(items_.size()) {
    for (size_t i = 0; i < items_.size(); ++i) waiting_.push_back(i);
  }

  const std::vector<Item>& items() const { return items_; }
  virtual void begin_step(const MetadataImage& image) = 0;
  // Sets the new state in `edits` if the partition, whose state is `before` (nullptr: there is none), is to be changed.
  // May note in `item` what a retry has to know.
  virtual ItemResult plan_item(const MetadataImage& image, const PartitionState* before, Item& item,
                               PartitionEdits& edits) = 0;
  virtual ItemResult failed_item(const Item& item, const Status& status) const = 0;

 private:
  struct Planned {
    size_t item = 0;
    int32_t bucket = 0;
    ItemResult result;
  };

  std::vector<Item> items_;
  std::vector<ItemResult> results_;
  std::vector<size_t> waiting_;  // items without a result, in their order
  std::vector<Planned> step_;
};

}  // namespace naru
