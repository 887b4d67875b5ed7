#include "consumer_groups/group_coordinator.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

#include "consumer_groups/classic/classic_join.h"
#include "consumer_groups/classic/classic_rebalance.h"
#include "consumer_groups/classic/classic_requests.h"
#include "consumer_groups/classic/classic_sessions.h"
#include "consumer_groups/consumer_protocol/consumer_group_records.h"
#include "consumer_groups/group_description.h"
#include "consumer_groups/offsets/group_offsets.h"
#include "foundation/assert.h"
#include "foundation/log.h"

namespace naru {

GroupCoordinator::GroupCoordinator(GroupSettings settings, MemoryBudget* memory)
    : settings_(std::move(settings)), memory_(memory), store_(memory), consumer_(settings_.consumer, memory) {}

void GroupCoordinator::set_settings(GroupSettings settings) {
  settings_ = std::move(settings);
  consumer_.set_settings(settings_.consumer);
}

Status GroupCoordinator::apply(BytesView key, std::optional<BytesView> value) {
  NARU_TRY_ASSIGN(const int16_t type, group_record_type(key));
  if (GroupStore::knows(type)) return store_.apply(type, key, value);
  if (is_consumer_group_key(type)) return consumer_.apply(key, value);
  if (!std::exchange(has_warned_of_unknown_records_, true)) {
    log_warn("groups", "skipping records of type {} in __consumer_offsets, which this Naru does not know", type);
  }
  return {};
}

void GroupCoordinator::loaded(const CoordinatorTime& time) {
  loaded_at_ = time;
  CoordinatorOutcome outcome;
  GroupStep step = begin_step(time, outcome);
  for (const auto& [id, stored] : store_.all().groups) {
    ClassicGroup& group = place(ClassicGroup(id, stored));
    for (auto& [member_id, member] : group.members()) renew_session(group, member, step);
  }
  consumer_.loaded(time);
  producers_.loaded(time.now);
  NARU_ASSERT(outcome.records.empty() && outcome.replies.empty(), "loading decides nothing");
}

ClassicGroup& GroupCoordinator::place(ClassicGroup group) {
  const std::string id = group.id();
  ClassicGroup& placed = classic_.emplace(id, std::move(group)).first->second;
  placed.pay_from(memory_);
  return placed;
}

void GroupCoordinator::on_timer(const CoordinatorTime& time, CoordinatorOutcome& outcome) {
  timers_.expire(time.now, [&](GroupTimer timer, MonotonicTime) {
    expire_timer(timer, time, outcome);
    outcome.may_be_cut();
  });
  consumer_.on_timer(time, outcome);
  downgrade_where_due(time, outcome);
}

void GroupCoordinator::expire_timer(const GroupTimer& timer, const CoordinatorTime& time, CoordinatorOutcome& outcome) {
  ClassicGroup* group = find_classic(timer.group_id);
  if (group == nullptr) return;
  GroupStep step = begin_step(time, outcome);
  switch (timer.kind) {
    case GroupTimer::Kind::session:
      on_session_timer(*group, timer.member_id, step);
      break;
    case GroupTimer::Kind::awaited_member:
      on_awaited_member_timer(*group, timer.member_id, step);
      break;
    case GroupTimer::Kind::rebalance:
      on_rebalance_timer(*group, step);
      break;
    case GroupTimer::Kind::synchronization:
      on_sync_timer(*group, step);
      break;
  }
  forget_if_bare(*group);
}

std::optional<MonotonicTime> GroupCoordinator::next_deadline() const {
  const auto classic = timers_.next_deadline();
  const auto consumer = consumer_.next_deadline();
  if (!classic || !consumer) return classic ? classic : consumer;
  return std::min(*classic, *consumer);
}

void GroupCoordinator::unload(const Status& reason) {
  for (auto& [id, group] : classic_) abandon_parked(group, reason);
  classic_.clear();
}

ClassicGroup* GroupCoordinator::find_classic(std::string_view group_id) {
  const auto found = classic_.find(group_id);
  return found == classic_.end() ? nullptr : &found->second;
}

bool GroupCoordinator::knows_group(std::string_view group_id) const {
  return classic_.contains(group_id) || consumer_.find(group_id) != nullptr || store_.knows_group(group_id);
}

void GroupCoordinator::forget_if_bare(const ClassicGroup& group) {
  if (group.is_bare() && store_.find_group(group.id()) == nullptr) classic_.erase(classic_.find(group.id()));
}

void GroupCoordinator::join(JoinGroup request, Reply<JoinAnswer> reply, const CoordinatorTime& time,
                            CoordinatorOutcome& outcome) {
  const auto refuse = [&](ErrorCode error) {
    outcome.answer(std::move(reply), JoinAnswer{.error = error, .member_id = std::move(request.member_id)});
  };
  if (const ErrorCode error = check_join(request, settings_); error != ErrorCode::none) return refuse(error);
  constexpr Milliseconds kLongest(std::numeric_limits<int32_t>::max());
  request.rebalance_timeout = std::clamp(request.rebalance_timeout, Milliseconds(0), kLongest);
  const ConsumerGroup* consumer = consumer_.find(request.group_id);
  if (consumer != nullptr && consumer->size() > 0) {
    outcome.answer(std::move(reply), consumer_.join_classic(request, time, outcome));
    downgrade_where_due(time, outcome);
    return;
  }
  ClassicGroup* group = find_classic(request.group_id);
  if (group == nullptr) {
    if (!request.member_id.empty()) return refuse(ErrorCode::unknown_member_id);
    group = &place(ClassicGroup(request.group_id));
  }
  GroupStep step = begin_step(time, outcome);
  join_classic_group(*group, std::move(request), std::move(reply), step);
  // Whoever is refused, or sent away for an id, may never come back: since when it is empty has to be remembered.
  if (consumer != nullptr && !group->members().empty()) consumer_.dissolve(group->id(), outcome);
  forget_if_bare(*group);
}

void GroupCoordinator::sync(SyncGroup request, Reply<SyncAnswer> reply, const CoordinatorTime& time,
                            CoordinatorOutcome& outcome) {
  if (consumer_.find(request.group_id) != nullptr) {
    outcome.answer(std::move(reply), consumer_.sync_classic(request, time));
    return;
  }
  ClassicGroup* group = find_classic(request.group_id);
  if (group == nullptr) {
    const bool nameless = request.group_id.empty();
    outcome.answer(std::move(reply), SyncAnswer{nameless ? ErrorCode::invalid_group_id : ErrorCode::unknown_member_id});
    return;
  }
  GroupStep step = begin_step(time, outcome);
  sync_classic_group(*group, std::move(request), std::move(reply), step);
}

void GroupCoordinator::heartbeat(GroupHeartbeat request, Reply<ErrorCode> reply, const CoordinatorTime& time,
                                 CoordinatorOutcome& outcome) {
  ErrorCode answer = request.group_id.empty() ? ErrorCode::invalid_group_id : ErrorCode::unknown_member_id;
  if (ClassicGroup* group = find_classic(request.group_id)) {
    GroupStep step = begin_step(time, outcome);
    answer = heartbeat_classic_group(*group, request.member, step);
  } else if (consumer_.find(request.group_id) != nullptr) {
    answer = consumer_.heartbeat_classic(request, time);
  }
  outcome.answer(std::move(reply), answer);
}

void GroupCoordinator::leave(LeaveGroup request, Reply<LeaveAnswer> reply, const CoordinatorTime& time,
                             CoordinatorOutcome& outcome) {
  LeaveAnswer answer;
  if (ClassicGroup* group = find_classic(request.group_id)) {
    GroupStep step = begin_step(time, outcome);
    answer = leave_classic_group(*group, request.members, step);
    forget_if_bare(*group);
  } else if (consumer_.find(request.group_id) != nullptr) {
    answer = consumer_.leave_classic(request, time, outcome);
    downgrade_where_due(time, outcome);
  } else {
    if (request.group_id.empty()) answer.error = ErrorCode::invalid_group_id;
    answer.members.assign(request.members.size(), ErrorCode::unknown_member_id);
  }
  outcome.answer(std::move(reply), std::move(answer));
}

ErrorCode GroupCoordinator::admit_commit_of(const CommitOffsets& request, const CoordinatorTime& time,
                                            CoordinatorOutcome& outcome) {
  if (!is_group_id(request.group_id)) return ErrorCode::invalid_group_id;
  if (ClassicGroup* group = find_classic(request.group_id)) {
    GroupStep step = begin_step(time, outcome);
    return admit_commit(*group, request.member, step);
  }
  if (consumer_.find(request.group_id) != nullptr) return consumer_.check_commit(request);
  if (request.member.generation < 0) return ErrorCode::none;
  // Nobody is in it, or it does not exist: whoever remembers a generation has to join again.
  if (store_.knows_group(request.group_id)) return ErrorCode::unknown_member_id;
  return request.knows_member_epochs ? ErrorCode::group_id_not_found : ErrorCode::illegal_generation;
}

void GroupCoordinator::commit_offsets(CommitOffsets request, Reply<CommitAnswer> reply, const CoordinatorTime& time,
                                      CoordinatorOutcome& outcome) {
  CommitAnswer answer;
  if (const ErrorCode refused = admit_commit_of(request, time, outcome); refused != ErrorCode::none) {
    answer.entries.assign(request.entries.size(), refused);
  } else {
    GroupStep step = begin_step(time, outcome);
    answer = store_offsets(request, step);
  }
  outcome.answer(std::move(reply), std::move(answer));
}

void GroupCoordinator::fetch_offsets(FetchOffsets request, Reply<FetchOffsetsAnswer> reply, const CoordinatorTime&,
                                     CoordinatorOutcome& outcome) {
  FetchOffsetsAnswer answer;
  if (consumer_.find(request.group_id) != nullptr) answer.error = consumer_.check_fetch(request);
  if (answer.error == ErrorCode::none) answer = read_offsets(request, store_);
  // The client goes on from there: an offset from a coordinator that was replaced would take it back, and in a
  // transaction store the same results twice.
  outcome.proves_leadership = true;
  outcome.answer(std::move(reply), std::move(answer));
}

void GroupCoordinator::delete_offsets(DeleteOffsets request, Reply<DeleteOffsetsAnswer> reply,
                                      const CoordinatorTime& time, CoordinatorOutcome& outcome) {
  const ClassicGroup* group = find_classic(request.group_id);
  DeleteOffsetsAnswer answer{.error = ErrorCode::group_id_not_found};
  if (knows_group(request.group_id)) {
    GroupStep step = begin_step(time, outcome);
    answer = remove_offsets(request, group, consumer_.find(request.group_id), step);
  }
  outcome.answer(std::move(reply), std::move(answer));
}

void GroupCoordinator::list_groups(const ListGroups& request, Reply<std::vector<ListedGroup>> reply,
                                   const CoordinatorTime&, CoordinatorOutcome& outcome) {
  std::map<std::string_view, ListedGroup> listed;
  // From each of them as many as the page has at most: what comes first in all of them is among those.
  const auto list = [&](const auto& by_id, auto describe) {
    auto each = request.after ? by_id.upper_bound(*request.after) : by_id.begin();
    for (size_t count = 0; each != by_id.end() && count < request.max; ++each, ++count) {
      listed.insert_or_assign(each->first, describe(*each));
    }
  };
  const auto simple = [](const auto& entry) { return listed_simple_group(entry.first); };
  list(store_.all().offsets, simple);
  list(store_.pending().all(), simple);
  list(classic_, [](const auto& entry) { return listed_classic_group(entry.second); });
  const std::vector<ListedGroup> consumer = consumer_.list(request);
  for (const ListedGroup& group : consumer) listed.insert_or_assign(group.group_id, group);
  std::vector<ListedGroup> answer;
  answer.reserve(std::min(listed.size(), request.max));
  for (auto& [id, group] : listed) {
    if (answer.size() == request.max) break;
    answer.push_back(std::move(group));
  }
  outcome.answer(std::move(reply), std::move(answer));
}

void GroupCoordinator::describe_group(std::string group_id, Reply<DescribedGroup> reply, const CoordinatorTime&,
                                      CoordinatorOutcome& outcome) {
  const ClassicGroup* group = find_classic(group_id);
  DescribedGroup answer;
  if (group != nullptr) {
    answer = described_classic_group(*group);
  } else {
    answer = described_simple_group(group_id);
    // Those of the consumer protocol are described elsewhere.
    if (!store_.knows_group(group_id) || consumer_.find(group_id) != nullptr) {
      answer.error = ErrorCode::group_id_not_found;
      answer.state = "Dead";
    }
  }
  outcome.answer(std::move(reply), std::move(answer));
}

void GroupCoordinator::delete_group(std::string group_id, Reply<ErrorCode> reply, const CoordinatorTime& time,
                                    CoordinatorOutcome& outcome) {
  ErrorCode answer = ErrorCode::none;
  const ClassicGroup* group = find_classic(group_id);
  const ConsumerGroup* consumer = consumer_.find(group_id);
  if ((group != nullptr && !group->is(ClassicState::empty)) || (consumer != nullptr && consumer->size() > 0)) {
    answer = ErrorCode::non_empty_group;
  } else if (!knows_group(group_id)) {
    answer = ErrorCode::group_id_not_found;
  } else {
    GroupStep step = begin_step(time, outcome);
    remove_all_offsets(group_id, step);
    if (store_.find_group(group_id) != nullptr) store_.emit(group_record(group_id, nullptr), outcome);
    if (group != nullptr) classic_.erase(classic_.find(group_id));
    if (consumer != nullptr) consumer_.dissolve(group_id, outcome);
  }
  outcome.answer(std::move(reply), answer);
}

bool GroupCoordinator::topics_deleted(TopicRemoval& removal, const CoordinatorTime& time, CoordinatorOutcome& outcome) {
  GroupStep step = begin_step(time, outcome);
  return removal.next(step);
}

size_t GroupCoordinator::elements_of(std::string_view group_id, bool assigns) const {
  constexpr size_t kBytesPerElement = 256;
  size_t elements = store_.offsets_of(group_id).size() + store_.pending().of_group(group_id).size();
  if (const auto classic = classic_.find(group_id); classic != classic_.end()) {
    elements += classic->second.members().size() + classic->second.bytes() / kBytesPerElement;
  }
  return elements + consumer_.elements_of(group_id, assigns);
}

size_t GroupCoordinator::elements() const {
  return timers_.size() + consumer_.timer_count() + store_.all().groups.size() + store_.offset_count();
}

OffsetHolder GroupCoordinator::holder_of(std::string_view group_id) const {
  if (const ConsumerGroup* consumer = consumer_.find(group_id)) {
    return {.has_members = consumer->size() > 0, .empty_since = consumer_.empty_since(group_id)};
  }
  const auto found = classic_.find(group_id);
  if (found == classic_.end()) return {};
  const ClassicGroup& group = found->second;
  if (!group.is_bare()) return {.has_members = true};
  if (group.state_since() < 0) return {};
  return {.empty_since = group.state_since()};
}

// A clock that is set forward while we run must not cost anybody his offsets: since loading, the monotonic one counts.
WallTimeMs GroupCoordinator::expiry_clock(const CoordinatorTime& time) const {
  const auto since_loading = std::chrono::duration_cast<Milliseconds>(time.now - loaded_at_.now);
  return std::min(time.wall_ms, loaded_at_.wall_ms + since_loading.count());
}

bool GroupCoordinator::expire_offsets(GroupExpiry& expiry, const UnreadRecords& unread, const CoordinatorTime& time,
                                      CoordinatorOutcome& outcome) {
  if (expiry.stage != GroupExpiry::Stage::offsets) return remove_empty_groups(expiry, outcome);
  GroupStep step = begin_step(time, outcome);
  const auto holder = [this](std::string_view group_id) { return holder_of(group_id); };
  if (!expiry.offsets.next(holder, unread, expiry_clock(time), step)) expiry.stage = GroupExpiry::Stage::classic_groups;
  return true;
}

void GroupCoordinator::expire_offsets(const UnreadRecords& unread, const CoordinatorTime& time,
                                      CoordinatorOutcome& outcome) {
  GroupExpiry expiry;
  while (expire_offsets(expiry, unread, time, outcome)) {
  }
}

bool GroupCoordinator::remove_empty_groups(GroupExpiry& expiry, CoordinatorOutcome& outcome) {
  if (expiry.stage == GroupExpiry::Stage::consumer_groups) {
    bool more = false;
    for (const std::string& id : consumer_.empty_groups(expiry.after, kOffsetsPerStep, more)) {
      if (store_.has_offsets(id)) continue;
      consumer_.dissolve(id, outcome);
      outcome.may_be_cut();
    }
    return more;
  }
  std::vector<std::string> empty;
  auto group = classic_.lower_bound(expiry.after);
  for (size_t looked_at = 0; group != classic_.end() && looked_at < kOffsetsPerStep; ++group, ++looked_at) {
    if (group->second.is_bare() && !store_.has_offsets(group->first)) empty.push_back(group->first);
  }
  expiry.after = group != classic_.end() ? group->first : std::string();
  if (group == classic_.end()) expiry.stage = GroupExpiry::Stage::consumer_groups;
  for (const std::string& id : empty) {
    store_.emit(group_record(id, nullptr), outcome);
    outcome.may_be_cut();
    classic_.erase(id);
  }
  return true;
}

}  // namespace naru
