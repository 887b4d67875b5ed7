// Groups of the consumer protocol beside classic ones: a name stands for one of them at a time, and may change sides.
#include <algorithm>
#include <utility>

#include "consumer_groups/classic/classic_rebalance.h"
#include "consumer_groups/classic/classic_sessions.h"
#include "consumer_groups/consumer_protocol/consumer_group_migration.h"
#include "consumer_groups/group_coordinator.h"
#include "foundation/log.h"

namespace naru {

void GroupCoordinator::consumer_heartbeat(ConsumerHeartbeat request, Reply<ConsumerHeartbeatAnswer> reply,
                                          const CoordinatorTime& time, CoordinatorOutcome& outcome) {
  if (ClassicGroup* classic = find_classic(request.group_id)) {
    if (const Status refused = upgrade(*classic, request, time, outcome); !refused.ok()) {
      outcome.answer(std::move(reply), ConsumerHeartbeatAnswer{.error = refused.code(), .message = refused.message()});
      return;
    }
  }
  ConsumerHeartbeatAnswer answer = consumer_.heartbeat(request, time, outcome);
  downgrade_where_due(time, outcome);
  outcome.answer(std::move(reply), std::move(answer));
}

void GroupCoordinator::describe_consumer_group(std::string group_id, Reply<DescribedConsumerGroup> reply,
                                               const CoordinatorTime&, CoordinatorOutcome& outcome) {
  outcome.answer(std::move(reply), consumer_.describe(group_id));
}

bool GroupCoordinator::metadata_changed(TopicsSweep& sweep, const CoordinatorTime& time, CoordinatorOutcome& outcome) {
  return consumer_.metadata_changed(sweep, kOffsetsPerStep, time, outcome);
}

void GroupCoordinator::metadata_changed(SharedTopics topics, const CoordinatorTime& time, CoordinatorOutcome& outcome) {
  TopicsSweep sweep{.topics = std::move(topics)};
  while (metadata_changed(sweep, time, outcome)) {
  }
}

Status GroupCoordinator::upgrade(ClassicGroup& group, const ConsumerHeartbeat& request, const CoordinatorTime& time,
                                 CoordinatorOutcome& outcome) {
  if (request.member_epoch != kJoinEpoch) {
    return error(ErrorCode::group_id_not_found, "group {} is a classic one", group.id());
  }
  // Whoever is refused must not have changed anything.
  NARU_TRY(consumer_.check_request(request));
  AdoptedGroup adopted;
  if (!group.members().empty()) {
    if (!allows_upgrade(settings_.consumer.migration) || group.members().size() >= settings_.consumer.size_max) {
      return error(ErrorCode::group_id_not_found, "group {} is a classic one, and may not change that", group.id());
    }
    NARU_TRY_ASSIGN(adopted, adopted_classic_group(group, *consumer_.topics()));
  }
  NARU_TRY(consumer_.check_adoption(group.id(), adopted, request));
  const std::string group_id = group.id();
  GroupStep step = begin_step(time, outcome);
  retire(group, step);
  if (adopted.members.empty()) return {};
  log_info("groups", "group {} changes to the consumer protocol, with {} classic members", group_id,
           adopted.members.size());
  consumer_.adopt(group_id, adopted, time, outcome);
  return {};
}

// Nothing is left of it but its offsets. Whoever waits in it is called to join again.
void GroupCoordinator::retire(ClassicGroup& group, GroupStep& step) {
  for (auto& [member_id, member] : group.members()) {
    end_session(member, step);
    if (member.parked_join) {
      step.outcome.answer(group.take_join(member),
                          JoinAnswer{.error = ErrorCode::rebalance_in_progress, .member_id = member_id});
    }
    if (member.parked_sync) {
      step.outcome.answer(std::exchange(member.parked_sync, nullptr), SyncAnswer{ErrorCode::rebalance_in_progress});
    }
  }
  for (const auto& [member_id, timer] : group.awaited()) step.timers.cancel(timer);
  if (group.rebalance_timer) step.timers.cancel(*group.rebalance_timer);
  if (group.sync_timer) step.timers.cancel(*group.sync_timer);
  if (store_.find_group(group.id()) != nullptr) store_.emit(group_record(group.id(), nullptr), step.outcome);
  classic_.erase(classic_.find(group.id()));
}

void GroupCoordinator::downgrade_where_due(const CoordinatorTime& time, CoordinatorOutcome& outcome) {
  for (const std::string& group_id : consumer_.take_all_classic()) {
    outcome.may_be_cut();
    const ConsumerGroup* group = consumer_.find(group_id);
    const bool is_due = group != nullptr && group->size() > 0 && group->classic_size() == group->size();
    if (!is_due || !allows_downgrade(settings_.consumer.migration) || consumer_.topics() == nullptr) continue;
    ClassicGroup classic = classic_group_of(group_id, *group, *consumer_.topics(), time.wall_ms);
    if (classic.members().size() > settings_.size_max || classic.bytes() > settings_.group_bytes_max) continue;
    log_info("groups", "group {} changes to the classic protocol: it has no other members", group_id);
    consumer_.dissolve(group_id, outcome);
    const StoredGroup stored = classic.snapshot();
    store_.emit(group_record(group_id, &stored), outcome);
    ClassicGroup& placed = place(std::move(classic));
    GroupStep step = begin_step(time, outcome);
    for (auto& [member_id, member] : placed.members()) renew_session(placed, member, step);
    rebalance_or_complete(placed, step);
    outcome.may_be_cut();
  }
}

}  // namespace naru
