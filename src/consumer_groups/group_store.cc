#include "consumer_groups/group_store.h"

#include <utility>

#include <fmt/core.h>

#include "foundation/assert.h"

namespace naru {

std::string DurableGroups::to_string() const {
  std::string text;
  for (const auto& [id, group] : groups) {
    text += fmt::format("group {}: type {} generation {} protocol {} leader {} since {}\n", id, group.protocol_type,
                        group.generation, group.protocol.value_or("-"), group.leader.value_or("-"), group.state_since);
    for (const StoredMember& member : group.members) {
      text += fmt::format("  member {} instance {} client {} at {} timeouts {}/{} metadata {} B assignment '{}'\n",
                          member.member_id, member.instance_id.value_or("-"), member.client_id, member.client_host,
                          member.session_timeout.count(), member.rebalance_timeout.count(), member.metadata.size(),
                          as_text(member.assignment));
    }
  }
  for (const auto& [id, committed] : offsets) {
    for (const auto& [partition, offset] : committed) {
      text += fmt::format("offset {} {}-{}: {} epoch {} '{}' at {} until {} of {}\n", id, partition.topic,
                          partition.partition, offset.offset, offset.leader_epoch, offset.metadata, offset.committed_at,
                          offset.expires_at.value_or(-1), offset.topic_id.to_string());
    }
  }
  for (const auto& [id, partitions] : pending.all()) {
    for (const auto& [partition, staged] : partitions) {
      for (const PendingOffset& each : staged) {
        text += fmt::format("pending {} {}-{}: {} by {}/{}{}\n", id, partition.topic, partition.partition,
                            each.committed.offset, each.producer.id, each.producer.epoch,
                            each.overtaken ? ", overtaken" : "");
      }
    }
  }
  return text;
}

Status GroupStore::apply(int16_t record_type, BytesView key, std::optional<BytesView> value) {
  NARU_ASSERT(knows(record_type), "records of type {} are somebody else's", record_type);
  return record_type == kOffsetKeyType ? apply_offset(key, value) : apply_group(key, value);
}

void GroupStore::emit(CoordinatorRecord record, CoordinatorOutcome& outcome) {
  const auto type = group_record_type(record.key);
  const Status applied =
      apply(type.value_or(0), record.key, record.value ? std::optional<BytesView>(*record.value) : std::nullopt);
  NARU_ASSERT(applied.ok(), "a record of our own: {}", applied.to_string());
  outcome.records.push_back(std::move(record));
}

Status GroupStore::apply_pending(const ProducerIdentity& producer, BytesView key, std::optional<BytesView> value) {
  NARU_TRY_ASSIGN(const OffsetKey decoded, decode_offset_key(key));
  if (!value) return error(ErrorCode::corrupt_data, "a transaction removes an offset of group {}", decoded.group_id);
  NARU_TRY_ASSIGN(CommittedOffset committed, decode_offset_value(*value));
  state_.pending.stage(producer, decoded, std::move(committed));
  return {};
}

void GroupStore::apply_marker(ProducerId producer, TransactionResult result) {
  for (auto& [key, committed] : state_.pending.end(producer, result)) {
    state_.offsets[key.group_id][key.partition] = std::move(committed);
  }
}

void GroupStore::emit_pending(const ProducerIdentity& producer, CoordinatorRecord record, CoordinatorOutcome& outcome) {
  const Status applied =
      apply_pending(producer, record.key, record.value ? std::optional<BytesView>(*record.value) : std::nullopt);
  NARU_ASSERT(applied.ok(), "a record of our own: {}", applied.to_string());
  outcome.transaction = producer;
  outcome.records.push_back(std::move(record));
}

const StoredGroup* GroupStore::find_group(std::string_view group_id) const {
  const auto found = state_.groups.find(group_id);
  return found == state_.groups.end() ? nullptr : &found->second;
}

const GroupOffsets& GroupStore::offsets_of(std::string_view group_id) const {
  static const GroupOffsets kNone;
  const auto found = state_.offsets.find(group_id);
  return found == state_.offsets.end() ? kNone : found->second;
}

bool GroupStore::has_offsets(std::string_view group_id) const {
  return state_.offsets.contains(group_id) || !state_.pending.of_group(group_id).empty();
}

bool GroupStore::knows_group(std::string_view group_id) const {
  return state_.groups.contains(group_id) || has_offsets(group_id);
}

Status GroupStore::apply_offset(BytesView key, std::optional<BytesView> value) {
  NARU_TRY_ASSIGN(OffsetKey decoded, decode_offset_key(key));
  if (value) {
    NARU_TRY_ASSIGN(CommittedOffset committed, decode_offset_value(*value));
    state_.pending.overtake(decoded);
    state_.offsets[std::move(decoded.group_id)][std::move(decoded.partition)] = std::move(committed);
    return {};
  }
  state_.pending.drop(decoded);
  const auto found = state_.offsets.find(decoded.group_id);
  if (found == state_.offsets.end()) return {};
  found->second.erase(decoded.partition);
  if (found->second.empty()) state_.offsets.erase(found);
  return {};
}

Status GroupStore::apply_group(BytesView key, std::optional<BytesView> value) {
  NARU_TRY_ASSIGN(std::string group_id, decode_group_key(key));
  if (value) {
    NARU_TRY_ASSIGN(StoredGroup group, decode_group_value(*value));
    state_.groups.insert_or_assign(std::move(group_id), std::move(group));
  } else {
    state_.groups.erase(group_id);
  }
  return {};
}

}  // namespace naru
