#include "consumer_groups/classic/classic_join.h"

#include <algorithm>
#include <string>
#include <utility>

#include "consumer_groups/classic/classic_rebalance.h"
#include "consumer_groups/classic/classic_sessions.h"

namespace naru {
namespace {

// Sent away, and not back yet. More than that is somebody who never comes back.
constexpr size_t kAwaitedMembersMax = 100'000;

void refuse_join(Reply<JoinAnswer> reply, ErrorCode reason, std::string member_id, GroupStep& step) {
  step.outcome.answer(std::move(reply), JoinAnswer{.error = reason, .member_id = std::move(member_id)});
}

void park_join_of(ClassicGroup& group, ClassicMember& member, Reply<JoinAnswer> reply, GroupStep& step) {
  Reply<JoinAnswer> superseded = group.park_join(member, std::move(reply));
  // The client has given up on it and asked again.
  if (superseded) {
    refuse_join(std::move(superseded), ErrorCode::rebalance_in_progress, member.member_id, step);
  }
}

// Whose place the request takes, if it is not an additional one.
const ClassicMember* member_of(ClassicGroup& group, const JoinGroup& request) {
  if (!request.member_id.empty() || !request.instance_id) return group.find(request.member_id);
  const std::string* id = group.member_of_instance(*request.instance_id);
  return id == nullptr ? nullptr : group.find(*id);
}

bool has_place_for(ClassicGroup& group, const JoinGroup& request, const GroupSettings& settings) {
  const ClassicMember* member = member_of(group, request);
  switch (group.state()) {
    case ClassicState::empty:
      return true;
    case ClassicState::preparing_rebalance:
      // Those that have joined count, not those that are known: if the limit was lowered, the last ones do not get in.
      return (member != nullptr && member->parked_join) || group.parked_joins() < settings.size_max;
    case ClassicState::completing_rebalance:
    case ClassicState::stable:
      return member != nullptr || group.members().size() < settings.size_max;
  }
  return false;
}

// What the member says in place of what it has said before.
struct SaidBytes {
  size_t before = 0;
  size_t after = 0;
};

SaidBytes said_bytes(ClassicGroup& group, const JoinGroup& request) {
  const ClassicMember* member = member_of(group, request);
  // Ids and names are short beside it, and may be counted generously.
  return {.before = member == nullptr ? 0 : ClassicGroup::bytes_of(member->protocols),
          .after = ClassicGroup::bytes_of(request.protocols) + request.fresh_member_id.size() +
                   request.client_id.size() + (request.instance_id ? request.instance_id->size() : 0)};
}

bool has_room_for(const ClassicGroup& group, const SaidBytes& said, const GroupSettings& settings) {
  return group.bytes() - said.before + said.after <= settings.group_bytes_max;
}

// A member that says about the same as before is not refused because others have filled the memory.
bool has_memory_for(const ClassicGroup& group, const SaidBytes& said) {
  return said.after <= said.before + said.before / 2 || group.has_memory_for(said.after - said.before);
}

void add_member(ClassicGroup& group, std::string member_id, JoinGroup request, Reply<JoinAnswer> reply,
                GroupStep& step) {
  if (group.initial_delay) group.initial_delay->member_came = true;
  ClassicMember& member = group.add({.member_id = std::move(member_id),
                                     .instance_id = std::move(request.instance_id),
                                     .client_id = std::move(request.client_id),
                                     .client_host = std::move(request.client_host),
                                     .session_timeout = request.session_timeout,
                                     .rebalance_timeout = request.rebalance_timeout,
                                     .protocols = std::move(request.protocols),
                                     .is_new = true},
                                    request.protocol_type);
  park_join_of(group, member, std::move(reply), step);
  start_first_session(group, member, step);
  rebalance_or_complete(group, step);
}

void update_member(ClassicGroup& group, ClassicMember& member, JoinGroup request) {
  group.set_protocols(member, std::move(request.protocols));
  member.session_timeout = request.session_timeout;
  member.rebalance_timeout = request.rebalance_timeout;
}

void send_away_for_id(ClassicGroup& group, JoinGroup request, Reply<JoinAnswer> reply, GroupStep& step) {
  const std::string& id = request.fresh_member_id;
  if (group.awaited().size() >= kAwaitedMembersMax || !group.has_memory_for(id.size())) {
    refuse_join(std::move(reply), ErrorCode::coordinator_not_available, std::string(), step);
    return;
  }
  const auto timer =
      step.timers.insert(step.time.now + request.session_timeout, {GroupTimer::Kind::awaited_member, group.id(), id});
  group.await_member(id, timer);
  refuse_join(std::move(reply), ErrorCode::member_id_required, id, step);
}

// The new id has to outlive us before anybody hears of it: else the member would be fenced by its own former id.
void store_new_id(ClassicGroup& group, const std::string& old_id, const std::string& new_id, GroupStep& step) {
  const StoredGroup* stored = step.store.find_group(group.id());
  if (stored == nullptr) return;
  StoredGroup renamed = *stored;
  const auto member = std::ranges::find(renamed.members, old_id, &StoredMember::member_id);
  if (member == renamed.members.end()) return;
  member->member_id = new_id;
  if (renamed.leader == old_id) renamed.leader = new_id;
  step.store.emit(group_record(group.id(), &renamed), step.outcome);
}

ClassicMember& rename_static_member(ClassicGroup& group, const std::string& old_id, const std::string& new_id,
                                    GroupStep& step) {
  ClassicMember former = group.rename(old_id, new_id);
  end_session(former, step);
  if (former.parked_join) refuse_join(std::move(former.parked_join), ErrorCode::fenced_instance_id, old_id, step);
  if (former.parked_sync) {
    step.outcome.answer(std::move(former.parked_sync), SyncAnswer{ErrorCode::fenced_instance_id});
  }
  return *group.find(new_id);
}

// Nothing changes for the others: same generation, same assignment.
void continue_as_static_member(ClassicGroup& group, ClassicMember& member, std::string leader_before,
                               bool can_skip_assignment, Reply<JoinAnswer> reply, GroupStep& step) {
  const StoredGroup stored = group.snapshot();
  step.store.emit(group_record(group.id(), &stored), step.outcome);
  JoinAnswer answer = join_answer(group, member);
  if (can_skip_assignment) {
    answer.skip_assignment = group.is_leader(member.member_id);
  } else {
    // It would compute assignments if it knew that it leads, and nobody asks for them.
    answer.leader = std::move(leader_before);
    answer.members.clear();
  }
  step.outcome.answer(std::move(reply), std::move(answer));
}

void replace_static_member(ClassicGroup& group, const std::string& old_id, JoinGroup request, Reply<JoinAnswer> reply,
                           GroupStep& step) {
  const std::string leader_before = group.leader();
  const std::string new_id = request.fresh_member_id;
  const bool can_skip_assignment = request.can_skip_assignment;
  ClassicMember& member = rename_static_member(group, old_id, new_id, step);
  member.client_id = request.client_id;
  member.client_host = request.client_host;
  update_member(group, member, std::move(request));
  renew_session(group, member, step);
  if (group.is(ClassicState::stable) && group.protocol() == group.vote()) {
    continue_as_static_member(group, member, leader_before, can_skip_assignment, std::move(reply), step);
    return;
  }
  store_new_id(group, old_id, new_id, step);
  park_join_of(group, member, std::move(reply), step);
  rebalance_or_complete(group, step);
}

void join_without_id(ClassicGroup& group, JoinGroup request, Reply<JoinAnswer> reply, GroupStep& step) {
  if (request.instance_id) {
    if (const std::string* known = group.member_of_instance(*request.instance_id)) {
      replace_static_member(group, std::string(*known), std::move(request), std::move(reply), step);
      return;
    }
  } else if (request.must_come_back_with_id) {
    send_away_for_id(group, std::move(request), std::move(reply), step);
    return;
  }
  std::string id = request.fresh_member_id;
  add_member(group, std::move(id), std::move(request), std::move(reply), step);
}

bool must_rebalance_for(const ClassicGroup& group, const ClassicMember& member, const JoinGroup& request) {
  if (group.is(ClassicState::preparing_rebalance)) return true;
  if (member.protocols != request.protocols) return true;
  // A leader that joins a stable group has seen something that calls for new assignments.
  return group.is(ClassicState::stable) && group.is_leader(member.member_id);
}

void join_again(ClassicGroup& group, JoinGroup request, Reply<JoinAnswer> reply, GroupStep& step) {
  if (const ErrorCode claim = group.check_claim(request.member_id, request.instance_id); claim != ErrorCode::none) {
    refuse_join(std::move(reply), claim, request.member_id, step);
    return;
  }
  ClassicMember& member = *group.find(request.member_id);
  if (!must_rebalance_for(group, member, request)) {
    // It missed the answer, or only wants to know.
    renew_session(group, member, step);
    step.outcome.answer(std::move(reply), join_answer(group, member));
    return;
  }
  update_member(group, member, std::move(request));
  if (member.is_new) start_first_session(group, member, step);
  park_join_of(group, member, std::move(reply), step);
  rebalance_or_complete(group, step);
}

void join_with_id(ClassicGroup& group, JoinGroup request, Reply<JoinAnswer> reply, GroupStep& step) {
  const auto awaited = group.awaited().find(request.member_id);
  if (awaited == group.awaited().end()) {
    join_again(group, std::move(request), std::move(reply), step);
    return;
  }
  step.timers.cancel(awaited->second);
  group.forget_awaited(request.member_id);
  request.instance_id.reset();  // Who has one is never sent away.
  std::string id = request.member_id;
  add_member(group, std::move(id), std::move(request), std::move(reply), step);
}

}  // namespace

ErrorCode check_join(const JoinGroup& request, const GroupSettings& settings) {
  if (request.group_id.empty() || !is_group_id(request.group_id)) return ErrorCode::invalid_group_id;
  if (request.session_timeout < settings.session_timeout_min ||
      request.session_timeout > settings.session_timeout_max) {
    return ErrorCode::invalid_session_timeout;
  }
  const bool texts_fit = fits_record(request.fresh_member_id) && fits_record(request.instance_id.value_or("")) &&
                         fits_record(request.client_id) && fits_record(request.client_host) &&
                         fits_record(request.protocol_type) &&
                         std::ranges::all_of(request.protocols, fits_record, &GroupProtocol::name);
  return texts_fit ? ErrorCode::none : ErrorCode::invalid_request;
}

void join_classic_group(ClassicGroup& group, JoinGroup request, Reply<JoinAnswer> reply, GroupStep& step) {
  std::string member_id = request.member_id;
  const SaidBytes said = said_bytes(group, request);
  if (!has_place_for(group, request, step.settings) || !has_room_for(group, said, step.settings)) {
    if (group.check_claim(member_id, request.instance_id) == ErrorCode::none) {
      drop_member(group, member_id, ErrorCode::group_max_size_reached, step);
      rebalance_or_complete(group, step);
    }
    refuse_join(std::move(reply), ErrorCode::group_max_size_reached, std::move(member_id), step);
  } else if (!has_memory_for(group, said)) {
    // Members come and go: there may be room later.
    refuse_join(std::move(reply), ErrorCode::coordinator_not_available, std::move(member_id), step);
  } else if (!group.supports(request.protocol_type, request.protocols)) {
    refuse_join(std::move(reply), ErrorCode::inconsistent_group_protocol, std::move(member_id), step);
  } else if (member_id.empty()) {
    join_without_id(group, std::move(request), std::move(reply), step);
  } else {
    join_with_id(group, std::move(request), std::move(reply), step);
  }
}

}  // namespace naru
