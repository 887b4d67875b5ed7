// What an assignor is given: pure values, so that the same group always leads to the same assignment.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "consumer_groups/consumer_protocol/consumer_group_partitions.h"
#include "foundation/uuid.h"

namespace naru {

struct AssignorTopic {
  Uuid id;
  int32_t partitions = 0;
};

struct AssignorMember {
  std::string_view member_id;
  std::optional<std::string_view> instance_id;
  std::span<const uint32_t> topics;        // places in AssignorInput::topics, ascending, each once
  const PartitionSet* previous = nullptr;  // what it was meant to have until now
};

// Members are in the order of their ids. Everything it points to outlives the call.
struct AssignorInput {
  std::vector<AssignorTopic> topics;
  std::vector<AssignorMember> members;
};

// One set for each member, in the order of the members: each partition of a topic that somebody is subscribed to is in
// exactly one of them, and only in one of a subscriber.
using TargetAssignment = std::vector<PartitionSet>;

}  // namespace naru
