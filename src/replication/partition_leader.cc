#include "replication/partition_leader.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "foundation/assert.h"
#include "foundation/canary.h"

namespace naru {
namespace {

bool contains(const std::vector<BrokerId>& brokers, BrokerId id) {
  return std::ranges::find(brokers, id) != brokers.end();
}

}  // namespace

PartitionLeader::PartitionLeader(BrokerId self, const LeaderRules& rules, const PartitionAssignment& assignment,
                                 ReplicaProgress own, Offset high_watermark, MonotonicTime now)
    : self_(self),
      rules_(rules),
      leader_epoch_(assignment.leader_epoch),
      partition_epoch_(assignment.partition_epoch),
      next_proposal_(now),
      own_(own),
      newest_batch_(own.log_end),
      epoch_start_(own.log_end),
      high_watermark_(high_watermark) {
  NARU_ASSERT(own.synced_end <= own.log_end, "synced up to {} beyond the log's end {}", own.synced_end, own.log_end);
  NARU_ASSERT(high_watermark <= own.log_end, "high watermark {} beyond the log's end {}", high_watermark, own.log_end);
  take_members(assignment, now);
  maybe_advance_high_watermark();
  maybe_advance_common_start();
}

void PartitionLeader::take_members(const PartitionAssignment& assignment, MonotonicTime now) {
  NARU_ASSERT(contains(assignment.isr, self_), "leader {} is not in the in-sync set", self_);
  replicas_ = assignment.replicas;
  in_sync_ = assignment.isr;
  std::erase_if(followers_, [this](const auto& entry) { return !contains(replicas_, entry.first); });
  for (const BrokerId id : replicas_) {
    if (id == self_) continue;
    // One that was never heard of has its time from now on.
    followers_.try_emplace(id, Follower{.last_fetch = now,
                                        .followed_at = now,
                                        .of_end = {now, own_.log_end, now},
                                        .of_start = {now, own_.log_start, now}});
  }
}

// What we have asked for ourselves tells nothing new of anybody.
void PartitionLeader::note_expelled(const PartitionAssignment& assignment) {
  if (proposed_ && std::ranges::equal(proposed_->isr, assignment.isr, {}, &IsrProposal::Member::id)) return;
  for (auto& [id, follower] : followers_) {
    if (contains(in_sync_, id) && !contains(assignment.isr, id)) follower.was_expelled = true;
  }
}

bool PartitionLeader::enough_replicas() const {
  return static_cast<int64_t>(in_sync_.size()) >= rules_.min_insync_replicas;
}

std::vector<BrokerId> PartitionLeader::may_be_elected() const {
  std::vector<BrokerId> others;
  std::ranges::copy_if(replicas_, std::back_inserter(others),
                       [this](BrokerId id) { return id != self_ && in_maximal_set(id); });
  return others;
}

std::vector<BrokerId> PartitionLeader::silent_since(MonotonicTime moment) const {
  std::vector<BrokerId> silent;
  for (const auto& [id, follower] : followers_) {
    const bool may_be_elected = is_planted(Canary::silent_committed_isr) ? contains(in_sync_, id) : in_maximal_set(id);
    if (may_be_elected && follower.followed_at < moment) silent.push_back(id);
  }
  return silent;
}

int64_t PartitionLeader::ask_followers(MonotonicTime now) {
  question_ = std::max<int64_t>(question_ + 1, now.time_since_epoch().count());
  return question_;
}

int64_t PartitionLeader::question_for(BrokerId follower) const {
  const auto found = followers_.find(follower);
  return found != followers_.end() && found->second.answered_question < question_ ? question_ : 0;
}

void PartitionLeader::follower_answered(BrokerId follower, int64_t question) {
  const auto found = followers_.find(follower);
  if (found == followers_.end() || question > question_) return;
  found->second.answered_question = std::max(found->second.answered_question, question);
}

bool PartitionLeader::is_followed_since(int64_t question) const {
  return std::ranges::all_of(followers_, [&](const auto& entry) {
    return !in_maximal_set(entry.first) || entry.second.answered_question >= question;
  });
}

std::optional<Offset> PartitionLeader::slowest_since(MonotonicTime moment) const {
  std::optional<Offset> slowest;
  for (const auto& [id, follower] : followers_) {
    const Offset end = follower.progress.log_end;
    if (follower.broker_epoch < 0 || follower.last_fetch < moment || end >= own_.log_end) continue;
    slowest = std::min(slowest.value_or(end), end);
  }
  return slowest;
}

Status PartitionLeader::all_in_sync_verdict() const {
  return enough_replicas() ? Status() : Status(ErrorCode::not_enough_replicas_after_append);
}

void PartitionLeader::set_rules(const LeaderRules& rules) {
  rules_ = rules;
  maybe_advance_high_watermark();
}

void PartitionLeader::set_assignment(const PartitionAssignment& assignment, MonotonicTime now) {
  NARU_ASSERT(assignment.leader == self_ && assignment.leader_epoch == leader_epoch_,
              "epoch {} of leader {} is not the one of {}", assignment.leader_epoch, assignment.leader, self_);
  if (assignment.partition_epoch <= partition_epoch_) return;
  partition_epoch_ = assignment.partition_epoch;
  note_expelled(assignment);
  // A proposal is done by now, or never will be: it named the partition epoch from before.
  proposed_.reset();
  on_its_way_ = false;
  take_members(assignment, now);
  maybe_advance_high_watermark();
  maybe_advance_common_start();
}

void PartitionLeader::appended(Offset base, Offset end, MonotonicTime now) {
  NARU_ASSERT(end > own_.log_end, "append to {} does not grow a log that ends at {}", end, own_.log_end);
  for (auto& [id, follower] : followers_) {
    // It was caught up until now, although it may not have fetched for long: there was nothing to say.
    if (counted_end(follower.progress) == own_.log_end) follower.of_end.outrun(end, now);
  }
  newest_batch_ = base;
  own_.log_end = end;
  maybe_advance_high_watermark();
}

void PartitionLeader::synced(Offset end) {
  NARU_ASSERT(end <= own_.log_end, "synced up to {} beyond the log's end {}", end, own_.log_end);
  own_.synced_end = std::max(own_.synced_end, end);
  maybe_advance_high_watermark();
}

void PartitionLeader::begins_at(Offset start, MonotonicTime now) {
  if (start <= own_.log_start) return;
  for (auto& [id, follower] : followers_) {
    if (follower.progress.log_start >= own_.log_start) follower.of_start.outrun(start, now);
  }
  own_.log_start = start;
  maybe_advance_common_start();
}

bool PartitionLeader::follower_fetched(BrokerId follower, FollowerLife life, ReplicaProgress progress,
                                       MonotonicTime now) {
  NARU_ASSERT(progress.log_end <= own_.log_end, "follower {} is at {}, beyond {}", follower, progress.log_end,
              own_.log_end);
  const auto found = followers_.find(follower);
  if (found == followers_.end()) return false;
  Follower& known = found->second;
  if (life.broker_epoch < known.broker_epoch && !is_planted(Canary::earlier_life_fetches)) return false;
  if (!life.registered && !in_maximal_set(follower)) return false;
  known.broker_epoch = life.broker_epoch;
  known.was_expelled = false;
  known.last_fetch = now;
  const MonotonicTime followed = is_planted(Canary::late_fetch_is_contact) ? now : std::min(life.followed_at, now);
  known.followed_at = std::max(known.followed_at, followed);
  known.progress = {.log_end = progress.log_end,
                    .synced_end = std::min(progress.synced_end, progress.log_end),
                    .log_start = progress.log_start};
  known.of_end.reached(counted_end(known.progress), own_.log_end, now);
  known.of_start.reached(known.progress.log_start, own_.log_start, now);
  maybe_advance_high_watermark();
  maybe_advance_common_start();
  return true;
}

void PartitionLeader::Pursuit::reached(Offset here, Offset goal, MonotonicTime now) {
  if (here >= goal) {
    caught_up = now;
  } else if (here >= mark) {
    caught_up = mark_time;
  } else {
    return;
  }
  mark = goal;
  mark_time = now;
}

void PartitionLeader::Pursuit::outrun(Offset goal, MonotonicTime now) {
  caught_up = mark_time = now;
  mark = goal;
}

Offset PartitionLeader::counted_end(const ReplicaProgress& progress) const {
  const bool waits_for_sync = rules_.sync_before_ack && !is_planted(Canary::ack_before_sync);
  return waits_for_sync ? std::min(progress.synced_end, progress.log_end) : progress.log_end;
}

bool PartitionLeader::is_proposed(BrokerId id) const {
  return proposed_ && std::ranges::find(proposed_->isr, id, &IsrProposal::Member::id) != proposed_->isr.end();
}

void PartitionLeader::maybe_advance_high_watermark() {
  Offset lowest = counted_end(own_);
  for (const auto& [id, follower] : followers_) {
    const bool may_be_elected = is_planted(Canary::committed_isr_only) ? contains(in_sync_, id) : in_maximal_set(id);
    if (!may_be_elected) continue;
    if (follower.broker_epoch < 0) return;  // one that has not reported yet holds everything
    lowest = std::min(lowest, counted_end(follower.progress));
  }
  high_watermark_ = std::max(high_watermark_, lowest);  // never backwards
}

bool PartitionLeader::in_maximal_set(BrokerId id) const {
  return contains(in_sync_, id) || is_proposed(id);
}

void PartitionLeader::maybe_advance_common_start() {
  Offset lowest = own_.log_start;
  for (const auto& [id, follower] : followers_) {
    if (lowest == Offset(0)) break;  // no log begins earlier, whatever they say
    if (!in_maximal_set(id)) continue;
    if (follower.broker_epoch < 0) return;
    lowest = std::min(lowest, follower.progress.log_start);
  }
  common_start_ = std::max(common_start_, lowest);
}

// --- The in-sync set -------------------------------------------------------------------------------------------------

bool PartitionLeader::too_many_behind(const Follower& follower) const {
  if (!rules_.lag_max_messages || follower.broker_epoch < 0) return false;
  // Without the newest batch alone it has done what it could, however large that is.
  const Offset end = follower.progress.log_end;
  return end < newest_batch_ && own_.log_end - end > *rules_.lag_max_messages;
}

bool PartitionLeader::lags(const Follower& follower, MonotonicTime now) const {
  if (too_many_behind(follower)) return true;
  const auto is_late = [&](const Pursuit& pursuit) { return now - pursuit.caught_up > rules_.lag_time_max; };
  if (counted_end(follower.progress) < own_.log_end && is_late(follower.of_end)) return true;
  return follower.progress.log_start < own_.log_start && is_late(follower.of_start);
}

// The start of the epoch, too: below it the high watermark may be an old one, and the follower may lack what an earlier
// leader has promised. The start of the log likewise: the own one is at least what any leader has told.
bool PartitionLeader::may_join(BrokerId id, const Follower& follower) const {
  const ReplicaProgress& progress = follower.progress;
  const Offset reached = is_planted(Canary::isr_by_log_end) ? progress.log_end : counted_end(progress);
  const Offset begun = is_planted(Canary::isr_ignores_epoch_start) ? Offset(0) : epoch_start_;
  return follower.broker_epoch >= 0 && !follower.was_expelled && !contains(in_sync_, id) &&
         reached >= high_watermark_ && reached >= begun && progress.log_start >= own_.log_start &&
         !too_many_behind(follower);
}

std::optional<IsrProposal> PartitionLeader::propose(std::vector<BrokerId> wanted) {
  if (wanted == in_sync_) return std::nullopt;
  IsrProposal proposal{.leader_epoch = leader_epoch_, .partition_epoch = partition_epoch_, .isr = {}};
  for (const BrokerId id : wanted) {
    const auto follower = followers_.find(id);
    proposal.isr.push_back({id, follower == followers_.end() ? -1 : follower->second.broker_epoch});
  }
  proposed_ = proposal;
  on_its_way_ = true;
  return proposal;
}

std::optional<IsrProposal> PartitionLeader::maybe_expand(MonotonicTime now) {
  if (proposed_ || now < next_proposal_) return std::nullopt;
  std::vector<BrokerId> wanted = in_sync_;
  for (const auto& [id, follower] : followers_) {
    if (may_join(id, follower)) wanted.push_back(id);
  }
  return propose(std::move(wanted));
}

std::optional<IsrProposal> PartitionLeader::check_followers(MonotonicTime now) {
  if (on_its_way_ || now < next_proposal_) return std::nullopt;
  if (proposed_) {
    // The same again: if it was done meanwhile, the controller says that the state is another one.
    on_its_way_ = true;
    return proposed_;
  }
  std::vector<BrokerId> wanted = in_sync_;
  std::erase_if(wanted, [this, now](BrokerId id) {
    const auto follower = followers_.find(id);
    return follower != followers_.end() && lags(follower->second, now);
  });
  for (const auto& [id, follower] : followers_) {
    if (may_join(id, follower) && !lags(follower, now)) wanted.push_back(id);
  }
  return propose(std::move(wanted));
}

void PartitionLeader::proposal_answered(const IsrProposal& asked, const IsrAnswer& answer, MonotonicTime now) {
  if (!proposed_ || asked != *proposed_) return;  // an assignment was faster
  on_its_way_ = false;
  switch (answer.verdict) {
    case IsrAnswer::Verdict::committed:
      if (!contains(answer.isr, self_)) break;  // makes no sense: it is asked again
      set_assignment({.leader = self_,
                      .leader_epoch = leader_epoch_,
                      .partition_epoch = answer.partition_epoch,
                      .replicas = replicas_,
                      .isr = answer.isr},
                     now);
      break;
    case IsrAnswer::Verdict::refused:
      proposed_.reset();
      next_proposal_ = now + kProposalBackoff;
      maybe_advance_high_watermark();
      maybe_advance_common_start();
      break;
    case IsrAnswer::Verdict::unknown:
      next_proposal_ = now + kProposalBackoff;
      break;
    case IsrAnswer::Verdict::overtaken:
      on_its_way_ = true;  // until the assignment comes
      break;
  }
}

// --- Acknowledgements ------------------------------------------------------------------------------------------------

std::optional<Status> PartitionLeader::verdict(Offset end, Acks acks) const {
  switch (acks) {
    case Acks::none:
      return Status();
    case Acks::leader:
      return counted_end(own_) >= end ? std::optional(Status()) : std::nullopt;
    case Acks::all_in_sync:
      return high_watermark_ >= end ? std::optional(all_in_sync_verdict()) : std::nullopt;
  }
  return Status(ErrorCode::invalid_required_acks);
}

void PartitionLeader::wait_for(Offset end, Acks acks, std::shared_ptr<AckWaiter> waiter) {
  NARU_ASSERT(!verdict(end, acks), "a waiter for {}, which is due", end);
  park(acks == Acks::leader ? for_own_sync_ : for_high_watermark_, end, std::move(waiter));
}

// Behind the others, because appends ascend; a producer's repeated batch waits for an earlier offset than the last.
void PartitionLeader::park(Waiters& waiters, Offset end, std::shared_ptr<AckWaiter> waiter) {
  auto at = waiters.end();
  while (at != waiters.begin() && std::prev(at)->first > end) --at;
  waiters.emplace(at, end, std::move(waiter));
}

std::vector<PartitionLeader::DueAck> PartitionLeader::take_due() {
  std::vector<DueAck> due;
  const auto take = [&due](Waiters& waiters, Offset reached, const Status& status, Acks acks) {
    auto waiter = waiters.begin();
    for (; waiter != waiters.end() && waiter->first <= reached; ++waiter) {
      due.push_back({std::move(waiter->second), status, acks});
    }
    waiters.erase(waiters.begin(), waiter);
  };
  take(for_own_sync_, counted_end(own_), Status(), Acks::leader);
  take(for_high_watermark_, high_watermark_, all_in_sync_verdict(), Acks::all_in_sync);
  return due;
}

std::vector<std::shared_ptr<AckWaiter>> PartitionLeader::take_all() {
  std::vector<std::shared_ptr<AckWaiter>> all;
  for (Waiters* waiters : {&for_own_sync_, &for_high_watermark_}) {
    for (auto& [end, waiter] : *waiters) all.push_back(std::move(waiter));
    waiters->clear();
  }
  return all;
}

}  // namespace naru
