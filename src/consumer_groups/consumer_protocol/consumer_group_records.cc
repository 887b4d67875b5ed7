#include "consumer_groups/consumer_protocol/consumer_group_records.h"

#include <algorithm>
#include <limits>
#include <string>

#include "consumer_groups/consumer_protocol/consumer_group_messages.h"

#include "foundation/byte_reader.h"
#include "foundation/sort_and_drop_doubles.h"
#include "internal_records/consumer_group_current_member_assignment_key.h"
#include "internal_records/consumer_group_current_member_assignment_value.h"
#include "internal_records/consumer_group_member_metadata_key.h"
#include "internal_records/consumer_group_member_metadata_value.h"
#include "internal_records/consumer_group_metadata_key.h"
#include "internal_records/consumer_group_metadata_value.h"
#include "internal_records/consumer_group_regular_expression_key.h"
#include "internal_records/consumer_group_regular_expression_value.h"
#include "internal_records/consumer_group_target_assignment_member_key.h"
#include "internal_records/consumer_group_target_assignment_member_value.h"
#include "internal_records/consumer_group_target_assignment_metadata_key.h"
#include "internal_records/consumer_group_target_assignment_metadata_value.h"
#include "kafka_protocol/stored_value.h"

namespace naru {
namespace {

using GroupKey = internal::ConsumerGroupMetadataKey;
using GroupValue = internal::ConsumerGroupMetadataValue;
using MemberKey = internal::ConsumerGroupMemberMetadataKey;
using MemberValue = internal::ConsumerGroupMemberMetadataValue;
using TargetEpochKey = internal::ConsumerGroupTargetAssignmentMetadataKey;
using TargetEpochValue = internal::ConsumerGroupTargetAssignmentMetadataValue;
using TargetKey = internal::ConsumerGroupTargetAssignmentMemberKey;
using TargetValue = internal::ConsumerGroupTargetAssignmentMemberValue;
using CurrentKey = internal::ConsumerGroupCurrentMemberAssignmentKey;
using CurrentValue = internal::ConsumerGroupCurrentMemberAssignmentValue;
using ExpressionKey = internal::ConsumerGroupRegularExpressionKey;
using ExpressionValue = internal::ConsumerGroupRegularExpressionValue;

template <class Topic>
std::vector<Topic> by_topic(const PartitionSet& partitions) {
  std::vector<Topic> topics;
  for (const auto& [topic_id, partition] : partitions) {
    if (topics.empty() || topics.back().topic_id != topic_id) topics.emplace_back().topic_id = topic_id;
    topics.back().partitions.push_back(partition.value());
  }
  return topics;
}

template <class Topic>
PartitionSet partitions_of(const std::vector<Topic>& topics) {
  std::vector<TopicIdPartition> partitions;
  for (const Topic& topic : topics) {
    for (const int32_t partition : topic.partitions) partitions.push_back({topic.topic_id, PartitionIndex(partition)});
  }
  return make_partition_set(std::move(partitions));
}

template <class Key>
Bytes key_of_group(std::string_view group_id) {
  Key key;
  key.group_id = group_id;
  return kafka::encode_stored_value(key);
}
template <class Key>
Bytes key_of_member(std::string_view group_id, std::string_view member_id) {
  Key key;
  key.group_id = group_id;
  key.member_id = member_id;
  return kafka::encode_stored_value(key);
}

// Of a group or a member: every number that we write has a successor.
Status check_stored_epoch(int32_t epoch) {
  if (epoch >= kTemporaryLeaveEpoch && epoch < std::numeric_limits<int32_t>::max()) return {};
  return error(ErrorCode::corrupt_data, "{} is no epoch of a group", epoch);
}

// --- From bytes ------------------------------------------------------------------------------------------------------

Result<ConsumerGroupEpoch> read_value(const GroupValue& value) {
  NARU_TRY(check_stored_epoch(value.epoch));
  return ConsumerGroupEpoch{value.epoch, value.metadata_hash, value.naru_empty_since_ms};
}

Result<int32_t> read_value(const TargetEpochValue& value) {
  NARU_TRY(check_stored_epoch(value.assignment_epoch));
  return value.assignment_epoch;
}

Result<ConsumerSubscription> read_value(MemberValue value) {
  ConsumerSubscription result{
      .instance_id = std::move(value.instance_id),
      .rack_id = std::move(value.rack_id),
      .client_id = std::move(value.client_id),
      .client_host = std::move(value.client_host),
      .topics = std::move(value.subscribed_topic_names),
      .expression = std::move(value.subscribed_topic_regex).value_or(""),
      .rebalance_timeout = Milliseconds(value.rebalance_timeout_ms),
      .assignor = std::move(value.server_assignor),
  };
  sort_and_drop_doubles(result.topics);
  if (value.classic_member_metadata.has_value()) {
    ClassicMembership classic{Milliseconds(value.classic_member_metadata->session_timeout_ms), {}};
    for (auto& protocol : value.classic_member_metadata->supported_protocols) {
      classic.protocols.push_back({std::move(protocol.name), std::move(protocol.metadata)});
    }
    result.classic = std::move(classic);
  }
  return result;
}

Result<PartitionSet> read_value(const TargetValue& value) {
  return partitions_of(value.topic_partitions);
}

Result<ConsumerMemberAssignment> read_value(const CurrentValue& value) {
  // Only these three are known; what another state of a member means cannot be guessed.
  if (value.state < 0 || value.state > static_cast<int8_t>(ReconciliationState::unreleased)) {
    return failure(ErrorCode::unsupported_format, "a group member is stored in the unknown state {}", value.state);
  }
  NARU_TRY(check_stored_epoch(value.member_epoch));
  return ConsumerMemberAssignment{
      .epoch = value.member_epoch,
      .previous_epoch = value.previous_member_epoch,
      .state = static_cast<ReconciliationState>(value.state),
      .assigned = partitions_of(value.assigned_partitions),
      .pending_revocation = partitions_of(value.partitions_pending_revocation),
  };
}

Result<ResolvedExpression> read_value(ExpressionValue value) {
  ResolvedExpression result{std::move(value.topics), value.version, value.timestamp};
  sort_and_drop_doubles(result.topics);
  return result;
}

// Decodes both halves of a record and hands them to tell(group, key, value or nothing).
template <class Key, class Value, class Tell>
Result<ConsumerGroupChange> decode_record(BytesView key_bytes, std::optional<BytesView> value_bytes, Tell tell) {
  NARU_TRY_ASSIGN(Key key, kafka::decode_stored_value<Key>(key_bytes));
  using Part = std::remove_cvref_t<decltype(*read_value(std::declval<Value>()))>;
  std::optional<Part> part;
  if (value_bytes.has_value()) {
    NARU_TRY_ASSIGN(Value value, kafka::decode_stored_value<Value>(*value_bytes));
    NARU_TRY_ASSIGN(part, read_value(std::move(value)));
  }
  std::string group_id = key.group_id;
  return ConsumerGroupChange{std::move(group_id),
                             [tell, key = std::move(key), part = std::move(part)](ConsumerGroup& group) mutable {
                               tell(group, key, std::move(part));
                             }};
}

}  // namespace

bool is_consumer_group_key(int16_t version) {
  return version == GroupKey::kMinVersion || version == MemberKey::kMinVersion ||
         version == TargetEpochKey::kMinVersion || version == TargetKey::kMinVersion ||
         version == CurrentKey::kMinVersion || version == ExpressionKey::kMinVersion;
}

Result<ConsumerGroupChange> decode_consumer_group_record(BytesView key, std::optional<BytesView> value) {
  ByteReader reader(key);
  const auto version = reader.read_int<int16_t>();
  if (!reader.ok()) return failure(ErrorCode::corrupt_data, "a record's key has no type");
  switch (version) {
    case GroupKey::kMinVersion:
      return decode_record<GroupKey, GroupValue>(
          key, value, [](ConsumerGroup& group, const GroupKey&, auto epoch) { group.set_epoch(epoch); });
    case MemberKey::kMinVersion:
      return decode_record<MemberKey, MemberValue>(key, value, [](ConsumerGroup& group, const MemberKey& k, auto said) {
        group.set_subscription(k.member_id, std::move(said));
      });
    case TargetEpochKey::kMinVersion:
      return decode_record<TargetEpochKey, TargetEpochValue>(
          key, value,
          [](ConsumerGroup& group, const TargetEpochKey&, auto epoch) { group.set_assignment_epoch(epoch); });
    case TargetKey::kMinVersion:
      return decode_record<TargetKey, TargetValue>(key, value, [](ConsumerGroup& group, const TargetKey& k, auto set) {
        group.set_target(k.member_id, std::move(set));
      });
    case CurrentKey::kMinVersion:
      return decode_record<CurrentKey, CurrentValue>(key, value,
                                                     [](ConsumerGroup& group, const CurrentKey& k, auto current) {
                                                       group.set_current(k.member_id, std::move(current));
                                                     });
    case ExpressionKey::kMinVersion:
      return decode_record<ExpressionKey, ExpressionValue>(
          key, value, [](ConsumerGroup& group, const ExpressionKey& k, auto resolved) {
            group.set_expression(k.regular_expression, std::move(resolved));
          });
    default:
      return failure(ErrorCode::unsupported_format, "a key of type {} does not speak of consumer groups", version);
  }
}

CoordinatorRecord group_epoch_record(std::string_view group_id, const std::optional<ConsumerGroupEpoch>& epoch) {
  CoordinatorRecord record{key_of_group<GroupKey>(group_id), std::nullopt};
  if (epoch.has_value()) {
    record.value = kafka::encode_stored_value(GroupValue{
        .epoch = epoch->epoch, .metadata_hash = epoch->metadata_hash, .naru_empty_since_ms = epoch->empty_since});
  }
  return record;
}

CoordinatorRecord assignment_epoch_record(std::string_view group_id, std::optional<int32_t> epoch) {
  CoordinatorRecord record{key_of_group<TargetEpochKey>(group_id), std::nullopt};
  if (epoch.has_value()) record.value = kafka::encode_stored_value(TargetEpochValue{.assignment_epoch = *epoch});
  return record;
}

CoordinatorRecord subscription_record(std::string_view group_id, std::string_view member_id,
                                      const ConsumerSubscription* subscription) {
  CoordinatorRecord record{key_of_member<MemberKey>(group_id, member_id), std::nullopt};
  if (subscription == nullptr) return record;
  MemberValue value{
      .instance_id = subscription->instance_id,
      .rack_id = subscription->rack_id,
      .client_id = subscription->client_id,
      .client_host = subscription->client_host,
      .subscribed_topic_names = subscription->topics,
      .subscribed_topic_regex = subscription->expression,
      .rebalance_timeout_ms = static_cast<int32_t>(subscription->rebalance_timeout.count()),
      .server_assignor = subscription->assignor,
  };
  if (subscription->classic.has_value()) {
    auto& classic = value.classic_member_metadata.emplace();
    classic.session_timeout_ms = static_cast<int32_t>(subscription->classic->session_timeout.count());
    for (const GroupProtocol& protocol : subscription->classic->protocols) {
      classic.supported_protocols.push_back({protocol.name, protocol.metadata});
    }
  }
  record.value = kafka::encode_stored_value(value);
  return record;
}

CoordinatorRecord current_assignment_record(std::string_view group_id, std::string_view member_id,
                                            const ConsumerMemberAssignment* current) {
  CoordinatorRecord record{key_of_member<CurrentKey>(group_id, member_id), std::nullopt};
  if (current == nullptr) return record;
  record.value = kafka::encode_stored_value(CurrentValue{
      .member_epoch = current->epoch,
      .previous_member_epoch = current->previous_epoch,
      .state = static_cast<int8_t>(current->state),
      .assigned_partitions = by_topic<CurrentValue::TopicPartitions>(current->assigned),
      .partitions_pending_revocation = by_topic<CurrentValue::TopicPartitions>(current->pending_revocation),
  });
  return record;
}

CoordinatorRecord target_assignment_record(std::string_view group_id, std::string_view member_id,
                                           const PartitionSet* target) {
  CoordinatorRecord record{key_of_member<TargetKey>(group_id, member_id), std::nullopt};
  if (target != nullptr) {
    record.value =
        kafka::encode_stored_value(TargetValue{.topic_partitions = by_topic<TargetValue::TopicPartition>(*target)});
  }
  return record;
}

CoordinatorRecord expression_record(std::string_view group_id, std::string_view expression,
                                    const ResolvedExpression* resolved) {
  ExpressionKey key;
  key.group_id = group_id;
  key.regular_expression = expression;
  CoordinatorRecord record{kafka::encode_stored_value(key), std::nullopt};
  if (resolved != nullptr) {
    record.value = kafka::encode_stored_value(
        ExpressionValue{.topics = resolved->topics, .version = resolved->version, .timestamp = resolved->resolved_at});
  }
  return record;
}

}  // namespace naru
