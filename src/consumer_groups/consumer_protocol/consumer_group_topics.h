// The topics that groups can be subscribed to, at one moment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "foundation/uuid.h"

namespace naru {

struct SubscribableTopic {
  std::string name;
  Uuid id;
  int32_t partitions = 0;
  bool is_internal = false;  // a regular expression does not match it; its name does
  bool operator==(const SubscribableTopic&) const = default;
};

// Immutable, shared by all shards.
class SubscribableTopics {
 public:
  // Two values with the same generation are the same.
  SubscribableTopics(int64_t generation, std::vector<SubscribableTopic> topics);

  int64_t generation() const { return generation_; }
  std::span<const SubscribableTopic> by_name() const { return topics_; }
  const SubscribableTopic* find(std::string_view name) const;
  const SubscribableTopic* find(const Uuid& id) const;
  size_t partition_count() const { return partition_count_; }  // of all topics

 private:
  int64_t generation_;
  size_t partition_count_ = 0;
  std::vector<SubscribableTopic> topics_;
  std::vector<std::pair<Uuid, uint32_t>> by_id_;
};

using SharedTopics = std::shared_ptr<const SubscribableTopics>;

// Names whose topics differ between two moments, in order.
using TopicChanges = std::vector<std::string>;
TopicChanges topic_changes(const SubscribableTopics& before, const SubscribableTopics& after);

// Other topics than before, and how far the groups of a shard have taken them into account: in steps, since there may
// be very many groups.
struct TopicsSweep {
  SharedTopics topics;
  bool begun = false;
  int64_t since = -1;    // the generation of the topics that the shard knew
  TopicChanges changes;  // since then
  std::string at;        // the group with which the next step begins
};

}  // namespace naru
