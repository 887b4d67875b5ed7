#include "consumer_groups/classic/classic_requests.h"

#include <string>
#include <utility>

#include "consumer_groups/classic/classic_rebalance.h"
#include "consumer_groups/classic/classic_sessions.h"
#include "consumer_groups/leaver_log.h"
#include "foundation/log.h"

namespace naru {
namespace {

SyncAnswer current_assignment(const ClassicGroup& group, const ClassicMember& member) {
  return {ErrorCode::none, group.protocol_type(), group.protocol(), member.assignment};
}

ErrorCode check_generation(const ClassicGroup& group, const MemberClaim& claim) {
  if (const ErrorCode known = group.check_claim(claim.member_id, claim.instance_id); known != ErrorCode::none) {
    return known;
  }
  return claim.generation == group.generation() ? ErrorCode::none : ErrorCode::illegal_generation;
}

ErrorCode check_sync(const ClassicGroup& group, const SyncGroup& request) {
  if (const ErrorCode claim = check_generation(group, request.member); claim != ErrorCode::none) return claim;
  const bool other_type = request.protocol_type && *request.protocol_type != group.protocol_type();
  const bool other_protocol = request.protocol_name && request.protocol_name != group.protocol();
  if (other_type || other_protocol) return ErrorCode::inconsistent_group_protocol;
  return group.is(ClassicState::preparing_rebalance) ? ErrorCode::rebalance_in_progress : ErrorCode::none;
}

void answer_sync(ClassicGroup& group, ClassicMember& member, GroupStep& step) {
  step.outcome.answer(std::exchange(member.parked_sync, nullptr), current_assignment(group, member));
  renew_session(group, member, step);
}

void park_sync(ClassicMember& member, Reply<SyncAnswer> reply, GroupStep& step) {
  Reply<SyncAnswer> superseded = std::exchange(member.parked_sync, std::move(reply));
  if (superseded) step.outcome.answer(std::move(superseded), SyncAnswer{ErrorCode::rebalance_in_progress});
  member.owes_sync = false;
}

size_t assignment_bytes(const SyncGroup& request) {
  size_t bytes = 0;
  for (const auto& [member_id, assignment] : request.assignments) bytes += assignment.size();
  return bytes;
}

bool assignments_fit(const ClassicGroup& group, const SyncGroup& request, const GroupSettings& settings) {
  const size_t bytes = group.bytes() + assignment_bytes(request);
  if (bytes <= settings.group_bytes_max) return true;
  log_warn("groups", "the members and assignments of group {} are {} bytes, more than the {} that a group may have",
           group.id(), bytes, settings.group_bytes_max);
  return false;
}

// The leader has spoken: the generation is stored, and everybody gets what is his.
void adopt_assignments(ClassicGroup& group, SyncGroup request, GroupStep& step) {
  for (auto& [member_id, assignment] : request.assignments) {
    if (ClassicMember* member = group.find(member_id)) group.set_assignment(*member, std::move(assignment));
  }
  group.enter(ClassicState::stable, step.time.wall_ms);
  const StoredGroup stored = group.snapshot();
  step.store.emit(group_record(group.id(), &stored), step.outcome);
  for (auto& [id, member] : group.members()) {
    if (member.parked_sync) answer_sync(group, member, step);
  }
}

ErrorCode leave_one(ClassicGroup& group, const LeaveGroup::Member& leaver, LeaverLog& log, GroupStep& step) {
  const auto awaited = group.awaited().find(leaver.member_id);
  if (awaited != group.awaited().end()) {
    step.timers.cancel(awaited->second);
    group.forget_awaited(leaver.member_id);
    return ErrorCode::none;
  }
  std::string member_id = leaver.member_id;
  if (member_id.empty() && leaver.instance_id) {
    // An administrator removes a static member without knowing its id.
    const std::string* known = group.member_of_instance(*leaver.instance_id);
    if (known != nullptr) member_id = *known;
  }
  const ErrorCode claim = group.check_claim(member_id, leaver.instance_id);
  if (claim != ErrorCode::none) return claim;
  log.note(member_id, leaver);
  drop_member(group, member_id, ErrorCode::unknown_member_id, step);
  return claim;
}

}  // namespace

void sync_classic_group(ClassicGroup& group, SyncGroup request, Reply<SyncAnswer> reply, GroupStep& step) {
  if (const ErrorCode wrong = check_sync(group, request); wrong != ErrorCode::none) {
    step.outcome.answer(std::move(reply), SyncAnswer{wrong});
    return;
  }
  ClassicMember& member = *group.find(request.member.member_id);
  const bool decides = group.is(ClassicState::completing_rebalance) && group.is_leader(member.member_id);
  if (decides && !group.has_memory_for(assignment_bytes(request))) {
    step.outcome.answer(std::move(reply), SyncAnswer{ErrorCode::coordinator_not_available});
    return;
  }
  if (decides && !assignments_fit(group, request, step.settings)) {
    step.outcome.answer(std::move(reply), SyncAnswer{ErrorCode::unknown_server_error});
    drop_member(group, request.member.member_id, ErrorCode::unknown_server_error, step);
    rebalance_or_complete(group, step);
    return;
  }
  park_sync(member, std::move(reply), step);
  if (decides) {
    adopt_assignments(group, std::move(request), step);
  } else if (group.is(ClassicState::stable)) {
    answer_sync(group, member, step);
  }
}

ErrorCode heartbeat_classic_group(ClassicGroup& group, const MemberClaim& claim, GroupStep& step) {
  if (const ErrorCode wrong = check_generation(group, claim); wrong != ErrorCode::none) return wrong;
  renew_session(group, *group.find(claim.member_id), step);
  return group.is(ClassicState::preparing_rebalance) ? ErrorCode::rebalance_in_progress : ErrorCode::none;
}

LeaveAnswer leave_classic_group(ClassicGroup& group, const std::vector<LeaveGroup::Member>& members, GroupStep& step) {
  LeaveAnswer answer;
  answer.members.reserve(members.size());
  const auto size_before = group.members().size();
  LeaverLog log(group.id());
  for (const LeaveGroup::Member& leaver : members) answer.members.push_back(leave_one(group, leaver, log, step));
  if (group.members().size() != size_before) {
    rebalance_or_complete(group, step);
  } else {
    complete_if_all_joined(group, step);
  }
  return answer;
}

ErrorCode admit_commit(ClassicGroup& group, const MemberClaim& claim, GroupStep& step) {
  const bool is_empty = group.is(ClassicState::empty);
  if (is_empty && claim.generation < 0) return ErrorCode::none;
  if (claim.generation < 0 && claim.member_id.empty() && !claim.instance_id) return ErrorCode::unknown_member_id;
  if (const ErrorCode wrong = check_generation(group, claim); wrong != ErrorCode::none) return wrong;
  // It knows of the new generation, and cannot have read anything in it: whatever it commits is of an older one.
  if (group.is(ClassicState::completing_rebalance)) return ErrorCode::rebalance_in_progress;
  renew_session(group, *group.find(claim.member_id), step);
  return ErrorCode::none;
}

ErrorCode check_transactional_commit(const ClassicGroup& group, const MemberClaim& claim) {
  const bool is_nobody = claim.generation < 0 && claim.member_id.empty() && !claim.instance_id;
  if (is_nobody || (claim.generation < 0 && group.is(ClassicState::empty))) return ErrorCode::none;
  return check_generation(group, claim);
}

void on_session_timer(ClassicGroup& group, const std::string& member_id, GroupStep& step) {
  ClassicMember* member = group.find(member_id);
  if (member == nullptr || !session_is_over(group, *member, step)) return;
  log_info("groups", "the session of member {} of group {} is over", member_id, group.id());
  drop_member(group, member_id, ErrorCode::unknown_member_id, step);
  rebalance_or_complete(group, step);
}

void on_awaited_member_timer(ClassicGroup& group, const std::string& member_id, GroupStep& step) {
  group.forget_awaited(member_id);
  complete_if_all_joined(group, step);
}

void abandon_parked(ClassicGroup& group, const Status& reason) {
  for (auto& [id, member] : group.members()) {
    if (member.parked_join) group.take_join(member)(failure(reason));
    if (member.parked_sync) std::exchange(member.parked_sync, nullptr)(failure(reason));
  }
}

}  // namespace naru
