// The records of groups of the consumer protocol in __consumer_offsets, in Kafka's layouts.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "consumer_groups/consumer_protocol/consumer_group.h"
#include "coordinator_runtime/coordinator_outcome.h"
#include "foundation/bytes.h"
#include "foundation/status.h"

namespace naru {

// A key's version is its type.
bool is_consumer_group_key(int16_t version);

// What a record says, to be told to the group it speaks of.
struct ConsumerGroupChange {
  std::string group_id;
  UniqueFunction<void(ConsumerGroup&)> apply;
};
Result<ConsumerGroupChange> decode_consumer_group_record(BytesView key, std::optional<BytesView> value);

// No value: a tombstone.
CoordinatorRecord group_epoch_record(std::string_view group_id, const std::optional<ConsumerGroupEpoch>& epoch);
CoordinatorRecord assignment_epoch_record(std::string_view group_id, std::optional<int32_t> epoch);
CoordinatorRecord subscription_record(std::string_view group_id, std::string_view member_id,
                                      const ConsumerSubscription* subscription);
CoordinatorRecord current_assignment_record(std::string_view group_id, std::string_view member_id,
                                            const ConsumerMemberAssignment* current);
CoordinatorRecord target_assignment_record(std::string_view group_id, std::string_view member_id,
                                           const PartitionSet* target);
CoordinatorRecord expression_record(std::string_view group_id, std::string_view expression,
                                    const ResolvedExpression* resolved);

}  // namespace naru
