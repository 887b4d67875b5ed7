#include "consumer_groups/classic/classic_rebalance.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "consumer_groups/classic/classic_sessions.h"

namespace naru {
namespace {

void set_rebalance_timer(ClassicGroup& group, Milliseconds after, GroupStep& step) {
  if (group.rebalance_timer) step.timers.cancel(*group.rebalance_timer);
  group.rebalance_timer =
      step.timers.insert(step.time.now + after, {GroupTimer::Kind::rebalance, group.id(), std::string()});
}

void cancel_rebalance_timer(ClassicGroup& group, GroupStep& step) {
  if (group.rebalance_timer) step.timers.cancel(*group.rebalance_timer);
  group.rebalance_timer.reset();
  group.initial_delay.reset();
}

void cancel_sync_timer(ClassicGroup& group, GroupStep& step) {
  if (group.sync_timer) step.timers.cancel(*group.sync_timer);
  group.sync_timer.reset();
}

// Those that wait for an assignment of the generation that will not come.
void send_back_to_join(ClassicGroup& group, GroupStep& step) {
  for (auto& [id, member] : group.members()) {
    if (!member.parked_sync) continue;
    step.outcome.answer(std::exchange(member.parked_sync, nullptr), SyncAnswer{ErrorCode::rebalance_in_progress});
    renew_session(group, member, step);
  }
}

void drop_missing_members(ClassicGroup& group, GroupStep& step) {
  std::vector<std::string> missing;
  for (const auto& [id, member] : group.members()) {
    // A static member is expected back within its session.
    if (!member.parked_join && !member.instance_id) missing.push_back(id);
  }
  for (const std::string& id : missing) drop_member(group, id, ErrorCode::unknown_member_id, step);
}

void become_empty(ClassicGroup& group, GroupStep& step) {
  group.enter(ClassicState::empty, step.time.wall_ms);
  const StoredGroup stored = group.snapshot();
  step.store.emit(group_record(group.id(), &stored), step.outcome);
}

void announce_generation(ClassicGroup& group, GroupStep& step) {
  group.enter(ClassicState::completing_rebalance, step.time.wall_ms);
  for (auto& [id, member] : group.members()) {
    if (!member.parked_join) continue;
    step.outcome.answer(group.take_join(member), join_answer(group, member));
    member.is_new = false;
    member.owes_sync = true;
    renew_session(group, member, step);
  }
  group.sync_timer = step.timers.insert(step.time.now + group.rebalance_timeout(),
                                        {GroupTimer::Kind::synchronization, group.id(), std::string()});
}

void complete_join(ClassicGroup& group, GroupStep& step) {
  cancel_rebalance_timer(group, step);
  drop_missing_members(group, step);
  if (!group.members().empty() && !group.elect_leader()) {
    // Only static members, and none of them is here: wait for them or for the ends of their sessions.
    set_rebalance_timer(group, group.rebalance_timeout(), step);
    return;
  }
  group.start_generation();
  if (group.members().empty()) {
    become_empty(group, step);
  } else {
    announce_generation(group, step);
  }
}

void prepare_rebalance(ClassicGroup& group, GroupStep& step) {
  send_back_to_join(group, step);
  cancel_sync_timer(group, step);
  const bool delayed = group.is(ClassicState::empty) && step.settings.initial_rebalance_delay > 0ms;
  group.enter(ClassicState::preparing_rebalance, step.time.wall_ms);
  if (delayed) {
    // A new group: its members start one after the other, and one generation for all of them is enough.
    const Milliseconds delay = step.settings.initial_rebalance_delay;
    group.initial_delay.emplace(std::max(group.rebalance_timeout() - delay, Milliseconds(0)));
    set_rebalance_timer(group, delay, step);
  } else if (group.all_have_joined()) {
    complete_join(group, step);
  } else {
    set_rebalance_timer(group, group.rebalance_timeout(), step);
  }
}

}  // namespace

void drop_member(ClassicGroup& group, std::string_view member_id, ErrorCode reason, GroupStep& step) {
  ClassicMember member = group.remove(member_id);
  end_session(member, step);
  if (member.parked_join) {
    step.outcome.answer(std::move(member.parked_join), JoinAnswer{.error = reason, .member_id = member.member_id});
  }
  if (member.parked_sync) step.outcome.answer(std::move(member.parked_sync), SyncAnswer{reason});
}

void rebalance_or_complete(ClassicGroup& group, GroupStep& step) {
  if (group.is(ClassicState::preparing_rebalance)) {
    complete_if_all_joined(group, step);
  } else if (!group.is(ClassicState::empty) || !group.members().empty()) {
    prepare_rebalance(group, step);
  }
}

void complete_if_all_joined(ClassicGroup& group, GroupStep& step) {
  const bool may_complete = group.is(ClassicState::preparing_rebalance) && !group.initial_delay;
  if (may_complete && group.all_have_joined()) complete_join(group, step);
}

JoinAnswer join_answer(const ClassicGroup& group, const ClassicMember& member) {
  JoinAnswer answer{.generation = group.generation(),
                    .protocol_type = group.protocol_type(),
                    .protocol_name = group.protocol(),
                    .leader = group.leader(),
                    .member_id = member.member_id};
  if (!group.is_leader(member.member_id)) return answer;
  answer.members.reserve(group.members().size());
  for (const auto& [id, each] : group.members()) {
    answer.members.push_back({id, each.instance_id, group.chosen_metadata(each)});
  }
  return answer;
}

void on_rebalance_timer(ClassicGroup& group, GroupStep& step) {
  group.rebalance_timer.reset();
  auto& initial = group.initial_delay;
  if (initial && initial->member_came && initial->remaining > 0ms) {
    const Milliseconds delay = std::min(step.settings.initial_rebalance_delay, initial->remaining);
    initial = ClassicGroup::InitialDelay{std::max(initial->remaining - delay, Milliseconds(0))};
    set_rebalance_timer(group, delay, step);
    return;
  }
  complete_join(group, step);
}

void on_sync_timer(ClassicGroup& group, GroupStep& step) {
  group.sync_timer.reset();
  std::vector<std::string> silent;
  for (const auto& [id, member] : group.members()) {
    if (member.owes_sync) silent.push_back(id);
  }
  if (silent.empty()) return;
  for (const std::string& id : silent) drop_member(group, id, ErrorCode::unknown_member_id, step);
  rebalance_or_complete(group, step);
}

}  // namespace naru
