// The part of Partition that follows its assignments: leading with followers, and following.
#include <algorithm>
#include <utility>

#include "foundation/canary.h"
#include "foundation/log.h"
#include "replication/partition.h"

namespace naru {
namespace {

// So often a follower may ask for the same before something is wrong with it.
constexpr int kGivenInVain = 5;

bool holds(const std::vector<BrokerId>& brokers, BrokerId id) {
  return std::ranges::find(brokers, id) != brokers.end();
}

}  // namespace

// --- Assignments -----------------------------------------------------------------------------------------------------

void Partition::assign(const PartitionAssignment& assignment) {
  strand_.run([self = shared_from_this(), assignment] { self->assign_inside(assignment); });
}

Partition::Role Partition::role_in(const PartitionAssignment& assignment) const {
  if (assignment.leader == self_) return holds(assignment.isr, self_) ? Role::leader : Role::none;
  return assignment.leader != kNoBroker && holds(assignment.replicas, self_) ? Role::follower : Role::none;
}

void Partition::assign_inside(const PartitionAssignment& assignment) {
  if (!availability_.ok() || !assignment.is_newer_than(assignment_)) return;
  const bool same_leader =
      assignment.leader == assignment_.leader && assignment.leader_epoch == assignment_.leader_epoch;
  const Role before = std::exchange(role_, role_in(assignment));
  assignment_ = assignment;
  if (same_leader && role_ == before) {
    if (leader_) leader_->set_assignment(assignment_, services_.clock.now());
  } else {
    const Offset known = std::clamp(high_watermark(), log_->start_offset(), log_->end_offset());
    resign();
    if (role_ == Role::leader) {
      become_leader(known);
    } else {
      if (is_planted(Canary::truncate_to_high_watermark) && role_ == Role::follower) {
        ignore(log_->truncate_to(known));
        readable_.truncate(log_->end_offset());
      }
      follower_.follow(assignment_.leader, assignment_.leader_epoch, known);
      tell_follower_observer();
    }
    for (auto& [id, watch] : watches_) watch.watcher->state_changed(watch.slot);
  }
  if (leader_) leader_->set_rules(rules());  // they depend on the number of replicas
  tell_acks_and_readers();
  publish_role();
}

// Nothing is appended: the epoch begins with its first batch, at the present end.
void Partition::become_leader(Offset known_high_watermark) {
  log_->limit_tombstone_horizon();
  leader_.emplace(
      self_, rules(), assignment_,
      ReplicaProgress{
          .log_end = log_->end_offset(), .synced_end = log_->durable_end(), .log_start = log_->start_offset()},
      known_high_watermark, services_.clock.now());
  // What it stored as a follower counts when it is durable here.
  if (config_.acknowledges_after_sync() && log_->durable_end() < log_->end_offset() && !log_->offline()) {
    services_.durability.make_durable(shared_from_this(), log_->end_offset());
  }
}

void Partition::resign() {
  fail_waiters(
      Status(ErrorCode::not_leader_or_follower, "another leader was elected before the records were committed"));
  leader_.reset();
  guards_.clear();
  given_.clear();
  tell_proven();
}

void Partition::publish_role() {
  told_leader_.store(leader_.has_value(), std::memory_order_relaxed);
  told_under_replicated_.store(leader_ && leader_->under_replicated(), std::memory_order_relaxed);
  told_under_min_isr_.store(leader_ && !leader_->enough_replicas(), std::memory_order_relaxed);
  told_isr_size_.store(leader_ ? static_cast<int32_t>(leader_->in_sync().size()) : 0, std::memory_order_relaxed);
}

// --- A leader's followers --------------------------------------------------------------------------------------------

PartitionView Partition::read_as_follower_inside(const FollowerFetch& request) {
  PartitionView view = view_inside(request.current_leader_epoch);
  view.readable_bytes = readable_.appended();
  view.told_start_offset = view.log_start_offset;
  if (!view.status.ok()) return view;
  const Offset end = log_->end_offset();
  view.readable_end = end;
  const auto parted = divergence({log_->epochs(), end}, request.from, request.last_fetched_epoch);
  if (parted && !is_planted(Canary::no_divergence_check)) {
    view.diverging = *parted;
    return view;
  }
  if (request.from < view.log_start_offset || request.from > end) {
    view.status = Status(ErrorCode::offset_out_of_range);
    return view;
  }
  const MonotonicTime now = services_.clock.now();
  const ReplicaProgress progress{
      .log_end = request.from, .synced_end = request.flushed_end, .log_start = request.log_start};
  if (!leader_->follower_fetched(request.replica, {request.broker_epoch, request.registered, request.followed_at},
                                 progress, now)) {
    view.status = Status(ErrorCode::not_leader_or_follower, "not a replica, or an earlier life of one");
    return view;
  }
  leader_->follower_answered(request.replica, request.answered_question);
  propose(leader_->maybe_expand(now));
  tell_acks_and_readers();
  view.question = leader_->question_for(request.replica);
  view.high_watermark = leader_->high_watermark();
  if (log_->tombstone_horizon().offset > request.from) view.tombstones = log_->tombstone_horizon();
  read_slice(view, request.from, request.max_bytes, request.at_least_one_batch, EmptyBatches::keep);
  if (!view.slice.empty()) note_given(request.replica, request.from);
  return view;
}

// A follower stores no batch whose CRC is wrong, and asks for it again.
void Partition::note_given(BrokerId follower, Offset from) {
  Given& given = given_[follower];
  if (std::exchange(given.from, from) != from) given.times = 0;
  if (++given.times % kGivenInVain == 0) {
    suspect_damage(error(ErrorCode::corrupt_message, "follower {} cannot store what is at offset {}", follower, from));
  }
}

void Partition::propose(const std::optional<IsrProposal>& proposal) {
  if (!proposal) return;
  std::string members;
  for (const auto& member : proposal->isr) members += fmt::format("{}{}", members.empty() ? "" : ", ", member.id);
  log_debug("partition", "{}: asks for the in-sync set {}", identity_.to_string(), members);
  if (services_.isr_proposals == nullptr) {
    leader_->proposal_answered(*proposal, {.verdict = IsrAnswer::Verdict::unknown}, services_.clock.now());
    return;
  }
  services_.isr_proposals->propose(shared_from_this(), *proposal);
}

void Partition::check_followers() {
  strand_.run([self = shared_from_this()] {
    if (!self->availability_.ok() || !self->leader_) return;
    self->propose(self->leader_->check_followers(self->services_.clock.now()));
    self->tell_proven();
  });
}

void Partition::proposal_answered(IsrProposal asked, IsrAnswer answer) {
  strand_.run([self = shared_from_this(), asked = std::move(asked), answer = std::move(answer)] {
    if (!self->leader_ || asked.leader_epoch != self->assignment_.leader_epoch) return;
    self->leader_->proposal_answered(asked, answer, self->services_.clock.now());
    self->tell_acks_and_readers();
    self->publish_role();
  });
}

// --- Following -------------------------------------------------------------------------------------------------------

void Partition::observe_following(std::weak_ptr<FollowerObserver> observer) {
  strand_.run([self = shared_from_this(), observer = std::move(observer)]() mutable {
    self->follower_observer_ = std::move(observer);
    // It may have asked for the position before, and the partition may have begun to follow since.
    self->tell_follower_observer();
  });
}

void Partition::tell_follower_observer() {
  if (const auto observer = follower_observer_.lock()) observer->position_changed();
}

FollowerPosition Partition::follower_position_inside() const {
  FollowerPosition position{
      .status = availability_,
      .leader = assignment_.leader,
      .leader_epoch = assignment_.leader_epoch,
      .offset = log_->end_offset(),
      .last_fetched_epoch = log_->latest_epoch(),
      .flushed_end = log_->durable_end(),
      .flush_counts = config_.acknowledges_after_sync(),
      .log_start = log_->start_offset(),
      .wants_producers = log_->producers_missing() && !is_planted(Canary::restart_forgets_producers)};
  if (position.status.ok() && role_ != Role::follower) position.status = Status(ErrorCode::not_leader_or_follower);
  return position;
}

FollowerStep Partition::apply_inside(const LeaderAnswer& answer, const std::vector<ReplicatedBatch>& batches,
                                     bool on_worker) {
  using Action = FollowerDecision::Action;
  if (!availability_.ok() || role_ != Role::follower) return {};
  const FollowerDecision decision =
      follower_.decide(answer, log_->start_offset(), {log_->epochs(), log_->end_offset()});
  switch (decision.action) {
    case Action::append:
      if (!batches.empty() && batches.front().header.base_offset < log_->end_offset()) {
        if (!on_worker) return {.action = Action::append, .needs_worker = true};
        if (const Status begun = begin_with_batch(batches.front().header); !begun.ok()) return after_failed_step(begun);
      }
      // Not before, because a log that begins anew knows no markers. Again with the next answer if it is not appended.
      if (lacks_tombstones(answer)) {
        if (!on_worker) return {.action = Action::append, .needs_worker = true};
        const Status raised = log_->raise_tombstone_horizon(answer.tombstones.offset);
        if (!raised.ok()) return after_failed_step(raised);
      }
      return append_replicated(answer, batches);
    case Action::truncate:
    case Action::restart:
      if (!on_worker) return {.action = decision.action, .needs_worker = true};
      return cut_back(decision);
    case Action::wait:
      return {.action = Action::wait,
              .problem = decision.why.empty()
                             ? Status(answer.error == ErrorCode::none ? ErrorCode::invalid_request : answer.error)
                             : Status(ErrorCode::corrupt_message, std::string(decision.why))};
    case Action::drop:
      break;
  }
  return {};
}

// Whoever copies this log later has to know that markers are missing in it, so that comes first.
bool Partition::lacks_tombstones(const LeaderAnswer& answer) const {
  return answer.lacks_tombstones() && answer.tombstones.offset > log_->tombstone_horizon().offset;
}

// The leader's log begins in the middle of a batch, and this one is empty: it gets the whole batch, and then a start
// like the leader's.
Status Partition::begin_with_batch(const BatchHeader& batch) {
  if (log_->start_offset() < log_->end_offset()) {
    return error(ErrorCode::corrupt_message, "a batch at offset {} does not continue a log that ends at {}",
                 batch.base_offset, log_->end_offset());
  }
  const WallTimeMs now = services_.clock.wall_now_ms();
  const Offset start = batch.base_offset;
  const Status status = log_->producers_missing() ? log_->restart_at(start, now)
                                                  : log_->restart_with(start, log_->producers().as_of(start), now);
  tell_unsynced_files();
  NARU_TRY(status);
  began_anew_at(start);
  return Status();
}

FollowerStep Partition::append_replicated(const LeaderAnswer& answer, const std::vector<ReplicatedBatch>& batches) {
  // Far behind, nobody waits for its syncs one by one.
  const bool catching_up = !batches.empty() && batches.back().header.next_offset() < answer.high_watermark;
  Status status;
  for (const ReplicatedBatch& batch : batches) {
    status = append_replicated_batch(batch, catching_up);
    if (!status.ok()) break;
  }
  if (!log_->offline() && !batches.empty()) {
    if (catching_up && config_.acknowledges_after_sync()) {
      services_.durability.make_durable(shared_from_this(), log_->end_offset());
    } else if (!config_.acknowledges_after_sync()) {
      arrange_sync_by_rules();
    }
    sync_what_waits();
  }
  follower_.adopt(answer, log_->end_offset());
  tell_acks_and_readers();
  tell_unsynced_files();
  if (!status.ok()) return after_failed_step(status);
  if (!config_.acknowledges_after_sync() && !batches.empty()) report_write(Status());
  FollowerStep step{.action = FollowerDecision::Action::append};
  const Offset start = std::min(answer.log_start, follower_.high_watermark());
  if (start > log_->start_offset()) step.move_start_to = start;
  return step;
}

Status Partition::append_replicated_batch(const ReplicatedBatch& batch, bool catching_up) {
  NARU_TRY_ASSIGN(const AppendOutcome appended,
                  log_->append_stored(batch.bytes.view(), batch.header, services_.clock.wall_now_ms()));
  readable_.append(appended.base_offset, appended.last_offset + 1, appended.bytes);
  unsynced_records_ += appended.last_offset - appended.base_offset + 1;
  if (!config_.acknowledges_after_sync() || catching_up) return Status();
  const size_t records = batch.bytes.size() - kBatchHeaderSize;
  services_.durability.make_durable(shared_from_this(),
                                    StoredBatch{.header = appended.header,
                                                .records = batch.bytes.slice(kBatchHeaderSize, records),
                                                .base_offset = appended.base_offset,
                                                .end_offset = appended.last_offset + 1,
                                                .leader_epoch = batch.header.leader_epoch});
  return Status();
}

FollowerStep Partition::cut_back(const FollowerDecision& decision) {
  const Offset end = log_->end_offset();
  const bool restarts = decision.action == FollowerDecision::Action::restart;
  const Status status =
      restarts ? log_->restart_at(decision.offset, services_.clock.wall_now_ms()) : log_->truncate_to(decision.offset);
  tell_unsynced_files();
  if (!status.ok()) return after_failed_step(status);
  readable_.truncate(log_->end_offset());
  const bool lost = restarts ? decision.why.empty() && follower_.high_watermark() > log_->end_offset()
                             : follower_.truncated(log_->end_offset());
  if (restarts) follower_.restarted(decision.offset);
  if (lost) {
    log_warn("partition",
             "{}: committed records from offset {} on are not in the log of leader {}: an unclean election",
             identity_.to_string(), log_->end_offset(), assignment_.leader);
  }
  log_info("partition", "{}: {} offset {}, as the log of leader {} in epoch {} demands; it ended at {}{}{}",
           identity_.to_string(), restarts ? "begins anew at" : "was cut back to", log_->end_offset(),
           assignment_.leader, assignment_.leader_epoch, end, decision.why.empty() ? "" : ": ", decision.why);
  for (auto& [id, watch] : watches_) watch.watcher->state_changed(watch.slot);
  tell_acks_and_readers();
  return {.action = decision.action};
}

FollowerStep Partition::after_failed_step(const Status& status) {
  report_write(status);
  if (log_->offline()) go_offline(log_->offline_reason());
  return {.action = FollowerDecision::Action::wait, .problem = status};
}

}  // namespace naru
