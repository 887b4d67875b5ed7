// DeleteTopics, and the confirmations that make a recorded deletion forgotten.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cluster_control/planner.h"
#include "configuration/broker_config.h"

namespace naru {

struct TopicReference {
  std::optional<std::string> name;  // either the name,
  Uuid id;                          // or the id; zero: not given
  // What it was when this request first looked: when that topic is gone at a later attempt, the request is fulfilled.
  std::optional<Uuid> resolved;
};

struct DeleteTopicResult {
  std::optional<std::string> name;  // as asked, or found
  Uuid topic_id;
  Status status;
};

class DeleteTopicsPlanner final : public ItemPlanner<TopicReference, DeleteTopicResult> {
 public:
  // `config` outlives the planner.
  DeleteTopicsPlanner(std::vector<TopicReference> topics, const BrokerConfig& config);

 private:
  void begin_step() override { planned_.clear(); }
  bool may_use_reserve() const override { return true; }
  DeleteTopicResult plan_item(const MetadataImage& image, const MetadataDraft& draft, TopicReference& reference,
                              MetadataChange& change) override;
  DeleteTopicResult failed_item(const TopicReference& reference, const Status& status) const override;
  void item_planned(const TopicReference& reference, const DeleteTopicResult& result) override;
  Status check_reference(const TopicReference& reference) const;

  const BrokerConfig& config_;
  std::set<std::string> duplicate_names_;
  std::set<Uuid> duplicate_ids_;
  std::set<Uuid> planned_;  // deleted by this step
};

struct DeletionConfirmation {
  Uuid topic_id;
};
struct DeletionConfirmationResult {
  Uuid topic_id;
  Status status;
};

// A broker says that it holds nothing any more of these topics. When the last one has, the deletion is forgotten.
class ConfirmDeletionsPlanner final : public ItemPlanner<DeletionConfirmation, DeletionConfirmationResult> {
 public:
  ConfirmDeletionsPlanner(BrokerId broker, std::vector<DeletionConfirmation> topics);

 private:
  bool may_use_reserve() const override { return true; }
  DeletionConfirmationResult plan_item(const MetadataImage& image, const MetadataDraft& draft,
                                       DeletionConfirmation& confirmation, MetadataChange& change) override;
  DeletionConfirmationResult failed_item(const DeletionConfirmation& confirmation, const Status& status) const override;

  const BrokerId broker_;
};

}  // namespace naru
