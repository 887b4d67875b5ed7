#include "cluster_control/alter_partitions.h"

#include <algorithm>
#include <set>
#include <utility>

#include "cluster_control/leader_election.h"
#include "foundation/canary.h"

namespace naru {
namespace {

std::vector<BrokerId> ids_of(const std::vector<IsrMember>& members) {
  std::vector<BrokerId> ids;
  for (const IsrMember& member : members) ids.push_back(member.id);
  return ids;
}

bool same_members(std::vector<BrokerId> a, std::vector<BrokerId> b) {
  std::ranges::sort(a);
  std::ranges::sort(b);
  return a == b;
}

bool contains(const std::vector<BrokerId>& ids, BrokerId id) {
  return std::ranges::find(ids, id) != ids.end();
}

// The answer to an earlier attempt was lost, or its outcome was unknown.
bool happened_already(const PartitionState& state, const IsrChange& change) {
  return state.leader_epoch == change.leader_epoch && state.partition_epoch == change.partition_epoch + 1 &&
         same_members(state.isr, ids_of(change.isr));
}

}  // namespace

AlterPartitionsPlanner::AlterPartitionsPlanner(BrokerId leader, int64_t broker_epoch, std::vector<IsrChange> changes,
                                               StoppingBrokers stopping)
    : PartitionPlanner(std::move(changes)),
      leader_(leader),
      broker_epoch_(broker_epoch),
      stopping_(std::move(stopping)) {}

AlterPartitionResult AlterPartitionsPlanner::plan_item(const MetadataImage& image, const PartitionState* before,
                                                       IsrChange& change, PartitionEdits& edits) {
  if (Status status = check_leader(image); !status.ok()) return {std::move(status), {}};
  if (before == nullptr) {
    const bool topic_exists = image.find_topic(change.topic_id) != nullptr;
    return {error(topic_exists ? ErrorCode::unknown_topic_or_partition : ErrorCode::unknown_topic_id,
                  "there is no partition {} of topic id {}", change.index, change.topic_id.to_string()),
            {}};
  }
  Status status = check_epochs(*before, change);
  if (status == ErrorCode::invalid_update_version && happened_already(*before, change)) return {{}, *before};
  if (status.ok()) status = check_members(image, *before, change);
  if (!status.ok() || same_members(before->isr, ids_of(change.isr))) return {std::move(status), *before};
  PartitionState after = *before;
  after.isr = ids_of(change.isr);
  after = with_new_epochs(*before, std::move(after));
  AlterPartitionResult result{{}, after};
  edits.set(std::move(after));
  return result;
}

AlterPartitionResult AlterPartitionsPlanner::failed_item(const IsrChange&, const Status& status) const {
  return {status, {}};
}

Status AlterPartitionsPlanner::check_leader(const MetadataImage& image) const {
  const BrokerMetadata* broker = image.find_broker(leader_);
  if (broker != nullptr && broker->epoch == broker_epoch_) return {};
  return error(ErrorCode::stale_broker_epoch, "broker {} is not registered with epoch {}", leader_, broker_epoch_);
}

Status AlterPartitionsPlanner::check_epochs(const PartitionState& before, const IsrChange& change) const {
  if (change.leader_epoch < before.leader_epoch) {
    return error(ErrorCode::fenced_leader_epoch, "the leader epoch is {}, not {}", before.leader_epoch,
                 change.leader_epoch);
  }
  if (change.leader_epoch > before.leader_epoch || change.partition_epoch > before.partition_epoch) {
    return Status(ErrorCode::not_controller, "the leader has newer metadata than this broker");
  }
  if (before.leader != leader_) {
    return error(ErrorCode::invalid_request, "broker {} is not the leader, {} is", leader_, before.leader);
  }
  if (change.partition_epoch < before.partition_epoch && !is_planted(Canary::stale_partition_epoch)) {
    return error(ErrorCode::invalid_update_version, "the partition epoch is {}, not {}", before.partition_epoch,
                 change.partition_epoch);
  }
  return {};
}

Status AlterPartitionsPlanner::check_members(const MetadataImage& image, const PartitionState& before,
                                             const IsrChange& change) const {
  std::set<BrokerId> distinct;
  for (const IsrMember& member : change.isr) {
    if (!contains(before.replicas, member.id) || !distinct.insert(member.id).second) {
      return error(ErrorCode::invalid_request, "broker {} is no replica of the partition, or named twice", member.id);
    }
  }
  if (!distinct.contains(leader_)) return Status(ErrorCode::invalid_request, "the leader is not in the new ISR");
  for (const IsrMember& member : change.isr) {
    // The leader itself, or a member that has not fetched from this leader yet: it stays what it was.
    if (member.broker_epoch == kUnknownBrokerEpoch && contains(before.isr, member.id)) continue;
    const BrokerMetadata* broker = image.find_broker(member.id);
    const bool same_life =
        broker != nullptr && (broker->epoch == member.broker_epoch || is_planted(Canary::isr_ignores_broker_epoch));
    if (!image.is_settled(member.id) || !same_life) {
      return error(ErrorCode::ineligible_replica, "broker {} is not there with epoch {}", member.id,
                   member.broker_epoch);
    }
    if (contains(before.isr, member.id)) continue;
    const BrokerStanding joining = brokers_.of(member.id, before);
    if (joining.stopping || !joining.registered) {
      return error(ErrorCode::ineligible_replica, "broker {} is stopping, or its log is offline", member.id);
    }
  }
  return {};
}

}  // namespace naru
