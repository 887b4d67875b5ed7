// Members: how they come, what they are told, and how they go.
#include <algorithm>
#include <utility>

#include "consumer_groups/consumer_protocol/consumer_group_heartbeat_check.h"
#include "consumer_groups/consumer_protocol/consumer_group_reconciliation.h"
#include "consumer_groups/consumer_protocol/consumer_group_records.h"
#include "consumer_groups/consumer_protocol/consumer_groups.h"
#include "foundation/regular_expression.h"

namespace naru {
namespace {

bool changes_target(const ConsumerSubscription& before, const ConsumerSubscription& after) {
  return before.topics != after.topics || before.expression != after.expression || before.assignor != after.assignor;
}

// A member says everything when it joins, and when it cannot know whether its last heartbeat arrived.
bool is_full(const ConsumerHeartbeat& request) {
  return request.rebalance_timeout.has_value() && request.owned.has_value() &&
         (request.subscribed_topics.has_value() || request.subscribed_expression.has_value());
}

Status check_epoch(const ConsumerHeartbeat& request, const ConsumerMemberAssignment& current) {
  if (request.member_epoch == current.epoch) return {};
  // The answer that led to the next epoch may have been lost.
  const bool missed_answer = request.member_epoch < current.epoch && request.member_epoch == current.previous_epoch &&
                             request.owned.has_value() &&
                             is_subset(make_partition_set(*request.owned), current.assigned);
  if (missed_answer) return {};
  return error(ErrorCode::fenced_member_epoch, "member {} is in epoch {}, not in {}: it has to join again",
               request.member_id, current.epoch, request.member_epoch);
}

}  // namespace

ConsumerHeartbeatAnswer ConsumerGroups::heartbeat(const ConsumerHeartbeat& request, const CoordinatorTime& time,
                                                  CoordinatorOutcome& outcome) {
  auto answer = try_heartbeat(request, time, outcome);
  if (answer.has_value()) return std::move(*answer);
  return {.error = answer.error().code(), .message = answer.error().message()};
}

Result<ConsumerHeartbeatAnswer> ConsumerGroups::try_heartbeat(const ConsumerHeartbeat& request,
                                                              const CoordinatorTime& time,
                                                              CoordinatorOutcome& outcome) {
  if (request.member_epoch < 0) {
    NARU_TRY(check_heartbeat(request, settings_));
    return leave(request, time, outcome);
  }
  NARU_TRY(check_request(request));
  NARU_TRY_ASSIGN(const Admission admission, admit(request));

  const std::string& group_id = request.group_id;
  const std::string& member_id = admission.member_id;
  const std::string& known_as = admission.replaced.has_value() ? *admission.replaced : member_id;
  const ConsumerSubscription said = updated_subscription(subscription_of(group_id, known_as), request);
  NARU_TRY(check_room(group_id, known_as, said));

  // Nothing is refused from here on.
  if (admission.replaced.has_value()) replace_member(group_id, *admission.replaced, member_id, outcome);
  const bool is_new_epoch = update_subscription(group_id, admission, said, time.wall_ms, outcome);
  bring_up_to_date(group_id, is_new_epoch, time.wall_ms, outcome);
  const ConsumerMember& member = *find(group_id)->find(member_id);
  const PartitionSet assigned_before = member.current.has_value() ? member.current->assigned : PartitionSet{};
  std::optional<PartitionSet> owned;
  if (request.owned.has_value()) owned = make_partition_set(*request.owned);
  ConsumerMemberAssignment current = reconcile_member(group_id, member_id, owned ? &*owned : nullptr, time, outcome);

  ConsumerHeartbeatAnswer answer{
      .member_id = member_id,
      .member_epoch = current.epoch,
      .heartbeat_interval = settings_.timeouts_of(group_id).heartbeat_interval,
  };
  const bool wants_assignment = request.member_epoch == kJoinEpoch || is_full(request) || admission.missed_answer;
  if (wants_assignment || current.assigned != assigned_before) answer.assignment = std::move(current.assigned);
  return answer;
}

Status ConsumerGroups::check_request(const ConsumerHeartbeat& request) const {
  NARU_TRY(check_heartbeat(request, settings_));
  if (topics_ == nullptr) return error(ErrorCode::coordinator_load_in_progress, "the topics are not known yet");
  if (!request.subscribed_expression.has_value()) return {};
  const auto compiled = RegularExpression::compile(*request.subscribed_expression);
  return compiled.has_value() ? Status() : compiled.error();
}

// --- Who it is -------------------------------------------------------------------------------------------------------

Result<ConsumerGroups::Admission> ConsumerGroups::admit(const ConsumerHeartbeat& request) const {
  const bool is_joining = request.member_epoch == kJoinEpoch;
  Admission admission{.member_id = request.member_id.empty() ? request.fresh_member_id : request.member_id};
  const ConsumerGroup* group = find(request.group_id);
  if (group == nullptr) {
    if (is_joining) return admission;
    return failure(ErrorCode::group_id_not_found, "there is no group {}", request.group_id);
  }
  if (request.instance_id.has_value()) NARU_TRY(check_static_member(*group, request, admission));
  const ConsumerMember* member = group->find(admission.member_id);
  admission.is_known = member != nullptr || admission.replaced.has_value();
  if (!admission.is_known && !is_joining) {
    return failure(ErrorCode::unknown_member_id, "{} is not a member of group {}", request.member_id, request.group_id);
  }
  if (!admission.is_known && group->size() >= settings_.size_max) {
    return failure(ErrorCode::group_max_size_reached, "group {} has {} members already", request.group_id,
                   group->size());
  }
  if (!is_joining) {
    const ConsumerMemberAssignment current = member->current.value_or(ConsumerMemberAssignment{});
    NARU_TRY(check_epoch(request, current));
    admission.missed_answer = request.member_epoch != current.epoch;
  }
  return admission;
}

Status ConsumerGroups::check_static_member(const ConsumerGroup& group, const ConsumerHeartbeat& request,
                                           Admission& admission) const {
  const std::string* holder = group.static_member(*request.instance_id);
  const bool is_joining = request.member_epoch == kJoinEpoch;
  if (holder == nullptr) {
    if (is_joining) return {};
    return error(ErrorCode::unknown_member_id, "nobody in group {} has the instance id {}", request.group_id,
                 *request.instance_id);
  }
  if (*holder == admission.member_id) return {};
  if (!is_joining) {
    return error(ErrorCode::fenced_instance_id, "instance id {} belongs to member {} now", *request.instance_id,
                 *holder);
  }
  // A member of the classic protocol does not say that it will be back, so its successor need not wait.
  const ConsumerMember& other = *group.find(*holder);
  const bool is_released = other.current.has_value() && other.current->epoch == kTemporaryLeaveEpoch;
  if (!is_released && !other.subscription->classic.has_value()) {
    return error(ErrorCode::unreleased_instance_id, "instance id {} is in use by member {}", *request.instance_id,
                 *holder);
  }
  admission.replaced = *holder;
  return {};
}

// --- What it says ----------------------------------------------------------------------------------------------------

ConsumerSubscription ConsumerGroups::subscription_of(const std::string& group_id, const std::string& member_id) const {
  const ConsumerGroup* group = find(group_id);
  const ConsumerMember* member = group != nullptr ? group->find(member_id) : nullptr;
  return member != nullptr ? *member->subscription : ConsumerSubscription{};
}

Status ConsumerGroups::check_room(const std::string& group_id, const std::string& member_id,
                                  const ConsumerSubscription& after) const {
  const ConsumerGroup* group = find(group_id);
  const ConsumerMember* member = group != nullptr ? group->find(member_id) : nullptr;
  const size_t before = member != nullptr ? bytes_of(*member->subscription) : 0;
  const size_t others = group != nullptr ? group->subscription_bytes() - before : 0;
  // Whoever says no more than before is never refused, should the limit have become smaller.
  const size_t bytes = bytes_of(after);
  if (bytes > before && others + bytes > settings_.group_subscription_bytes_max) {
    return error(ErrorCode::group_max_size_reached,
                 "the subscriptions of group {} would take {} bytes, and may have {}: subscribe to fewer topics",
                 group_id, others + bytes, settings_.group_subscription_bytes_max);
  }
  if (bytes > before + before / 2 && !memory_.has_room(bytes - before)) {
    return error(ErrorCode::coordinator_not_available, "the memory for the state of coordinators is used up");
  }
  const bool is_new =
      !after.expression.empty() && (group == nullptr || !group->expressions().contains(after.expression));
  if (is_new && group != nullptr && group->expressions().size() >= settings_.group_expressions_max) {
    return error(ErrorCode::group_max_size_reached, "the members of group {} use {} regular expressions already",
                 group_id, group->expressions().size());
  }
  return {};
}

bool ConsumerGroups::update_subscription(const std::string& group_id, const Admission& admission,
                                         const ConsumerSubscription& after, WallTimeMs now,
                                         CoordinatorOutcome& outcome) {
  const ConsumerSubscription before = subscription_of(group_id, admission.member_id);
  if (admission.is_known && after == before) return false;
  emit(subscription_record(group_id, admission.member_id, &after), outcome);
  resolve_expression(group_id, after.expression, now, outcome);
  drop_unused_expression(group_id, before.expression, outcome);
  return !admission.is_known || changes_target(before, after);
}

void ConsumerGroups::bring_up_to_date(const std::string& group_id, bool is_new_epoch, WallTimeMs now,
                                      CoordinatorOutcome& outcome) {
  const bool topics_changed = refresh(group_id, now, outcome);
  if (is_new_epoch || topics_changed) bump_epoch(group_id, now, outcome);
  update_target(group_id, outcome);
}

ConsumerMemberAssignment ConsumerGroups::reconcile_member(const std::string& group_id, const std::string& member_id,
                                                          const PartitionSet* owned, const CoordinatorTime& time,
                                                          CoordinatorOutcome& outcome) {
  Entry& entry = groups_.find(group_id)->second;
  const ConsumerMember& member = *entry.group.find(member_id);
  const bool is_first = !member.current.has_value();
  const ConsumerMemberAssignment before = member.current.value_or(ConsumerMemberAssignment{});
  const PartitionSet target = member.target.value_or(PartitionSet{});
  ConsumerMemberAssignment after = reconcile(before, {entry.group.assignment_epoch(), target}, owned, entry.group);
  if (is_first || after != before) {
    emit(current_assignment_record(group_id, member_id, &after), outcome);
    stop_timer(entry.timers[member_id].rebalance);
    if (after.state == ReconciliationState::unrevoked) restart_rebalance(entry, group_id, member_id, time.now);
  }
  restart_session(entry, group_id, member_id, time.now);
  return after;
}

// --- How it goes -----------------------------------------------------------------------------------------------------

Result<ConsumerHeartbeatAnswer> ConsumerGroups::leave(const ConsumerHeartbeat& request, const CoordinatorTime& time,
                                                      CoordinatorOutcome& outcome) {
  const ConsumerGroup* group = find(request.group_id);
  if (group == nullptr) return failure(ErrorCode::group_id_not_found, "there is no group {}", request.group_id);
  if (request.instance_id.has_value()) {
    Admission admission{.member_id = request.member_id};
    NARU_TRY(check_static_member(*group, request, admission));
  }
  if (group->find(request.member_id) == nullptr) {
    return failure(ErrorCode::unknown_member_id, "{} is not a member of group {}", request.member_id, request.group_id);
  }
  if (request.member_epoch == kTemporaryLeaveEpoch) {
    leave_for_a_while(request.group_id, request.member_id, time.wall_ms, outcome);
  } else {
    remove_members(request.group_id, {request.member_id}, time.wall_ms, outcome);
  }
  return ConsumerHeartbeatAnswer{.member_id = request.member_id, .member_epoch = request.member_epoch};
}

// It keeps its partitions until its session ends; what it was to give back, it has given back by going.
void ConsumerGroups::leave_for_a_while(const std::string& group_id, const std::string& member_id, WallTimeMs now,
                                       CoordinatorOutcome& outcome) {
  Entry& entry = groups_.find(group_id)->second;
  if (entry.group.is_settled()) entry.unsettled_since = now;
  ConsumerMemberAssignment current = entry.group.find(member_id)->current.value_or(ConsumerMemberAssignment{});
  current.epoch = kTemporaryLeaveEpoch;
  current.pending_revocation.clear();
  emit(current_assignment_record(group_id, member_id, &current), outcome);
  stop_timer(entry.timers[member_id].rebalance);
}

void ConsumerGroups::erase_member_records(const std::string& group_id, const std::string& member_id,
                                          CoordinatorOutcome& outcome) {
  stop_timers(groups_.find(group_id)->second, member_id);
  emit(current_assignment_record(group_id, member_id, nullptr), outcome);
  emit(target_assignment_record(group_id, member_id, nullptr), outcome);
  emit(subscription_record(group_id, member_id, nullptr), outcome);
}

// The successor has the same to do, and begins with nothing in its hands.
void ConsumerGroups::replace_member(const std::string& group_id, const std::string& old_id, const std::string& new_id,
                                    CoordinatorOutcome& outcome) {
  const ConsumerMember old = *find(group_id)->find(old_id);
  erase_member_records(group_id, old_id, outcome);
  emit(subscription_record(group_id, new_id, &*old.subscription), outcome);
  if (old.target.has_value()) emit(target_assignment_record(group_id, new_id, &*old.target), outcome);
  ConsumerMemberAssignment current = old.current.value_or(ConsumerMemberAssignment{});
  current.epoch = kJoinEpoch;
  current.previous_epoch = kJoinEpoch;
  current.pending_revocation.clear();
  emit(current_assignment_record(group_id, new_id, &current), outcome);
}

void ConsumerGroups::remove_members(const std::string& group_id, const std::vector<std::string>& member_ids,
                                    WallTimeMs now, CoordinatorOutcome& outcome) {
  for (const std::string& member_id : member_ids) {
    const std::string expression = find(group_id)->find(member_id)->subscription->expression;
    erase_member_records(group_id, member_id, outcome);
    if (find(group_id) == nullptr) return;  // it had no epoch, which we never write
    drop_unused_expression(group_id, expression, outcome);
  }
  bump_epoch(group_id, now, outcome);
  note_if_all_classic(group_id);
}

void ConsumerGroups::note_if_all_classic(const std::string& group_id) {
  const ConsumerGroup& group = *find(group_id);
  if (group.size() > 0 && group.classic_size() == group.size()) all_classic_.insert(group_id);
}

}  // namespace naru
