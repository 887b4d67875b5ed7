// The part of the keeper that brings back logs that went offline while they were in use, because the disk was full, no
// descriptor was left, or something in them is damaged: they are closed, and then opened like those that could not be
// opened at first.
//
// What they hold was not lost: their files are synced through the descriptors that wrote them before they are closed,
// so that recovery finds all that was promised, whatever a commit journal holds. That keeps what it holds of them until
// they are open again, for a crash in between.
#include <algorithm>
#include <utility>

#include "broker/partition_keeper.h"
#include "foundation/canary.h"
#include "foundation/log.h"

namespace naru {

void PartitionKeeper::offline_logs_changed() {
  any_to_reopen_ = true;
  offline_logs_.offline_logs_changed();
}

Task<void> PartitionKeeper::close_to_reopen() {
  if (!any_to_reopen_.exchange(false)) co_return;
  for (HostedPartition& hosted : hosted_.all_hosted()) {
    if (!hosted || !hosted.partition->may_be_reopened()) continue;
    const Reopening reopening = co_await may_reopen(*hosted.partition);
    if (reopening == Reopening::not_yet) {
      any_to_reopen_ = true;
    } else {
      co_await close_one_to_reopen(std::move(hosted), reopening);
    }
  }
}

// A leader that began anew in its own epoch would not know what its former self has proposed to the controller: the
// in-sync set may have grown by it. So the controller has to act first on the report that the log is offline. A
// partition without other replicas is not reported, and its in-sync set never changes.
Task<PartitionKeeper::Reopening> PartitionKeeper::may_reopen(const Partition& partition) {
  const auto turn = co_await role_turns_.enter_always();
  const PartitionIdentity& identity = partition.identity();
  const TopicMetadata* topic = role_image_->find_topic(identity.topic_id);
  const PartitionState* state = topic == nullptr ? nullptr : topic->partition(identity.index);
  if (state == nullptr) co_return Reopening::not_yet;
  const auto damage = partition.offline_damage();
  if (damage && is_planted(Canary::damage_cut_unasked)) co_return Reopening::repaired;
  if (state->replicas.size() == 1 || is_planted(Canary::reopened_unreported)) co_return Reopening::as_it_is;
  if (!has_roles_ || state->leader == config_.node_id) co_return Reopening::not_yet;
  const bool is_member = std::ranges::find(state->isr, config_.node_id) != state->isr.end();
  if (is_member) co_return state->leader == kNoBroker ? Reopening::as_it_is : Reopening::not_yet;
  co_return damage ? may_reopen_damaged(*state, *damage) : Reopening::as_it_is;
}

// What is cut off has to be elsewhere, and nobody may believe that it is still here. The controller has taken this
// replica out of the in-sync set because of its report, and that begins a leader epoch in which what was fetched before
// does not count; as long as the report stands it is not a member again. If it was taken out for another reason, it has
// to come back first.
PartitionKeeper::Reopening PartitionKeeper::may_reopen_damaged(const PartitionState& state,
                                                               const OfflineDamage& damage) const {
  if (state.leader == kNoBroker) return Reopening::as_it_is;  // it may be the only copy that is left
  const BrokerMetadata* self = role_image_->find_broker(config_.node_id);
  if (self == nullptr) return Reopening::not_yet;
  const auto told = role_image_->known_broker(config_.node_id).offline_in(self->epoch);
  if (told == nullptr || !told->partitions.contains({state.topic_id, state.index})) return Reopening::not_yet;
  return state.leader_epoch > damage.leader_epoch ? Reopening::repaired : Reopening::as_it_is;
}

Task<void> PartitionKeeper::close_one_to_reopen(HostedPartition hosted, Reopening reopening) {
  Partition& partition = *hosted.partition;
  const PartitionIdentity& identity = partition.identity();
  const auto damage = partition.offline_damage();
  const Status reason(ErrorCode::log_offline, damage ? "the log is being opened again, after damage was found"
                                                     : "the log is being opened again, after something had run out");
  const Status closed = co_await partition.close(reason, LogFate::reopened);
  if (!closed.ok()) {
    log_error("partition", "{} stays offline until the broker is restarted: {}", identity.to_string(),
              closed.to_string());
    co_return;
  }
  hosted_.add(identity, {.config = hosted.config, .offline_reason = reason});
  any_offline_ = true;  // as far as the controller knows
  const PartitionKey key(identity.topic_id, identity.index);
  const std::scoped_lock lock(unopened_mutex_);
  closed_.insert_or_assign(key, hosted.partition);
  unopened_.insert_or_assign(key, damage ? ErrorCode::corrupt_data : ErrorCode::disk_full);
  if (reopening == Reopening::repaired && damage) given_up_.insert_or_assign(key, damage->from);
}

bool PartitionKeeper::was_closed_to_reopen(const PartitionKey& key) const {
  const std::scoped_lock lock(unopened_mutex_);
  return closed_.contains(key);
}

void PartitionKeeper::let_go_of_closed(const PartitionKey& key, CommitJournal& journal) {
  std::shared_ptr<Partition> former;
  {
    const std::scoped_lock lock(unopened_mutex_);
    const auto found = closed_.extract(key);
    if (found.empty()) return;
    former = found.mapped();
    reopened_.insert(key.first);
  }
  journal.closed(*former);
}

std::set<Uuid> PartitionKeeper::take_reopened() {
  const std::scoped_lock lock(unopened_mutex_);
  return std::exchange(reopened_, {});
}

}  // namespace naru
