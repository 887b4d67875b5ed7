#include "consumer_groups/group_store.h"

#include <utility>

#include <fmt/core.h>

#include "foundation/assert.h"
#include "foundation/request_canary.h"

namespace naru {
namespace {

// Nodes of maps, and the strings of a partition and its offset.
constexpr uint64_t kGroupBytes = 160;
constexpr uint64_t kOffsetBytes = 256;

uint64_t memory_of(const GroupPartition& partition, size_t metadata_bytes) {
  return kOffsetBytes + partition.topic.size() + metadata_bytes;
}

}  // namespace

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
  count_memory();
  return {};
}

void GroupStore::apply_marker(ProducerId producer, TransactionResult result) {
  for (auto& [key, committed] : state_.pending.end(producer, result)) {
    put_offset(key, std::move(committed));
  }
  count_memory();
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
    put_offset(std::move(decoded), std::move(committed));
  } else {
    state_.pending.drop(decoded);
    remove_offset(decoded);
  }
  count_memory();
  return {};
}

void GroupStore::put_offset(OffsetKey key, CommittedOffset committed) {
  const auto [group, is_new_group] = state_.offsets.try_emplace(std::move(key.group_id));
  if (is_new_group) offset_bytes_ += kGroupBytes + group->first.size();
  const auto [offset, is_new] = group->second.try_emplace(std::move(key.partition));
  if (!is_new) offset_bytes_ -= memory_of(offset->first, offset->second.metadata.size());
  offset_bytes_ += memory_of(offset->first, committed.metadata.size());
  offset->second = std::move(committed);
}

void GroupStore::remove_offset(const OffsetKey& key) {
  const auto group = state_.offsets.find(key.group_id);
  if (group == state_.offsets.end()) return;
  const auto offset = group->second.find(key.partition);
  if (offset == group->second.end()) return;
  offset_bytes_ -= memory_of(offset->first, offset->second.metadata.size());
  group->second.erase(offset);
  if (!group->second.empty()) return;
  offset_bytes_ -= kGroupBytes + group->first.size();
  state_.offsets.erase(group);
}

void GroupStore::count_memory() {
  if (is_planted(RequestCanary::unpaid_offsets)) return;
  memory_.set(offset_bytes_ + state_.pending.bytes());
}

size_t GroupStore::offset_count() const {
  return (offset_bytes_ + state_.pending.bytes()) / kOffsetBytes;
}

uint64_t GroupStore::growth_by_group(std::string_view group_id) const {
  return state_.offsets.contains(group_id) ? 0 : kGroupBytes + group_id.size();
}

uint64_t GroupStore::growth_by_offset(std::string_view group_id, const GroupPartition& partition,
                                      size_t metadata_bytes) const {
  const uint64_t after = memory_of(partition, metadata_bytes);
  const GroupOffsets& offsets = offsets_of(group_id);
  const auto found = offsets.find(partition);
  if (found == offsets.end()) return after;
  const uint64_t before = memory_of(partition, found->second.metadata.size());
  return after > before ? after - before : 0;
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
