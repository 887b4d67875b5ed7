#include "consumer_groups/consumer_protocol/consumer_group_reconciliation.h"

#include <algorithm>
#include <utility>

namespace naru {
namespace {

bool still_has(const PartitionSet* owned, const PartitionSet& partitions) {
  if (owned == nullptr) return !partitions.empty();
  return !set_of_both(*owned, partitions).empty();
}

// From `epoch`, in which the member has what it has been assigned and nothing to give back.
ConsumerMemberAssignment next_assignment(const ConsumerMemberAssignment& current, int32_t epoch,
                                         const ReconciliationTarget& target, const PartitionSet* owned,
                                         const ConsumerGroup& group) {
  ConsumerMemberAssignment next{.previous_epoch = current.epoch};
  next.assigned = set_of_both(current.assigned, target.partitions);
  PartitionSet surplus = set_without(current.assigned, target.partitions);
  if (still_has(owned, surplus)) {
    next.epoch = epoch;
    next.state = ReconciliationState::unrevoked;
    next.pending_revocation = std::move(surplus);
    return next;
  }
  PartitionSet missing = set_without(target.partitions, next.assigned);
  const size_t wanted = missing.size();
  std::erase_if(missing, [&](const TopicIdPartition& partition) {
    // What it has just given back itself is free as well.
    return !group.is_free(partition) && !std::ranges::binary_search(current.pending_revocation, partition);
  });
  next.epoch = target.epoch;
  next.state = missing.size() == wanted ? ReconciliationState::stable : ReconciliationState::unreleased;
  next.assigned = set_of_either(next.assigned, missing);
  return next;
}

}  // namespace

ConsumerMemberAssignment reconcile(const ConsumerMemberAssignment& current, const ReconciliationTarget& target,
                                   const PartitionSet* owned, const ConsumerGroup& group) {
  ConsumerMemberAssignment next = current;
  switch (current.state) {
    case ReconciliationState::stable:
      if (current.epoch == target.epoch) return current;
      next = next_assignment(current, current.epoch, target, owned, group);
      break;
    case ReconciliationState::unrevoked:
      // Only the member itself can say that it has given something back.
      if (owned == nullptr || still_has(owned, current.pending_revocation)) return current;
      // Another epoch, so that commits from before the revocation are refused from now on.
      next = next_assignment(current, current.epoch + 1, target, owned, group);
      break;
    case ReconciliationState::unreleased:
      next = next_assignment(current, current.epoch, target, owned, group);
      break;
  }
  // Waiting on is no step: a heartbeat in vain writes nothing.
  if (next.epoch == current.epoch) next.previous_epoch = current.previous_epoch;
  return next;
}

bool could_get_more(const ConsumerMemberAssignment& current, const PartitionSet& target, const ConsumerGroup& group) {
  const PartitionSet missing = set_without(target, current.assigned);
  return std::ranges::any_of(missing, [&](const TopicIdPartition& partition) { return group.is_free(partition); });
}

}  // namespace naru
