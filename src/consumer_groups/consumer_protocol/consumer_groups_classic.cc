// Members of the classic protocol in groups of the consumer protocol: they join, sync and send heartbeats as ever, and
// are served from the same epochs and assignments as the others. Their generation is their member epoch.
#include <algorithm>
#include <set>
#include <utility>

#include "consumer_groups/consumer_protocol/consumer_group_heartbeat_check.h"
#include "consumer_groups/consumer_protocol/consumer_group_protocol.h"
#include "consumer_groups/consumer_protocol/consumer_group_reconciliation.h"
#include "consumer_groups/consumer_protocol/consumer_group_records.h"
#include "consumer_groups/consumer_protocol/consumer_groups.h"
#include "consumer_groups/leaver_log.h"

namespace naru {
namespace {

bool has_protocol(const ClassicMembership& classic, const std::string& name) {
  return std::ranges::find(classic.protocols, name, &GroupProtocol::name) != classic.protocols.end();
}

// Members of the classic protocol have one in common, so that the group can become a classic one at any time.
bool fits_the_others(const ConsumerGroup& group, const JoinGroup& request) {
  if (request.protocol_type != kConsumerProtocolType) return false;
  return std::ranges::any_of(request.protocols, [&](const GroupProtocol& protocol) {
    return std::ranges::all_of(group.members(), [&](const auto& entry) {
      const auto& classic = entry.second.subscription->classic;
      return !classic.has_value() || entry.first == request.member_id || has_protocol(*classic, protocol.name);
    });
  });
}

// It has something to do that only begins with joining again.
bool should_join_again(const ConsumerMember& member, const ConsumerGroup& group) {
  if (member.current->epoch < group.epoch()) return true;
  switch (member.current->state) {
    case ReconciliationState::stable:
      return false;
    case ReconciliationState::unrevoked:
      return true;
    case ReconciliationState::unreleased:
      return could_get_more(*member.current, member.target.value_or(PartitionSet{}), group);
  }
  return false;
}

// Whose place the heartbeat takes.
bool is_of(const AdoptedGroup::Member& member, const ConsumerHeartbeat& request) {
  return member.member_id == request.member_id ||
         (request.instance_id.has_value() && member.subscription.instance_id == request.instance_id);
}

}  // namespace

// --- Joining ---------------------------------------------------------------------------------------------------------

JoinAnswer ConsumerGroups::join_classic(const JoinGroup& request, const CoordinatorTime& time,
                                        CoordinatorOutcome& outcome) {
  auto answer = try_join_classic(request, time, outcome);
  if (answer.has_value()) return std::move(*answer);
  const ErrorCode code = answer.error().code();
  // The id to come back with.
  const bool gets_id = code == ErrorCode::member_id_required;
  return {.error = code, .member_id = gets_id ? request.fresh_member_id : request.member_id};
}

Result<JoinAnswer> ConsumerGroups::try_join_classic(const JoinGroup& request, const CoordinatorTime& time,
                                                    CoordinatorOutcome& outcome) {
  if (topics_ == nullptr) return failure(Status(ErrorCode::coordinator_load_in_progress));
  const std::string& group_id = request.group_id;
  if (!fits_the_others(*find(group_id), request)) return failure(Status(ErrorCode::inconsistent_group_protocol));
  auto metadata = read_protocol_metadata(request.protocols.front().metadata);
  if (!metadata.has_value()) return failure(Status(ErrorCode::inconsistent_group_protocol));
  if (ClassicGroup::bytes_of(request.protocols) > settings_.subscription_bytes_max) {
    return failure(Status(ErrorCode::group_max_size_reached));
  }
  NARU_TRY_ASSIGN(const Admission admission, admit_classic(request));

  const std::string& member_id = admission.member_id;
  const std::string& known_as = admission.replaced.has_value() ? *admission.replaced : member_id;
  ConsumerSubscription said = subscription_of(group_id, known_as);
  said.instance_id = request.instance_id;
  said.rack_id = metadata->rack_id;
  said.client_id = request.client_id;
  said.client_host = request.client_host;
  said.topics = std::move(metadata->topics);
  said.expression.clear();
  said.rebalance_timeout = request.rebalance_timeout;
  said.assignor.reset();
  said.classic = ClassicMembership{request.session_timeout, request.protocols};
  NARU_TRY(check_room(group_id, known_as, said));

  // Nothing is refused from here on.
  if (admission.replaced.has_value()) replace_member(group_id, *admission.replaced, member_id, outcome);
  const bool is_new_epoch = update_subscription(group_id, admission, said, time.wall_ms, outcome);
  bring_up_to_date(group_id, is_new_epoch, time.wall_ms, outcome);
  const PartitionSet owned = with_topic_ids(metadata->owned, *topics_);
  const ConsumerMemberAssignment current = reconcile_member(group_id, member_id, &owned, time, outcome);
  restart_rebalance(groups_.find(group_id)->second, group_id, member_id, time.now);  // until it syncs
  note_if_all_classic(group_id);
  return JoinAnswer{.generation = current.epoch,
                    .protocol_type = std::string(kConsumerProtocolType),
                    .protocol_name = request.protocols.front().name,
                    .member_id = member_id};
}

Result<ConsumerGroups::Admission> ConsumerGroups::admit_classic(const JoinGroup& request) const {
  const ConsumerGroup& group = *find(request.group_id);
  Admission admission{.member_id = request.member_id};
  if (request.instance_id.has_value()) {
    if (request.member_id.empty()) {
      if (const std::string* holder = group.static_member(*request.instance_id)) admission.replaced = *holder;
    } else if (const ErrorCode wrong = group.check_claim(request.member_id, request.instance_id);
               wrong != ErrorCode::none) {
      return failure(Status(wrong));
    }
  } else if (request.member_id.empty() && request.must_come_back_with_id) {
    return failure(Status(ErrorCode::member_id_required));
  }
  if (admission.member_id.empty()) admission.member_id = request.fresh_member_id;
  admission.is_known = admission.replaced.has_value() || group.find(admission.member_id) != nullptr;
  if (!admission.is_known && group.size() >= settings_.size_max) {
    return failure(Status(ErrorCode::group_max_size_reached));
  }
  return admission;
}

// --- Being there -----------------------------------------------------------------------------------------------------

Result<const ConsumerMember*> ConsumerGroups::classic_member(const std::string& group_id,
                                                             const MemberClaim& claim) const {
  const ConsumerGroup& group = *find(group_id);
  const ErrorCode wrong = group.check_claim(claim.member_id, claim.instance_id);
  if (wrong != ErrorCode::none) return failure(Status(wrong));
  const ConsumerMember* member = group.find(claim.member_id);
  if (!member->subscription->classic.has_value() || !member->current.has_value()) {
    return failure(Status(ErrorCode::unknown_member_id));
  }
  if (member->current->epoch != claim.generation) return failure(Status(ErrorCode::illegal_generation));
  return member;
}

void ConsumerGroups::call_to_join(const std::string& group_id, const std::string& member_id, MonotonicTime now) {
  Entry& entry = groups_.find(group_id)->second;
  if (!entry.timers[member_id].rebalance) restart_rebalance(entry, group_id, member_id, now);
}

SyncAnswer ConsumerGroups::sync_classic(const SyncGroup& request, const CoordinatorTime& time) {
  const auto found = classic_member(request.group_id, request.member);
  if (!found.has_value()) return {found.error().code()};
  if (topics_ == nullptr) return {ErrorCode::coordinator_load_in_progress};
  const ConsumerMember& member = **found;
  const GroupProtocol& protocol = member.subscription->classic->protocols.front();
  const bool other_type = request.protocol_type && *request.protocol_type != kConsumerProtocolType;
  const bool other_protocol = request.protocol_name && *request.protocol_name != protocol.name;
  if (other_type || other_protocol) return {ErrorCode::inconsistent_group_protocol};

  Entry& entry = groups_.find(request.group_id)->second;
  const std::string& member_id = request.member.member_id;
  stop_timer(entry.timers[member_id].rebalance);
  restart_session(entry, request.group_id, member_id, time.now);
  // One that has to give something back does that first, and joins again by itself.
  const bool is_late = member.current->epoch < entry.group.epoch();
  if (is_late && member.current->state != ReconciliationState::unrevoked) {
    call_to_join(request.group_id, member_id, time.now);
    return {ErrorCode::rebalance_in_progress};
  }
  const auto metadata = read_protocol_metadata(protocol.metadata);
  const int16_t version = metadata.has_value() ? metadata->version : int16_t{0};
  return {ErrorCode::none, std::string(kConsumerProtocolType), protocol.name,
          write_protocol_assignment(member.current->assigned, *topics_, version)};
}

ErrorCode ConsumerGroups::heartbeat_classic(const GroupHeartbeat& request, const CoordinatorTime& time) {
  const auto found = classic_member(request.group_id, request.member);
  if (!found.has_value()) return found.error().code();
  Entry& entry = groups_.find(request.group_id)->second;
  restart_session(entry, request.group_id, request.member.member_id, time.now);
  if (!should_join_again(**found, entry.group)) return ErrorCode::none;
  call_to_join(request.group_id, request.member.member_id, time.now);
  return ErrorCode::rebalance_in_progress;
}

// --- Leaving ---------------------------------------------------------------------------------------------------------

LeaveAnswer ConsumerGroups::leave_classic(const LeaveGroup& request, const CoordinatorTime& time,
                                          CoordinatorOutcome& outcome) {
  LeaveAnswer answer;
  answer.members.reserve(request.members.size());
  std::set<std::string> leaving;
  LeaverLog log(request.group_id);
  for (const LeaveGroup::Member& leaver : request.members) {
    auto member_id = leaving_member(request.group_id, leaver);
    const bool is_known = member_id.has_value() && leaving.insert(*member_id).second;
    answer.members.push_back(is_known                ? ErrorCode::none
                             : member_id.has_value() ? ErrorCode::unknown_member_id
                                                     : member_id.error().code());
    if (is_known) log.note(*member_id, leaver);
  }
  if (!leaving.empty()) {
    remove_members(request.group_id, {leaving.begin(), leaving.end()}, time.wall_ms, outcome);
  }
  return answer;
}

Result<std::string> ConsumerGroups::leaving_member(const std::string& group_id,
                                                   const LeaveGroup::Member& leaver) const {
  const ConsumerGroup& group = *find(group_id);
  std::string member_id = leaver.member_id;
  // An administrator removes a static member, whatever protocol it speaks, without knowing its id.
  const bool is_removed = member_id.empty() && leaver.instance_id.has_value();
  if (is_removed) {
    const std::string* holder = group.static_member(*leaver.instance_id);
    if (holder == nullptr) return failure(Status(ErrorCode::unknown_member_id));
    member_id = *holder;
  }
  if (const ErrorCode wrong = group.check_claim(member_id, leaver.instance_id); wrong != ErrorCode::none) {
    return failure(Status(wrong));
  }
  if (!is_removed && !group.find(member_id)->subscription->classic.has_value()) {
    return failure(Status(ErrorCode::unknown_member_id));
  }
  return member_id;
}

// --- Change of protocol ----------------------------------------------------------------------------------------------

Status ConsumerGroups::check_adoption(const std::string& group_id, const AdoptedGroup& adopted,
                                      const ConsumerHeartbeat& request) const {
  size_t bytes = 0;
  ConsumerSubscription before;
  for (const AdoptedGroup::Member& member : adopted.members) {
    if (is_of(member, request)) {
      before = member.subscription;
    } else {
      bytes += bytes_of(member.subscription);
    }
  }
  bytes += bytes_of(updated_subscription(std::move(before), request));
  if (bytes <= settings_.group_subscription_bytes_max) return {};
  return error(ErrorCode::group_max_size_reached, "the subscriptions of group {} would take {} bytes, and may have {}",
               group_id, bytes, settings_.group_subscription_bytes_max);
}

void ConsumerGroups::adopt(const std::string& group_id, const AdoptedGroup& adopted, const CoordinatorTime& time,
                           CoordinatorOutcome& outcome) {
  emit(group_epoch_record(group_id, ConsumerGroupEpoch{.epoch = adopted.generation}), outcome);
  emit(assignment_epoch_record(group_id, adopted.generation), outcome);
  for (const AdoptedGroup::Member& member : adopted.members) {
    emit(subscription_record(group_id, member.member_id, &member.subscription), outcome);
    emit(target_assignment_record(group_id, member.member_id, &member.assigned), outcome);
    const ConsumerMemberAssignment current{
        .epoch = adopted.generation, .previous_epoch = adopted.generation, .assigned = member.assigned};
    emit(current_assignment_record(group_id, member.member_id, &current), outcome);
    restart_session(groups_.find(group_id)->second, group_id, member.member_id, time.now);
  }
}

}  // namespace naru
