#include "consumer_groups/assignors/uniform_assignor.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

namespace naru {
namespace {

using Member = uint32_t;
using Topic = uint32_t;

// Topics with the same subscribers are interchangeable: what is balanced over one of them is balanced over all. Most
// groups have a single such class.
struct TopicClass {
  std::vector<Member> subscribers;
  std::vector<Topic> topics;
};

// The subscribers of a class by what they have got, so that the poorest and the richest are found at once.
using ByLoad = std::set<std::pair<size_t, Member>>;

class UniformAssignment {
 public:
  explicit UniformAssignment(const AssignorInput& input)
      : input_(input), load_(input.members.size(), 0), classes_(classes_of(input)) {
    class_of_topic_.resize(input.topics.size(), 0);
    for (uint32_t i = 0; i < classes_.size(); ++i) {
      for (const Topic topic : classes_[i].topics) class_of_topic_[topic] = i;
    }
    held_.resize(classes_.size());
    for (uint32_t i = 0; i < classes_.size(); ++i) held_[i].resize(input.members.size());
  }

  TargetAssignment run() {
    keep_previous();
    for (uint32_t i = 0; i < classes_.size(); ++i) hand_out(i);
    // Every move lessens the sum of the squares of the loads, so this comes to an end.
    for (bool moved = classes_.size() > 0; moved;) {
      moved = false;
      for (uint32_t i = 0; i < classes_.size(); ++i) moved |= balance(i);
      if (classes_.size() == 1) break;  // nothing else changes the loads
    }
    return collect();
  }

 private:
  // The most constrained classes first: who is subscribed to more can make up for it with the others.
  static std::vector<TopicClass> classes_of(const AssignorInput& input) {
    std::vector<std::vector<Member>> subscribers(input.topics.size());
    for (Member member = 0; member < input.members.size(); ++member) {
      for (const Topic topic : input.members[member].topics) subscribers[topic].push_back(member);
    }
    std::map<std::vector<Member>, std::vector<Topic>> by_subscribers;
    for (Topic topic = 0; topic < input.topics.size(); ++topic) {
      if (!subscribers[topic].empty()) by_subscribers[std::move(subscribers[topic])].push_back(topic);
    }
    std::vector<TopicClass> classes;
    for (auto& [members, topics] : by_subscribers) classes.push_back({members, std::move(topics)});
    std::ranges::sort(classes, {},
                      [](const TopicClass& c) { return std::pair(c.subscribers.size(), c.topics.front()); });
    return classes;
  }

  void give(uint32_t class_index, Member member, TopicIdPartition partition) {
    held_[class_index][member].push_back(partition);
    ++load_[member];
  }

  void keep_previous() {
    std::unordered_map<Uuid, Topic> topic_by_id;
    taken_.resize(input_.topics.size());
    for (Topic topic = 0; topic < input_.topics.size(); ++topic) {
      topic_by_id.emplace(input_.topics[topic].id, topic);
      taken_[topic].resize(static_cast<size_t>(std::max(0, input_.topics[topic].partitions)), false);
    }
    for (Member member = 0; member < input_.members.size(); ++member) {
      if (input_.members[member].previous == nullptr) continue;
      for (const TopicIdPartition& partition : *input_.members[member].previous) {
        const auto found = topic_by_id.find(partition.topic_id);
        if (found == topic_by_id.end() || !is_subscribed(member, found->second)) continue;
        const int32_t index = partition.partition.value();
        if (index < 0 || index >= input_.topics[found->second].partitions || taken_[found->second][index]) continue;
        taken_[found->second][index] = true;
        give(class_of_topic_[found->second], member, partition);
      }
    }
  }

  bool is_subscribed(Member member, Topic topic) const {
    return std::ranges::binary_search(input_.members[member].topics, topic);
  }

  // What nobody has goes to the poorest.
  void hand_out(uint32_t class_index) {
    ByLoad poorest_first = by_load(class_index);
    for (const Topic topic : classes_[class_index].topics) {
      for (int32_t partition = 0; partition < input_.topics[topic].partitions; ++partition) {
        if (taken_[topic][partition]) continue;
        auto poorest = poorest_first.extract(poorest_first.begin());
        give(class_index, poorest.value().second, {input_.topics[topic].id, PartitionIndex(partition)});
        ++poorest.value().first;
        poorest_first.insert(std::move(poorest));
      }
    }
  }

  ByLoad by_load(uint32_t class_index) const {
    ByLoad result;
    for (const Member member : classes_[class_index].subscribers) result.emplace(load_[member], member);
    return result;
  }

  // Moves partitions of the class from the richest who has one to the poorest, while that helps.
  bool balance(uint32_t class_index) {
    ByLoad everybody = by_load(class_index);
    ByLoad givers;
    for (const auto& entry : everybody) {
      if (!held_[class_index][entry.second].empty()) givers.insert(entry);
    }
    bool moved = false;
    while (!givers.empty() && givers.rbegin()->first > everybody.begin()->first + 1) {
      move_one(class_index, givers, everybody);
      moved = true;
    }
    return moved;
  }

  void move_one(uint32_t class_index, ByLoad& givers, ByLoad& everybody) {
    const auto rich = *givers.rbegin();
    const auto poor = *everybody.begin();
    auto& from = held_[class_index][rich.second];
    give(class_index, poor.second, from.back());
    from.pop_back();
    --load_[rich.second];
    everybody.erase(rich);
    everybody.erase(poor);
    givers.erase(rich);
    givers.erase(poor);
    everybody.emplace(load_[rich.second], rich.second);
    everybody.emplace(load_[poor.second], poor.second);
    if (!from.empty()) givers.emplace(load_[rich.second], rich.second);
    givers.emplace(load_[poor.second], poor.second);
  }

  TargetAssignment collect() {
    TargetAssignment result(input_.members.size());
    for (auto& by_member : held_) {
      for (Member member = 0; member < by_member.size(); ++member) {
        result[member].insert(result[member].end(), by_member[member].begin(), by_member[member].end());
      }
    }
    for (PartitionSet& partitions : result) std::ranges::sort(partitions);
    return result;
  }

  const AssignorInput& input_;
  std::vector<size_t> load_;  // by member
  const std::vector<TopicClass> classes_;
  std::vector<uint32_t> class_of_topic_;
  std::vector<std::vector<bool>> taken_;                          // by topic and partition
  std::vector<std::vector<std::vector<TopicIdPartition>>> held_;  // by class and member
};

}  // namespace

TargetAssignment assign_uniformly(const AssignorInput& input) {
  return UniformAssignment(input).run();
}

}  // namespace naru
