#include "consumer_groups/consumer_protocol/assignors/uniform_assignor.h"

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
  std::vector<Member> subscribers;  // ascending
  std::vector<Topic> topics;
  std::vector<std::vector<TopicIdPartition>> held;  // beside subscribers
};

// The subscribers of a class, as places in it, by what they have got: the poorest and the richest are found at once.
using Place = uint32_t;
using ByLoad = std::set<std::pair<size_t, Place>>;

class UniformAssignment {
 public:
  explicit UniformAssignment(const AssignorInput& input)
      : input_(input), load_(input.members.size(), 0), classes_(classes_of(input)) {
    class_of_topic_.resize(input.topics.size(), nullptr);
    for (TopicClass& c : classes_) {
      for (const Topic topic : c.topics) class_of_topic_[topic] = &c;
    }
  }

  TargetAssignment run() {
    keep_previous();
    for (TopicClass& c : classes_) hand_out(c);
    // Every move lessens the sum of the squares of the loads, so this comes to an end; but with thousands of members in
    // a chain, in which each shares a topic with the next, only after a very long time.
    for (bool moved = classes_.size() > 0; moved && work_ < kBalancingMax;) {
      moved = false;
      for (TopicClass& c : classes_) moved |= balance(c);
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
    for (auto& [members, topics] : by_subscribers) {
      classes.push_back({members, std::move(topics), std::vector<std::vector<TopicIdPartition>>(members.size())});
    }
    std::ranges::sort(classes, {},
                      [](const TopicClass& c) { return std::pair(c.subscribers.size(), c.topics.front()); });
    return classes;
  }

  void give(TopicClass& c, Place place, TopicIdPartition partition) {
    c.held[place].push_back(partition);
    ++load_[c.subscribers[place]];
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
        if (found == topic_by_id.end() || class_of_topic_[found->second] == nullptr) continue;
        TopicClass& c = *class_of_topic_[found->second];
        const auto place = std::ranges::lower_bound(c.subscribers, member);
        if (place == c.subscribers.end() || *place != member) continue;
        const int32_t index = partition.partition.value();
        if (index < 0 || index >= input_.topics[found->second].partitions || taken_[found->second][index]) continue;
        taken_[found->second][index] = true;
        give(c, static_cast<Place>(place - c.subscribers.begin()), partition);
      }
    }
  }

  // What nobody has goes to the poorest.
  void hand_out(TopicClass& c) {
    const auto all_taken = [this](Topic topic) {
      return std::ranges::find(taken_[topic], false) == taken_[topic].end();
    };
    if (std::ranges::all_of(c.topics, all_taken)) return;
    ByLoad poorest_first = by_load(c);
    for (const Topic topic : c.topics) {
      for (int32_t partition = 0; partition < input_.topics[topic].partitions; ++partition) {
        if (taken_[topic][partition]) continue;
        auto poorest = poorest_first.extract(poorest_first.begin());
        give(c, poorest.value().second, {input_.topics[topic].id, PartitionIndex(partition)});
        ++poorest.value().first;
        poorest_first.insert(std::move(poorest));
      }
    }
  }

  size_t load_of(const TopicClass& c, Place place) const { return load_[c.subscribers[place]]; }

  ByLoad by_load(const TopicClass& c) const {
    ByLoad result;
    for (Place place = 0; place < c.subscribers.size(); ++place) result.emplace(load_of(c, place), place);
    return result;
  }

  // Whether a partition of the class should change hands. Asked again and again of classes that are balanced already.
  bool is_uneven(const TopicClass& c) {
    work_ += c.subscribers.size();
    size_t poorest = load_of(c, 0);
    size_t richest = 0;  // of those that have one to give
    for (Place place = 0; place < c.subscribers.size(); ++place) {
      poorest = std::min(poorest, load_of(c, place));
      if (!c.held[place].empty()) richest = std::max(richest, load_of(c, place));
    }
    return richest > poorest + 1;
  }

  // Moves partitions of the class from the richest who has one to the poorest, while that helps.
  bool balance(TopicClass& c) {
    if (!is_uneven(c)) return false;
    ByLoad everybody = by_load(c);
    ByLoad givers;
    for (const auto& entry : everybody) {
      if (!c.held[entry.second].empty()) givers.insert(givers.end(), entry);
    }
    while (!givers.empty() && givers.rbegin()->first > everybody.begin()->first + 1 && work_ < kBalancingMax) {
      move_one(c, givers, everybody);
    }
    return true;
  }

  void move_one(TopicClass& c, ByLoad& givers, ByLoad& everybody) {
    work_ += kWorkPerMove;
    const auto rich = *givers.rbegin();
    const auto poor = *everybody.begin();
    auto& from = c.held[rich.second];
    give(c, poor.second, from.back());
    from.pop_back();
    --load_[c.subscribers[rich.second]];
    everybody.erase(rich);
    everybody.erase(poor);
    givers.erase(rich);
    givers.erase(poor);
    everybody.emplace(load_of(c, rich.second), rich.second);
    everybody.emplace(load_of(c, poor.second), poor.second);
    if (!from.empty()) givers.emplace(load_of(c, rich.second), rich.second);
    givers.emplace(load_of(c, poor.second), poor.second);
  }

  TargetAssignment collect() {
    TargetAssignment result(input_.members.size());
    for (const TopicClass& c : classes_) {
      for (Place place = 0; place < c.subscribers.size(); ++place) {
        PartitionSet& partitions = result[c.subscribers[place]];
        partitions.insert(partitions.end(), c.held[place].begin(), c.held[place].end());
      }
    }
    for (PartitionSet& partitions : result) std::ranges::sort(partitions);
    return result;
  }

  // Members that balancing looks at, and moves in their measure: some seconds of it at most.
  static constexpr size_t kBalancingMax = 50'000'000;
  static constexpr size_t kWorkPerMove = 20;

  const AssignorInput& input_;
  size_t work_ = 0;
  std::vector<size_t> load_;  // by member
  std::vector<TopicClass> classes_;
  std::vector<TopicClass*> class_of_topic_;  // nullptr: nobody wants the topic
  std::vector<std::vector<bool>> taken_;     // by topic and partition
};

}  // namespace

TargetAssignment assign_uniformly(const AssignorInput& input) {
  return UniformAssignment(input).run();
}

}  // namespace naru
