#include "consumer_groups/consumer_protocol/consumer_group_topics.h"

#include <algorithm>
#include <cstddef>

namespace naru {

SubscribableTopics::SubscribableTopics(int64_t generation, std::vector<SubscribableTopic> topics)
    : generation_(generation), topics_(std::move(topics)) {
  std::ranges::sort(topics_, {}, &SubscribableTopic::name);
  by_id_.reserve(topics_.size());
  for (uint32_t i = 0; i < topics_.size(); ++i) {
    by_id_.emplace_back(topics_[i].id, i);
    partition_count_ += static_cast<size_t>(std::max(0, topics_[i].partitions));
  }
  std::ranges::sort(by_id_);
}

const SubscribableTopic* SubscribableTopics::find(std::string_view name) const {
  const auto found = std::ranges::lower_bound(topics_, name, std::ranges::less{}, &SubscribableTopic::name);
  return found != topics_.end() && found->name == name ? &*found : nullptr;
}

const SubscribableTopic* SubscribableTopics::find(const Uuid& id) const {
  const auto found = std::ranges::lower_bound(by_id_, id, {}, &std::pair<Uuid, uint32_t>::first);
  return found != by_id_.end() && found->first == id ? &topics_[found->second] : nullptr;
}

TopicChanges topic_changes(const SubscribableTopics& before, const SubscribableTopics& after) {
  TopicChanges changes;
  const auto old_topics = before.by_name();
  const auto new_topics = after.by_name();
  size_t i = 0;
  size_t j = 0;
  while (i < old_topics.size() || j < new_topics.size()) {
    if (j == new_topics.size() || (i < old_topics.size() && old_topics[i].name < new_topics[j].name)) {
      changes.push_back(old_topics[i++].name);
    } else if (i == old_topics.size() || new_topics[j].name < old_topics[i].name) {
      changes.push_back(new_topics[j++].name);
    } else {
      if (old_topics[i] != new_topics[j]) changes.push_back(new_topics[j].name);
      ++i;
      ++j;
    }
  }
  return changes;
}

}  // namespace naru
