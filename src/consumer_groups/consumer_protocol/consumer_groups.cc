#include "consumer_groups/consumer_protocol/consumer_groups.h"

#include <algorithm>
#include <utility>

#include "consumer_groups/consumer_protocol/consumer_group_records.h"
#include "consumer_groups/consumer_protocol/consumer_group_target.h"
#include "foundation/assert.h"
#include "foundation/log.h"

namespace naru {
namespace {

std::vector<DescribedPartitions> described(const PartitionSet& partitions, const SubscribableTopics* topics) {
  std::vector<DescribedPartitions> result;
  for (const auto& [topic_id, partition] : partitions) {
    if (result.empty() || result.back().topic_id != topic_id) {
      const SubscribableTopic* topic = topics != nullptr ? topics->find(topic_id) : nullptr;
      if (topic == nullptr) continue;  // it is gone, and nobody could make anything of its id
      result.push_back({topic_id, topic->name, {}});
    }
    result.back().partitions.push_back(partition);
  }
  return result;
}

// In one batch, whose size this bounds.
constexpr size_t kRemovedTogetherMax = 5000;

ErrorCode epoch_error(const ConsumerMember& member, int32_t claimed) {
  const int32_t epoch = member.current.has_value() ? member.current->epoch : 0;
  if (claimed == epoch && claimed >= 0) return ErrorCode::none;  // -2: it has left for a while
  return member.subscription->classic.has_value() ? ErrorCode::illegal_generation : ErrorCode::stale_member_epoch;
}

}  // namespace

ConsumerGroups::ConsumerGroups(ConsumerGroupSettings settings, MemoryBudget* memory) : memory_(memory) {
  set_settings(std::move(settings));
}

void ConsumerGroups::set_settings(ConsumerGroupSettings settings) {
  std::erase_if(settings.assignors, [](const std::string& name) { return !is_known_assignor(name); });
  if (settings.assignors.empty()) settings.assignors = ConsumerGroupSettings{}.assignors;
  settings_ = std::move(settings);
}

Status ConsumerGroups::apply(BytesView key, std::optional<BytesView> value) {
  NARU_TRY_ASSIGN(ConsumerGroupChange change, decode_consumer_group_record(key, value));
  const auto entry = groups_.try_emplace(change.group_id).first;
  const size_t before = entry->second.group.subscription_bytes();
  change.apply(entry->second.group);
  subscription_bytes_ += entry->second.group.subscription_bytes() - before;
  memory_.set(subscription_bytes_);
  if (entry->second.group.is_gone()) groups_.erase(entry);
  return {};
}

void ConsumerGroups::emit(CoordinatorRecord record, CoordinatorOutcome& outcome) {
  const Status status = apply(record.key, record.value);
  NARU_ASSERT(status.ok(), "a record of our own making is refused: {}", status.to_string());
  outcome.records.push_back(std::move(record));
}

void ConsumerGroups::loaded(const CoordinatorTime& time) {
  for (auto& [group_id, entry] : groups_) {
    entry.loaded_at = time.wall_ms;
    entry.unsettled_since = time.wall_ms;
    for (const auto& [member_id, member] : entry.group.members()) {
      restart_session(entry, group_id, member_id, time.now);
      if (member.current.has_value() && member.current->state == ReconciliationState::unrevoked) {
        restart_rebalance(entry, group_id, member_id, time.now);
      }
    }
  }
}

// --- Timers ----------------------------------------------------------------------------------------------------------

Milliseconds ConsumerGroups::session_timeout(const std::string& group_id,
                                             const ConsumerSubscription& subscription) const {
  return subscription.classic.has_value() ? subscription.classic->session_timeout
                                          : settings_.timeouts_of(group_id).session_timeout;
}

// A heartbeat only moves the deadline: the timer finds out when its time has come.
void ConsumerGroups::restart_session(Entry& entry, const std::string& group_id, const std::string& member_id,
                                     MonotonicTime now) {
  const ConsumerMember* member = entry.group.find(member_id);
  MemberTimers& timers = entry.timers[member_id];
  const MonotonicTime deadline = now + session_timeout(group_id, *member->subscription);
  const bool must_be_earlier = deadline < timers.session_deadline;
  timers.session_deadline = deadline;
  if (timers.session && !must_be_earlier) return;
  stop_timer(timers.session);
  timers.session = timers_.insert(deadline, {TimerKind::session, group_id, member_id});
}

void ConsumerGroups::restart_rebalance(Entry& entry, const std::string& group_id, const std::string& member_id,
                                       MonotonicTime now) {
  MemberTimers& timers = entry.timers[member_id];
  stop_timer(timers.rebalance);
  const Milliseconds timeout = entry.group.find(member_id)->subscription->rebalance_timeout;
  timers.rebalance = timers_.insert(now + timeout, {TimerKind::rebalance, group_id, member_id});
}

void ConsumerGroups::stop_timer(std::optional<TimingWheelIndex::Handle>& timer) {
  if (timer) timers_.cancel(*timer);
  timer.reset();
}

void ConsumerGroups::stop_timers(Entry& entry, const std::string& member_id) {
  const auto found = entry.timers.find(member_id);
  if (found == entry.timers.end()) return;
  stop_timer(found->second.session);
  stop_timer(found->second.rebalance);
  entry.timers.erase(found);
}

void ConsumerGroups::on_timer(const CoordinatorTime& time, CoordinatorOutcome& outcome) {
  std::map<std::string, std::set<std::string>> gone;  // by group
  timers_.expire(time.now, [&](const MemberTimer& timer, MonotonicTime) {
    if (fire(timer, time.now)) gone[timer.group_id].insert(timer.member_id);
  });
  for (const auto& [group_id, members] : gone) {
    for (auto next = members.begin(); next != members.end() && find(group_id) != nullptr;) {
      std::vector<std::string> some;
      for (; next != members.end() && some.size() < kRemovedTogetherMax; ++next) some.push_back(*next);
      remove_members(group_id, some, time.wall_ms, outcome);
      outcome.may_be_cut();
    }
  }
}

bool ConsumerGroups::fire(const MemberTimer& timer, MonotonicTime now) {
  const auto entry = groups_.find(timer.group_id);
  if (entry == groups_.end()) return false;
  const auto timers = entry->second.timers.find(timer.member_id);
  if (timers == entry->second.timers.end()) return false;
  if (timer.kind == TimerKind::rebalance) {
    timers->second.rebalance.reset();
    log_info("groups", "member {} of group {} did not follow a rebalance in time", timer.member_id, timer.group_id);
    return true;
  }
  timers->second.session.reset();
  if (now < timers->second.session_deadline) {
    timers->second.session = timers_.insert(timers->second.session_deadline, timer);
    return false;
  }
  log_info("groups", "the session of member {} of group {} is over", timer.member_id, timer.group_id);
  return true;
}

// --- Questions -------------------------------------------------------------------------------------------------------

const ConsumerGroup* ConsumerGroups::find(std::string_view group_id) const {
  const auto found = groups_.find(group_id);
  return found != groups_.end() ? &found->second.group : nullptr;
}

std::optional<WallTimeMs> ConsumerGroups::empty_since(std::string_view group_id) const {
  const auto found = groups_.find(group_id);
  if (found == groups_.end() || found->second.group.size() > 0) return std::nullopt;
  return found->second.group.empty_since().value_or(found->second.loaded_at);
}

std::vector<ListedGroup> ConsumerGroups::list(const ListGroups& page) const {
  std::vector<ListedGroup> result;
  auto each = page.after ? groups_.upper_bound(*page.after) : groups_.begin();
  for (; each != groups_.end() && result.size() < page.max; ++each) {
    result.push_back({each->first, "consumer", std::string(each->second.group.state()), "consumer"});
  }
  return result;
}

std::vector<std::string> ConsumerGroups::empty_groups(std::string& at, size_t max, bool& more) const {
  std::vector<std::string> result;
  auto group = groups_.lower_bound(at);
  for (size_t looked_at = 0; group != groups_.end() && looked_at < max; ++group, ++looked_at) {
    if (group->second.group.size() == 0) result.push_back(group->first);
  }
  more = group != groups_.end();
  if (more) at = group->first;
  return result;
}

size_t ConsumerGroups::elements_of(std::string_view group_id, bool assigns) const {
  constexpr size_t kBytesPerElement = 256;
  const size_t assignable = topics_ != nullptr ? topics_->partition_count() : 0;
  const auto found = groups_.find(group_id);
  if (found == groups_.end()) return assigns ? assignable : 0;
  const ConsumerGroup& group = found->second.group;
  const bool is_behind = group.epoch() > group.assignment_epoch() ||
                         (topics_ != nullptr && found->second.checked_generation != topics_->generation());
  return group.size() + group.claimed() + group.subscription_bytes() / kBytesPerElement +
         (assigns || is_behind ? assignable : 0);
}

WallTimeMs ConsumerGroups::state_since(const Entry& entry) {
  if (entry.group.size() == 0) return entry.group.empty_since().value_or(-1);
  return entry.group.state() == "Stable" ? -1 : entry.unsettled_since;
}

DescribedConsumerGroup ConsumerGroups::describe(std::string_view group_id) const {
  DescribedConsumerGroup result{.group_id = std::string(group_id)};
  const auto entry = groups_.find(group_id);
  if (entry == groups_.end()) {
    result.error = ErrorCode::group_id_not_found;
    return result;
  }
  const ConsumerGroup* group = &entry->second.group;
  result.state = group->state();
  result.state_since = state_since(entry->second);
  result.group_epoch = group->epoch();
  result.assignment_epoch = group->assignment_epoch();
  result.assignor = preferred_assignor(*group, settings_.assignors);
  for (const auto& [member_id, member] : group->members()) {
    const ConsumerSubscription& said = *member.subscription;
    const ConsumerMemberAssignment current = member.current.value_or(ConsumerMemberAssignment{});
    result.members.push_back({
        .member_id = member_id,
        .instance_id = said.instance_id,
        .rack_id = said.rack_id,
        .member_epoch = current.epoch,
        .client_id = said.client_id,
        .client_host = said.client_host,
        .subscribed_topics = said.topics,
        .subscribed_expression = said.expression.empty() ? std::nullopt : std::optional(said.expression),
        .assignment = described(current.assigned, topics_.get()),
        .target = described(member.target.value_or(PartitionSet{}), topics_.get()),
        .pending_revocation = described(current.pending_revocation, topics_.get()),
        .is_classic = said.classic.has_value(),
    });
  }
  return result;
}

ErrorCode ConsumerGroups::check_commit(const CommitOffsets& request) const {
  const ConsumerGroup& group = *find(request.group_id);
  // Nobody is disturbed: administrators set offsets like this.
  if (request.member.generation < 0 && group.size() == 0) return ErrorCode::none;
  const ConsumerMember* member = group.find(request.member.member_id);
  if (member == nullptr) return ErrorCode::unknown_member_id;
  if (!member->subscription->classic.has_value() && !request.knows_member_epochs) return ErrorCode::unsupported_version;
  return epoch_error(*member, request.member.generation);
}

ErrorCode ConsumerGroups::check_transactional_commit(const CommitOffsets& request) const {
  const ConsumerGroup& group = *find(request.group_id);
  const MemberClaim& claim = request.member;
  const bool is_nobody = claim.generation < 0 && claim.member_id.empty() && !claim.instance_id;
  if (is_nobody || (claim.generation < 0 && group.size() == 0)) return ErrorCode::none;
  const ConsumerMember* member = group.find(claim.member_id);
  if (member == nullptr) return ErrorCode::unknown_member_id;
  const ErrorCode wrong = epoch_error(*member, claim.generation);
  // Producers know no member epochs.
  return wrong == ErrorCode::stale_member_epoch ? ErrorCode::illegal_generation : wrong;
}

ErrorCode ConsumerGroups::check_fetch(const FetchOffsets& request) const {
  if (!request.member_id.has_value() && request.member_epoch < 0) return ErrorCode::none;
  const ConsumerMember* member = find(request.group_id)->find(request.member_id.value_or(""));
  if (member == nullptr) return ErrorCode::unknown_member_id;
  return epoch_error(*member, request.member_epoch);
}

std::map<std::string, ConsumerGroup> ConsumerGroups::durable_state() const {
  std::map<std::string, ConsumerGroup> state;
  for (const auto& [group_id, entry] : groups_) state.emplace(group_id, entry.group);
  return state;
}

void ConsumerGroups::dissolve(const std::string& group_id, CoordinatorOutcome& outcome) {
  Entry& entry = groups_.find(group_id)->second;
  const ConsumerGroup& group = entry.group;
  while (!entry.timers.empty()) stop_timers(entry, std::string(entry.timers.begin()->first));
  std::vector<CoordinatorRecord> tombstones;
  for (const auto& [member_id, member] : group.entries()) {
    tombstones.push_back(current_assignment_record(group_id, member_id, nullptr));
    tombstones.push_back(target_assignment_record(group_id, member_id, nullptr));
    tombstones.push_back(subscription_record(group_id, member_id, nullptr));
  }
  for (const auto& [expression, resolved] : group.expressions()) {
    tombstones.push_back(expression_record(group_id, expression, nullptr));
  }
  tombstones.push_back(assignment_epoch_record(group_id, std::nullopt));
  tombstones.push_back(group_epoch_record(group_id, std::nullopt));
  for (CoordinatorRecord& tombstone : tombstones) emit(std::move(tombstone), outcome);
}

}  // namespace naru
