#include "consumer_groups/consumer_protocol/consumer_group.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "consumer_groups/consumer_protocol/consumer_group_messages.h"

namespace naru {
namespace {

template <class Map, class Key>
void count_down(Map& counts, const Key& key) {
  const auto found = counts.find(key);
  if (--found->second == 0) counts.erase(found);
}

std::string text_of(const PartitionSet& partitions) {
  std::string text;
  for (const auto& [topic_id, partition] : partitions) text += fmt::format(" {}/{}", topic_id.to_string(), partition);
  return text;
}

std::string text_of(const ConsumerSubscription& s) {
  std::string text =
      fmt::format("instance {} rack {} client {}@{} topics [{}] expression '{}' timeout {} assignor {}",
                  s.instance_id.value_or("-"), s.rack_id.value_or("-"), s.client_id, s.client_host,
                  fmt::join(s.topics, ","), s.expression, s.rebalance_timeout.count(), s.assignor.value_or("-"));
  if (!s.classic.has_value()) return text;
  text += fmt::format(" classic {}", s.classic->session_timeout.count());
  for (const GroupProtocol& protocol : s.classic->protocols) {
    text += fmt::format(" {}:{} bytes", protocol.name, protocol.metadata.size());
  }
  return text;
}

}  // namespace

size_t bytes_of(const ConsumerSubscription& subscription) {
  constexpr size_t kString = 32;
  size_t bytes = sizeof(ConsumerSubscription) + subscription.client_id.size() + subscription.client_host.size() +
                 subscription.expression.size();
  for (const std::string& topic : subscription.topics) bytes += kString + topic.size();
  if (subscription.classic.has_value()) {
    for (const GroupProtocol& protocol : subscription.classic->protocols) {
      bytes += 2 * kString + protocol.name.size() + protocol.metadata.size();
    }
  }
  return bytes;
}

void ConsumerGroup::set_epoch(std::optional<ConsumerGroupEpoch> epoch) {
  epoch_ = epoch;
}

void ConsumerGroup::set_assignment_epoch(std::optional<int32_t> epoch) {
  assignment_epoch_ = epoch;
}

void ConsumerGroup::set_subscription(const std::string& member_id, std::optional<ConsumerSubscription> subscription) {
  const auto member = members_.try_emplace(member_id).first;
  if (member->second.subscription.has_value()) uncount_subscription(member_id, *member->second.subscription);
  member->second.subscription = std::move(subscription);
  if (member->second.subscription.has_value()) count_subscription(member_id, *member->second.subscription);
  erase_if_empty(member);
}

void ConsumerGroup::set_current(const std::string& member_id, std::optional<ConsumerMemberAssignment> current) {
  const auto member = members_.try_emplace(member_id).first;
  if (member->second.current.has_value()) uncount_claims(*member->second.current);
  member->second.current = std::move(current);
  if (member->second.current.has_value()) count_claims(*member->second.current);
  erase_if_empty(member);
}

void ConsumerGroup::set_target(const std::string& member_id, std::optional<PartitionSet> target) {
  const auto member = members_.try_emplace(member_id).first;
  member->second.target = std::move(target);
  erase_if_empty(member);
}

void ConsumerGroup::set_expression(const std::string& expression, std::optional<ResolvedExpression> resolved) {
  if (resolved.has_value()) {
    expressions_.insert_or_assign(expression, std::move(*resolved));
  } else {
    expressions_.erase(expression);
  }
}

bool ConsumerGroup::is_gone() const {
  return !epoch_.has_value() && !assignment_epoch_.has_value() && members_.empty() && expressions_.empty();
}

std::optional<WallTimeMs> ConsumerGroup::empty_since() const {
  if (size_ > 0 || !epoch_.has_value() || epoch_->empty_since < 0) return std::nullopt;
  return epoch_->empty_since;
}

std::string_view ConsumerGroup::state() const {
  if (size_ == 0) return "Empty";
  if (epoch() > assignment_epoch()) return "Assigning";
  const bool reached = std::ranges::all_of(members(), [&](const auto& entry) {
    const ConsumerMember& member = entry.second;
    return member.current.has_value() && member.current->has_reached(assignment_epoch());
  });
  return reached ? "Stable" : "Reconciling";
}

bool ConsumerGroup::is_settled() const {
  return epoch() == assignment_epoch() && std::ranges::all_of(members(), [&](const auto& entry) {
           const auto& current = entry.second.current;
           return !current.has_value() || current->epoch == kJoinEpoch || current->has_reached(assignment_epoch());
         });
}

const ConsumerMember* ConsumerGroup::find(std::string_view member_id) const {
  const auto found = members_.find(member_id);
  return found != members_.end() && found->second.subscription.has_value() ? &found->second : nullptr;
}

const std::string* ConsumerGroup::static_member(std::string_view instance_id) const {
  const auto found = by_instance_id_.find(instance_id);
  return found != by_instance_id_.end() ? &*found->second.begin() : nullptr;
}

ErrorCode ConsumerGroup::check_claim(std::string_view member_id, const std::optional<std::string>& instance_id) const {
  if (instance_id.has_value()) {
    const std::string* holder = static_member(*instance_id);
    if (holder == nullptr) return ErrorCode::unknown_member_id;
    if (*holder != member_id) return ErrorCode::fenced_instance_id;
  }
  return find(member_id) != nullptr ? ErrorCode::none : ErrorCode::unknown_member_id;
}

bool ConsumerGroup::is_subscribed_to(const std::string& topic) const {
  return topic_users_.contains(topic) || std::ranges::any_of(expressions_, [&](const auto& entry) {
           return std::ranges::binary_search(entry.second.topics, topic);
         });
}

std::set<std::string_view> ConsumerGroup::subscribed_topics() const {
  std::set<std::string_view> topics;
  for (const auto& [topic, users] : topic_users_) topics.insert(topics.end(), topic);
  for (const auto& [expression, resolved] : expressions_) {
    if (uses_expression(expression)) topics.insert(resolved.topics.begin(), resolved.topics.end());
  }
  return topics;
}

bool ConsumerGroup::operator==(const ConsumerGroup& other) const {
  return epoch_ == other.epoch_ && assignment_epoch_ == other.assignment_epoch_ && members_ == other.members_ &&
         expressions_ == other.expressions_;
}

std::string ConsumerGroup::to_string() const {
  std::string text = fmt::format("epoch {} hash {:x} empty since {} assignment epoch {}\n", epoch(), metadata_hash(),
                                 empty_since().value_or(-1), assignment_epoch());
  for (const auto& [member_id, member] : members_) {
    text += fmt::format("  member {}: {}\n", member_id, member.subscription ? text_of(*member.subscription) : "nobody");
    if (member.current.has_value()) {
      const ConsumerMemberAssignment& current = *member.current;
      text +=
          fmt::format("    epoch {} after {} state {} assigned{} pending{}\n", current.epoch, current.previous_epoch,
                      static_cast<int>(current.state), text_of(current.assigned), text_of(current.pending_revocation));
    }
    if (member.target.has_value()) text += fmt::format("    target{}\n", text_of(*member.target));
  }
  for (const auto& [expression, resolved] : expressions_) {
    text += fmt::format("  expression '{}' [{}] version {} at {}\n", expression, fmt::join(resolved.topics, ","),
                        resolved.version, resolved.resolved_at);
  }
  return text;
}

void ConsumerGroup::count_subscription(const std::string& member_id, const ConsumerSubscription& subscription) {
  ++size_;
  subscription_bytes_ += bytes_of(subscription);
  if (subscription.classic.has_value()) ++classic_size_;
  if (subscription.instance_id.has_value()) by_instance_id_[*subscription.instance_id].insert(member_id);
  for (const std::string& topic : subscription.topics) ++topic_users_[topic];
  if (!subscription.expression.empty()) ++expression_users_[subscription.expression];
}

void ConsumerGroup::uncount_subscription(const std::string& member_id, const ConsumerSubscription& subscription) {
  --size_;
  subscription_bytes_ -= bytes_of(subscription);
  if (subscription.classic.has_value()) --classic_size_;
  if (subscription.instance_id.has_value()) {
    const auto found = by_instance_id_.find(*subscription.instance_id);
    found->second.erase(member_id);
    if (found->second.empty()) by_instance_id_.erase(found);
  }
  for (const std::string& topic : subscription.topics) count_down(topic_users_, topic);
  if (!subscription.expression.empty()) count_down(expression_users_, subscription.expression);
}

void ConsumerGroup::count_claims(const ConsumerMemberAssignment& current) {
  for (const TopicIdPartition& partition : current.assigned) ++claims_[partition];
  for (const TopicIdPartition& partition : current.pending_revocation) ++claims_[partition];
}

void ConsumerGroup::uncount_claims(const ConsumerMemberAssignment& current) {
  for (const TopicIdPartition& partition : current.assigned) count_down(claims_, partition);
  for (const TopicIdPartition& partition : current.pending_revocation) count_down(claims_, partition);
}

void ConsumerGroup::erase_if_empty(Members::iterator member) {
  if (member->second == ConsumerMember{}) members_.erase(member);
}

}  // namespace naru
