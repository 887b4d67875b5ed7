// What topics, and what is said about them, have to do with groups.
#include <algorithm>
#include <utility>

#include "consumer_groups/consumer_protocol/consumer_group_records.h"
#include "consumer_groups/consumer_protocol/consumer_group_target.h"
#include "consumer_groups/consumer_protocol/consumer_groups.h"
#include "foundation/regular_expression.h"

namespace naru {
namespace {

std::vector<std::string> matching_topics(const RegularExpression& expression, const SubscribableTopics& topics) {
  std::vector<std::string> result;
  for (const SubscribableTopic& topic : topics.by_name()) {
    if (!topic.is_internal && expression.matches(topic.name)) result.push_back(topic.name);
  }
  return result;
}

// The same, knowing what it was before `changes`: the number of all topics does not matter. Both are in order.
std::vector<std::string> matching_topics(const RegularExpression& expression, const SubscribableTopics& topics,
                                         const std::vector<std::string>& before, const TopicChanges& changes) {
  std::vector<std::string> result;
  result.reserve(before.size());
  auto kept = before.begin();
  for (const std::string& name : changes) {
    const auto place = std::lower_bound(kept, before.end(), name);
    result.insert(result.end(), kept, place);
    kept = place != before.end() && *place == name ? std::next(place) : place;
    const SubscribableTopic* topic = topics.find(name);
    if (topic != nullptr && !topic->is_internal && expression.matches(name)) result.push_back(name);
  }
  result.insert(result.end(), kept, before.end());
  return result;
}

}  // namespace

bool ConsumerGroups::metadata_changed(TopicsSweep& sweep, size_t elements_max, const CoordinatorTime& time,
                                      CoordinatorOutcome& outcome) {
  if (!std::exchange(sweep.begun, true)) {
    const SharedTopics before = std::exchange(topics_, sweep.topics);
    // Groups that have not looked at any topics yet do so with their next heartbeat.
    if (groups_.empty() || before == nullptr || before->generation() == topics_->generation()) return false;
    sweep.since = before->generation();
    sweep.changes = topic_changes(*before, *topics_);
  }
  if (topics_ != sweep.topics) return false;  // others came meanwhile: what is left is left to heartbeats
  auto next = groups_.lower_bound(sweep.at);
  for (size_t elements = 0; next != groups_.end() && elements < elements_max; ++next) {
    const size_t lookups = 1 + next->second.group.expressions().size();
    elements += 1 + (follow_topics(next->first, sweep, time.wall_ms, outcome) ? lookups * sweep.changes.size() : 0);
  }
  if (next != groups_.end()) sweep.at = next->first;
  return next != groups_.end();
}

// Groups that have looked at these topics already, or at none of those before, are left alone.
bool ConsumerGroups::follow_topics(const std::string& group_id, const TopicsSweep& sweep, WallTimeMs now,
                                   CoordinatorOutcome& outcome) {
  Entry& entry = groups_.find(group_id)->second;
  if (entry.group.size() == 0 || entry.checked_generation != sweep.since) return false;
  entry.checked_generation = topics_->generation();
  bool is_affected = refresh_expressions(group_id, &sweep.changes, now, outcome);
  is_affected = is_affected || std::ranges::any_of(sweep.changes, [&](const std::string& name) {
                  return entry.group.is_subscribed_to(name);
                });
  if (is_affected && subscription_hash(entry.group, *topics_) != entry.group.metadata_hash()) {
    bump_epoch(group_id, now, outcome);
  }
  outcome.may_be_cut();
  return true;
}

bool ConsumerGroups::refresh(const std::string& group_id, WallTimeMs now, CoordinatorOutcome& outcome) {
  Entry& entry = groups_.find(group_id)->second;
  if (entry.checked_generation == topics_->generation()) return false;
  entry.checked_generation = topics_->generation();
  const bool other_topics = refresh_expressions(group_id, nullptr, now, outcome);
  return other_topics || subscription_hash(entry.group, *topics_) != entry.group.metadata_hash();
}

bool ConsumerGroups::refresh_expressions(const std::string& group_id, const TopicChanges* changes, WallTimeMs now,
                                         CoordinatorOutcome& outcome) {
  bool changed = false;
  const ConsumerGroup::Expressions expressions = find(group_id)->expressions();
  for (const auto& [pattern, resolved] : expressions) {
    const auto compiled = RegularExpression::compile(pattern);
    if (!compiled.has_value()) continue;  // another Naru understood it: what it meant there stays
    ResolvedExpression next{.version = topics_->generation(), .resolved_at = now};
    next.topics = changes != nullptr ? matching_topics(*compiled, *topics_, resolved.topics, *changes)
                                     : matching_topics(*compiled, *topics_);
    if (next.topics == resolved.topics) continue;
    emit(expression_record(group_id, pattern, &next), outcome);
    changed = true;
  }
  return changed;
}

void ConsumerGroups::resolve_expression(const std::string& group_id, const std::string& pattern, WallTimeMs now,
                                        CoordinatorOutcome& outcome) {
  const ConsumerGroup* group = find(group_id);
  if (pattern.empty() || (group != nullptr && group->expressions().contains(pattern))) return;
  const auto compiled = RegularExpression::compile(pattern);
  if (!compiled.has_value()) return;  // a stored one, which another Naru understood
  const ResolvedExpression resolved{matching_topics(*compiled, *topics_), topics_->generation(), now};
  emit(expression_record(group_id, pattern, &resolved), outcome);
}

void ConsumerGroups::drop_unused_expression(const std::string& group_id, const std::string& pattern,
                                            CoordinatorOutcome& outcome) {
  const ConsumerGroup& group = *find(group_id);
  if (pattern.empty() || group.uses_expression(pattern) || !group.expressions().contains(pattern)) return;
  emit(expression_record(group_id, pattern, nullptr), outcome);
}

void ConsumerGroups::bump_epoch(const std::string& group_id, WallTimeMs now, CoordinatorOutcome& outcome) {
  Entry& entry = groups_.find(group_id)->second;
  const ConsumerGroup& group = entry.group;
  if (group.is_settled()) entry.unsettled_since = now;
  const int64_t hash = topics_ != nullptr ? subscription_hash(group, *topics_) : group.metadata_hash();
  const WallTimeMs empty_since = group.size() == 0 ? now : -1;
  emit(group_epoch_record(group_id, ConsumerGroupEpoch{group.epoch() + 1, hash, empty_since}), outcome);
}

void ConsumerGroups::update_target(const std::string& group_id, CoordinatorOutcome& outcome) {
  const ConsumerGroup& group = *find(group_id);
  if (group.epoch() <= group.assignment_epoch()) return;
  const GroupTarget target = compute_target(group, *topics_, preferred_assignor(group, settings_.assignors));
  for (const auto& [member_id, partitions] : target) {
    const ConsumerMember& member = *group.find(member_id);
    const bool is_new = member.target.has_value() ? *member.target != partitions : !partitions.empty();
    if (is_new) emit(target_assignment_record(group_id, member_id, &partitions), outcome);
  }
  emit(assignment_epoch_record(group_id, group.epoch()), outcome);
}

}  // namespace naru
