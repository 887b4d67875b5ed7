#include "consumer_groups/consumer_protocol/assignors/range_assignor.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace naru {
namespace {

bool comes_first(const AssignorMember& a, const AssignorMember& b) {
  if (a.instance_id.has_value() != b.instance_id.has_value()) return a.instance_id.has_value();
  if (a.instance_id.has_value() && *a.instance_id != *b.instance_id) return *a.instance_id < *b.instance_id;
  return a.member_id < b.member_id;
}

// For each topic its subscribers, in the order in which they get their ranges.
std::vector<std::vector<uint32_t>> subscribers_in_order(const AssignorInput& input) {
  std::vector<uint32_t> order(input.members.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::sort(order, [&](uint32_t a, uint32_t b) { return comes_first(input.members[a], input.members[b]); });
  std::vector<std::vector<uint32_t>> subscribers(input.topics.size());
  for (const uint32_t member : order) {
    for (const uint32_t topic : input.members[member].topics) subscribers[topic].push_back(member);
  }
  return subscribers;
}

}  // namespace

TargetAssignment assign_ranges(const AssignorInput& input) {
  TargetAssignment result(input.members.size());
  const auto subscribers = subscribers_in_order(input);
  for (size_t topic = 0; topic < input.topics.size(); ++topic) {
    const auto count = static_cast<int32_t>(subscribers[topic].size());
    if (count == 0) continue;
    const int32_t each = input.topics[topic].partitions / count;
    const int32_t with_one_more = input.topics[topic].partitions % count;
    int32_t next = 0;
    for (int32_t place = 0; place < count; ++place) {
      const int32_t end = next + each + (place < with_one_more ? 1 : 0);
      for (; next < end; ++next) {
        result[subscribers[topic][place]].push_back({input.topics[topic].id, PartitionIndex(next)});
      }
    }
  }
  for (PartitionSet& partitions : result) std::ranges::sort(partitions);
  return result;
}

}  // namespace naru
