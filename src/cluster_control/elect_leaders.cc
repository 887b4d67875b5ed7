#include "cluster_control/elect_leaders.h"

#include <algorithm>
#include <utility>

#include "cluster_control/leader_election.h"

namespace naru {
namespace {

bool preferred_can_lead(const PartitionState& state, const BrokerStandings& brokers) {
  return electable_leader(state, brokers) == state.replicas.front();
}

}  // namespace

ElectLeadersPlanner::ElectLeadersPlanner(ElectionType type, std::vector<ElectLeadersItem> items,
                                         StoppingBrokers stopping)
    : PartitionPlanner(std::move(items)), type_(type), stopping_(std::move(stopping)) {}

ElectLeadersResult ElectLeadersPlanner::plan_item(const MetadataImage&, const PartitionState* before,
                                                  ElectLeadersItem& item, PartitionEdits& edits) {
  if (before == nullptr) {
    return failed_item(item, error(ErrorCode::unknown_topic_or_partition, "there is no partition {} of topic {}",
                                   item.index, item.topic));
  }
  if (item.planned == before->leader_epoch) return {item.topic, item.index, {}};
  auto after = type_ == ElectionType::preferred ? elect_preferred(*before) : elect_uncleanly(*before);
  if (!after) return failed_item(item, after.error());
  item.planned = after->leader_epoch;
  edits.set(std::move(*after));
  return {item.topic, item.index, {}};
}

ElectLeadersResult ElectLeadersPlanner::failed_item(const ElectLeadersItem& item, const Status& status) const {
  return {item.topic, item.index, status};
}

Result<PartitionState> ElectLeadersPlanner::elect_preferred(const PartitionState& before) const {
  const BrokerId preferred = before.replicas.front();
  if (before.leader == preferred) {
    return failure(ErrorCode::election_not_needed, "broker {} leads already", preferred);
  }
  if (!preferred_can_lead(before, brokers_)) {
    return failure(ErrorCode::preferred_leader_not_available, "broker {} is not there, or not in sync", preferred);
  }
  PartitionState after = before;
  after.leader = preferred;
  return with_new_epochs(before, std::move(after));
}

Result<PartitionState> ElectLeadersPlanner::elect_uncleanly(const PartitionState& before) const {
  if (before.leader != kNoBroker) return failure(ErrorCode::election_not_needed, "broker {} leads", before.leader);
  PartitionState after = before;
  after.leader = electable_leader(before, brokers_);
  if (after.leader == kNoBroker) {
    const BrokerId anybody = unclean_leader(before, brokers_);
    if (anybody == kNoBroker) {
      return failure(ErrorCode::eligible_leaders_not_available, "none of the replicas is there");
    }
    after = elected_uncleanly(before, anybody);
  }
  return with_new_epochs(before, std::move(after));
}

void add_imbalanced(const TopicMetadata& topic, const BrokerStandings& settled, std::vector<ElectLeadersItem>& items) {
  for (const PartitionStatePtr& state : topic.partitions) {
    if (state->leader == state->replicas.front() || !preferred_can_lead(*state, settled)) continue;
    items.push_back({topic.name, state->index, topic.id});
  }
}

void add_partitions_of(const TopicMetadata& topic, std::vector<ElectLeadersItem>& items) {
  for (const PartitionStatePtr& state : topic.partitions) items.push_back({topic.name, state->index, topic.id});
}

}  // namespace naru
