#include "consumer_groups/group_records.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "foundation/byte_reader.h"
#include "internal_records/group_metadata_key.h"
#include "internal_records/group_metadata_value.h"
#include "internal_records/offset_commit_key.h"
#include "internal_records/offset_commit_value.h"
#include "kafka_protocol/stored_value.h"

namespace naru {
namespace {

using kafka::decode_stored_value;
using kafka::encode_stored_value;

constexpr int16_t kGroupValueVersion = 3;
// The only version with a time of expiry; it has neither leader epoch nor topic id.
constexpr int16_t kExpiringOffsetVersion = 1;
constexpr int16_t kPlainOffsetVersion = 3;
constexpr int16_t kTopicIdOffsetVersion = 4;

int16_t offset_version(const CommittedOffset& committed) {
  if (committed.expires_at) return kExpiringOffsetVersion;
  return committed.topic_id.is_zero() ? kPlainOffsetVersion : kTopicIdOffsetVersion;
}

Bytes offset_value(const CommittedOffset& committed, TransactionNumber number, int16_t version) {
  return encode_stored_value(internal::OffsetCommitValue{.offset = committed.offset,
                                                         .leader_epoch = committed.leader_epoch,
                                                         .metadata = committed.metadata,
                                                         .commit_timestamp = committed.committed_at,
                                                         .expire_timestamp = committed.expires_at.value_or(-1),
                                                         .topic_id = committed.topic_id,
                                                         .naru_transaction_number = number.value()},
                             version);
}

int32_t to_int32(Milliseconds time) {
  return static_cast<int32_t>(std::clamp<int64_t>(time.count(), 0, std::numeric_limits<int32_t>::max()));
}

internal::GroupMetadataValue::MemberMetadata member_value(const StoredMember& member) {
  return {.member_id = member.member_id,
          .group_instance_id = member.instance_id,
          .client_id = member.client_id,
          .client_host = member.client_host,
          .rebalance_timeout = to_int32(member.rebalance_timeout),
          .session_timeout = to_int32(member.session_timeout),
          .subscription = member.metadata,
          .assignment = member.assignment};
}

StoredMember stored_member(internal::GroupMetadataValue::MemberMetadata& value) {
  const int32_t session_timeout = std::max(value.session_timeout, 0);
  // Version 0 knows only the session timeout.
  const int32_t rebalance_timeout = value.rebalance_timeout < 0 ? session_timeout : value.rebalance_timeout;
  return {.member_id = std::move(value.member_id),
          .instance_id = std::move(value.group_instance_id),
          .client_id = std::move(value.client_id),
          .client_host = std::move(value.client_host),
          .rebalance_timeout = Milliseconds(rebalance_timeout),
          .session_timeout = Milliseconds(session_timeout),
          .metadata = std::move(value.subscription),
          .assignment = std::move(value.assignment)};
}

Status check_stored_group(const StoredGroup& group) {
  if (!group.members.empty() && !group.protocol) {
    return error(ErrorCode::corrupt_data, "GroupMetadataValue has members and no protocol");
  }
  std::set<std::string_view> members;
  std::set<std::string_view> instances;
  for (const StoredMember& member : group.members) {
    const bool is_new = members.insert(member.member_id).second;
    if (!is_new || (member.instance_id && !instances.insert(*member.instance_id).second)) {
      return error(ErrorCode::corrupt_data, "GroupMetadataValue has member {} twice", member.member_id);
    }
  }
  return {};
}

}  // namespace

bool fits_record(std::string_view text) {
  return text.size() <= kafka::kStringSizeMax;
}

bool is_group_id(std::string_view text) {
  constexpr size_t kMaxBytes = 1024;
  return text.size() <= kMaxBytes;
}

Result<int16_t> group_record_type(BytesView key) {
  ByteReader reader(key);
  const auto type = reader.read_int<int16_t>();
  if (!reader.ok()) return failure(ErrorCode::corrupt_data, "a key of {} bytes has no type", key.size());
  return type;
}

CoordinatorRecord offset_record(std::string_view group_id, const GroupPartition& partition,
                                const CommittedOffset* committed) {
  CoordinatorRecord record{.key = encode_stored_value(internal::OffsetCommitKey{.group = std::string(group_id),
                                                                                .topic = partition.topic,
                                                                                .partition = partition.partition},
                                                      kOffsetKeyType)};
  if (committed != nullptr) {
    record.value = offset_value(*committed, kNoTransactionNumber, offset_version(*committed));
  }
  return record;
}

CoordinatorRecord pending_offset_record(std::string_view group_id, const GroupPartition& partition,
                                        const CommittedOffset& committed, TransactionNumber number) {
  CoordinatorRecord record = offset_record(group_id, partition, nullptr);
  record.value = offset_value(committed, number,
                              number == kNoTransactionNumber ? offset_version(committed) : kTopicIdOffsetVersion);
  return record;
}

CoordinatorRecord group_record(std::string_view group_id, const StoredGroup* group) {
  CoordinatorRecord record{
      .key = encode_stored_value(internal::GroupMetadataKey{.group = std::string(group_id)}, kGroupKeyType)};
  if (group != nullptr) {
    internal::GroupMetadataValue value{.protocol_type = group->protocol_type,
                                       .generation = group->generation,
                                       .protocol = group->protocol,
                                       .leader = group->leader,
                                       .current_state_timestamp = group->state_since};
    value.members.reserve(group->members.size());
    for (const StoredMember& member : group->members) value.members.push_back(member_value(member));
    record.value = encode_stored_value(value, kGroupValueVersion);
  }
  return record;
}

Result<OffsetKey> decode_offset_key(BytesView key) {
  NARU_TRY_ASSIGN(auto value, decode_stored_value<internal::OffsetCommitKey>(key));
  return OffsetKey{std::move(value.group), {std::move(value.topic), value.partition}};
}

Result<CommittedOffset> decode_offset_value(BytesView bytes) {
  NARU_TRY_ASSIGN(auto value, decode_stored_value<internal::OffsetCommitValue>(bytes));
  CommittedOffset committed{.offset = value.offset,
                            .leader_epoch = value.leader_epoch,
                            .metadata = std::move(value.metadata),
                            .committed_at = value.commit_timestamp,
                            .topic_id = value.topic_id};
  if (value.expire_timestamp >= 0) committed.expires_at = value.expire_timestamp;
  return committed;
}

Result<TransactionNumber> decode_transaction_number(BytesView bytes) {
  NARU_TRY_ASSIGN(const auto value, decode_stored_value<internal::OffsetCommitValue>(bytes));
  return TransactionNumber(value.naru_transaction_number);
}

Result<std::string> decode_group_key(BytesView key) {
  NARU_TRY_ASSIGN(auto value, decode_stored_value<internal::GroupMetadataKey>(key));
  return std::move(value.group);
}

Result<StoredGroup> decode_group_value(BytesView bytes) {
  NARU_TRY_ASSIGN(auto value, decode_stored_value<internal::GroupMetadataValue>(bytes));
  StoredGroup group{.protocol_type = std::move(value.protocol_type),
                    .generation = value.generation,
                    .protocol = std::move(value.protocol),
                    .leader = std::move(value.leader),
                    .state_since = value.current_state_timestamp};
  group.members.reserve(value.members.size());
  for (auto& member : value.members) group.members.push_back(stored_member(member));
  NARU_TRY(check_stored_group(group));
  return group;
}

}  // namespace naru
