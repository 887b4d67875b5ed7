#include "consumer_groups/consumer_protocol/consumer_group_target.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <unordered_map>
#include <utility>

#include "consumer_groups/consumer_protocol/assignors/assignor.h"
#include "consumer_groups/consumer_protocol/assignors/range_assignor.h"
#include "consumer_groups/consumer_protocol/assignors/uniform_assignor.h"
#include "foundation/assert.h"
#include "foundation/sort_and_drop_doubles.h"

namespace naru {
namespace {

struct NamedAssignor {
  std::string_view name;
  TargetAssignment (*assign)(const AssignorInput&);
};
constexpr NamedAssignor kAssignors[] = {{"uniform", &assign_uniformly}, {"range", &assign_ranges}};

// Builds an AssignorInput. Members with the same subscription share its topics.
class TargetInput {
 public:
  TargetInput(const ConsumerGroup& group, const SubscribableTopics& topics) : group_(group) {
    for (const std::string_view name : group.subscribed_topics()) {
      const SubscribableTopic* topic = topics.find(name);
      if (topic == nullptr) continue;
      places_.emplace(name, static_cast<uint32_t>(input_.topics.size()));
      input_.topics.push_back({topic->id, topic->partitions});
    }
    for (const auto& [member_id, member] : group.members()) {
      input_.members.push_back({member_id, member.subscription->instance_id, topics_of(*member.subscription),
                                member.target.has_value() ? &*member.target : nullptr});
    }
  }

  const AssignorInput& input() const { return input_; }

 private:
  using SubscriptionKey = std::pair<const std::vector<std::string>&, const std::string&>;
  struct Less {
    bool operator()(const SubscriptionKey& a, const SubscriptionKey& b) const {
      return a.first != b.first ? a.first < b.first : a.second < b.second;
    }
  };

  const std::vector<uint32_t>& topics_of(const ConsumerSubscription& subscription) {
    const SubscriptionKey key{subscription.topics, subscription.expression};
    const auto [entry, is_new] = topics_by_subscription_.try_emplace(key);
    if (!is_new) return entry->second;
    add_places(subscription.topics, entry->second);
    const auto resolved = group_.expressions().find(subscription.expression);
    if (resolved != group_.expressions().end()) add_places(resolved->second.topics, entry->second);
    sort_and_drop_doubles(entry->second);
    return entry->second;
  }

  void add_places(const std::vector<std::string>& names, std::vector<uint32_t>& places) const {
    for (const std::string& name : names) {
      const auto found = places_.find(name);
      if (found != places_.end()) places.push_back(found->second);
    }
  }

  const ConsumerGroup& group_;
  AssignorInput input_;
  std::unordered_map<std::string_view, uint32_t> places_;
  std::map<SubscriptionKey, std::vector<uint32_t>, Less> topics_by_subscription_;
};

// FNV-1a.
class StoredHash {
 public:
  void add(std::string_view bytes) {
    for (const char byte : bytes) add_byte(static_cast<uint8_t>(byte));
    add_byte(0xff);  // in no topic name: where one ends
  }
  void add(uint64_t number) {
    for (int shift = 0; shift < 64; shift += 8) add_byte(static_cast<uint8_t>(number >> shift));
  }
  int64_t value() const { return static_cast<int64_t>(hash_); }

 private:
  void add_byte(uint8_t byte) { hash_ = (hash_ ^ byte) * 0x100000001b3ULL; }

  uint64_t hash_ = 0xcbf29ce484222325ULL;
};

}  // namespace

bool is_known_assignor(std::string_view name) {
  return std::ranges::find(kAssignors, name, &NamedAssignor::name) != std::end(kAssignors);
}

const std::string& preferred_assignor(const ConsumerGroup& group, const std::vector<std::string>& assignors) {
  std::vector<size_t> votes(assignors.size(), 0);
  for (const auto& [member_id, member] : group.members()) {
    if (!member.subscription->assignor.has_value()) continue;
    const auto found = std::ranges::find(assignors, *member.subscription->assignor);
    if (found != assignors.end()) ++votes[static_cast<size_t>(found - assignors.begin())];
  }
  return assignors[static_cast<size_t>(std::ranges::max_element(votes) - votes.begin())];
}

GroupTarget compute_target(const ConsumerGroup& group, const SubscribableTopics& topics, std::string_view assignor) {
  const TargetInput target_input(group, topics);
  const auto* named = std::ranges::find(kAssignors, assignor, &NamedAssignor::name);
  NARU_ASSERT(named != std::end(kAssignors), "there is no assignor {}", assignor);
  TargetAssignment assignment = named->assign(target_input.input());
  GroupTarget target;
  target.reserve(assignment.size());
  for (size_t i = 0; i < assignment.size(); ++i) {
    target.emplace_back(target_input.input().members[i].member_id, std::move(assignment[i]));
  }
  return target;
}

int64_t subscription_hash(const ConsumerGroup& group, const SubscribableTopics& topics) {
  StoredHash hash;
  for (const std::string_view name : group.subscribed_topics()) {
    const SubscribableTopic* topic = topics.find(name);
    if (topic == nullptr) continue;
    hash.add(name);
    hash.add(topic->id.high);
    hash.add(topic->id.low);
    hash.add(static_cast<uint64_t>(topic->partitions));
  }
  return hash.value();
}

}  // namespace naru
