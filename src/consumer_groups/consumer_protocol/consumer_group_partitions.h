// Partitions by the id of their topic, and sets of them.
#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <functional>
#include <iterator>
#include <utility>
#include <vector>

#include "foundation/ids.h"
#include "foundation/sort_and_drop_doubles.h"
#include "foundation/uuid.h"

namespace naru {

struct TopicIdPartition {
  Uuid topic_id;
  PartitionIndex partition{0};
  constexpr auto operator<=>(const TopicIdPartition&) const = default;
};

// In order, each once: assignments are compared, cut and merged far more often than they are changed.
using PartitionSet = std::vector<TopicIdPartition>;

inline PartitionSet make_partition_set(std::vector<TopicIdPartition> partitions) {
  sort_and_drop_doubles(partitions);
  return partitions;
}

inline PartitionSet set_of_both(const PartitionSet& a, const PartitionSet& b) {
  PartitionSet result;
  std::ranges::set_intersection(a, b, std::back_inserter(result));
  return result;
}
inline PartitionSet set_without(const PartitionSet& a, const PartitionSet& b) {
  PartitionSet result;
  std::ranges::set_difference(a, b, std::back_inserter(result));
  return result;
}
inline PartitionSet set_of_either(const PartitionSet& a, const PartitionSet& b) {
  PartitionSet result;
  std::ranges::set_union(a, b, std::back_inserter(result));
  return result;
}
inline bool is_subset(const PartitionSet& part, const PartitionSet& whole) {
  return std::ranges::includes(whole, part);
}

}  // namespace naru

template <>
struct std::hash<naru::TopicIdPartition> {
  size_t operator()(const naru::TopicIdPartition& key) const noexcept {
    return std::hash<naru::Uuid>{}(key.topic_id) * 31 + static_cast<size_t>(key.partition.value());
  }
};
