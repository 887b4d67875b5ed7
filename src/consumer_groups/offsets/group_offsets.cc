#include "consumer_groups/offsets/group_offsets.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "consumer_groups/classic/subscribed_topics.h"
#include "consumer_groups/consumer_protocol/consumer_group_protocol.h"

namespace naru {
namespace {

std::optional<WallTimeMs> expiry_of(const CommitOffsets& request, WallTimeMs now) {
  if (!request.retention || request.retention->count() < 0) return std::nullopt;
  constexpr WallTimeMs kForever = std::numeric_limits<WallTimeMs>::max();
  return request.retention->count() > kForever - now ? kForever : now + request.retention->count();
}

ErrorCode check_entry(const CommitOffsets::Entry& entry, const GroupSettings& settings) {
  if (!fits_record(entry.partition.topic)) return ErrorCode::invalid_topic_exception;
  const bool too_large = entry.metadata.size() > settings.offset_metadata_bytes_max || !fits_record(entry.metadata);
  return too_large ? ErrorCode::offset_metadata_too_large : ErrorCode::none;
}

size_t record_bytes_of(const CommitOffsets& request) {
  constexpr size_t kNumbers = 128;
  size_t bytes = 0;
  for (const CommitOffsets::Entry& entry : request.entries) {
    bytes += kNumbers + request.group_id.size() + entry.partition.topic.size() + entry.metadata.size();
  }
  return bytes;
}

// What the commit adds to the memory of the shard. An entry that is refused adds nothing.
uint64_t growth_by(const CommitOffsets& request, const GroupStep& step) {
  uint64_t bytes = step.store.growth_by_group(request.group_id);
  for (const CommitOffsets::Entry& entry : request.entries) {
    if (check_entry(entry, step.settings) != ErrorCode::none) continue;
    bytes += step.store.growth_by_offset(request.group_id, entry.partition, entry.metadata.size());
  }
  return bytes;
}

uint64_t growth_by(const TransactionalCommit& request, const GroupStep& step) {
  uint64_t bytes = 0;
  for (const CommitOffsets::Entry& entry : request.offsets.entries) {
    if (check_entry(entry, step.settings) != ErrorCode::none) continue;
    const OffsetKey key{request.offsets.group_id, entry.partition};
    bytes += step.store.pending().growth_by(request.producer.id, key, entry.metadata.size());
  }
  return bytes;
}

CommitAnswer refused_commit(const CommitOffsets& request, ErrorCode error) {
  return {.entries = std::vector<ErrorCode>(request.entries.size(), error)};
}

CommittedOffset committed_offset(const CommitOffsets::Entry& entry, WallTimeMs now,
                                 std::optional<WallTimeMs> expires_at) {
  return {.offset = entry.offset,
          .leader_epoch = entry.leader_epoch,
          .metadata = entry.metadata,
          .committed_at = now,
          .expires_at = expires_at,
          .topic_id = entry.topic_id};
}

FetchedOffset fetched_offset(const FetchOffsets& request, const GroupPartition& partition, const GroupStore& store) {
  FetchedOffset answer{.partition = partition};
  if (request.require_stable) {
    const auto& pending = store.pending().of_group(request.group_id);
    if (const auto found = pending.find(partition); found != pending.end()) {
      answer.error = ErrorCode::unstable_offset_commit;
      answer.pending_producer = found->second.front().producer.id;
      return answer;
    }
  }
  const GroupOffsets& offsets = store.offsets_of(request.group_id);
  if (const auto found = offsets.find(partition); found != offsets.end()) answer.committed = found->second;
  return answer;
}

// Also those for which a transaction may be about to commit the first offset.
std::set<GroupPartition> all_partitions(std::string_view group_id, const GroupStore& store) {
  std::set<GroupPartition> partitions;
  for (const auto& [partition, committed] : store.offsets_of(group_id)) partitions.insert(partition);
  for (const auto& [partition, pending] : store.pending().of_group(group_id)) partitions.insert(partition);
  return partitions;
}

}  // namespace

CommitAnswer store_offsets(const CommitOffsets& request, GroupStep& step) {
  if (record_bytes_of(request) > step.settings.commit_bytes_max) {
    return refused_commit(request, ErrorCode::offset_metadata_too_large);
  }
  // A group that commits again what it has committed before is not refused because others have filled the memory.
  if (!step.store.has_memory_for(growth_by(request, step))) {
    return refused_commit(request, ErrorCode::coordinator_not_available);
  }
  CommitAnswer answer;
  answer.entries.reserve(request.entries.size());
  const std::optional<WallTimeMs> expires_at = expiry_of(request, step.time.wall_ms);
  for (const CommitOffsets::Entry& entry : request.entries) {
    const ErrorCode checked = check_entry(entry, step.settings);
    answer.entries.push_back(checked);
    if (checked != ErrorCode::none) continue;
    const CommittedOffset committed = committed_offset(entry, step.time.wall_ms, expires_at);
    step.store.emit(offset_record(request.group_id, entry.partition, &committed), step.outcome);
  }
  return answer;
}

CommitAnswer stage_offsets(const TransactionalCommit& request, GroupStep& step) {
  const CommitOffsets& offsets = request.offsets;
  const size_t bytes = record_bytes_of(offsets);
  if (bytes > step.settings.commit_bytes_max) return refused_commit(offsets, ErrorCode::offset_metadata_too_large);
  if (step.store.pending().bytes() + bytes > step.settings.pending_bytes_max ||
      !step.store.has_memory_for(growth_by(request, step))) {
    return refused_commit(offsets, ErrorCode::coordinator_not_available);
  }
  CommitAnswer answer;
  answer.entries.reserve(offsets.entries.size());
  for (const CommitOffsets::Entry& entry : offsets.entries) {
    const ErrorCode checked = check_entry(entry, step.settings);
    answer.entries.push_back(checked);
    if (checked != ErrorCode::none) continue;
    const CommittedOffset committed = committed_offset(entry, step.time.wall_ms, std::nullopt);
    step.store.emit_pending(
        request.producer,
        pending_offset_record(offsets.group_id, entry.partition, committed, request.transaction_number), step.outcome);
  }
  return answer;
}

void rewrite_overtaken(ProducerId producer, GroupStep& step) {
  for (const auto& [key, pending] : step.store.pending().overtaken_of(producer)) {
    const GroupOffsets& offsets = step.store.offsets_of(key.group_id);
    const auto newer = offsets.find(key.partition);
    // The topic was deleted in between, and somebody reads another one of its name.
    const bool is_of_former_topic = newer != offsets.end() && !pending.topic_id.is_zero() &&
                                    !newer->second.topic_id.is_zero() && newer->second.topic_id != pending.topic_id;
    if (is_of_former_topic) continue;
    step.store.emit(offset_record(key.group_id, key.partition, &pending), step.outcome);
    step.outcome.may_be_cut();
  }
}

FetchOffsetsAnswer read_offsets(const FetchOffsets& request, const GroupStore& store) {
  FetchOffsetsAnswer answer;
  const auto add = [&](const GroupPartition& partition) {
    answer.offsets.push_back(fetched_offset(request, partition, store));
  };
  if (request.partitions) {
    answer.offsets.reserve(request.partitions->size());
    for (const GroupPartition& partition : *request.partitions) add(partition);
  } else if (request.require_stable) {
    for (const GroupPartition& partition : all_partitions(request.group_id, store)) add(partition);
  } else {
    for (const auto& [partition, committed] : store.offsets_of(request.group_id)) {
      answer.offsets.push_back({.partition = partition, .committed = committed});
    }
  }
  return answer;
}

DeleteOffsetsAnswer remove_offsets(const DeleteOffsets& request, const ClassicGroup* group,
                                   const ConsumerGroup* consumer, GroupStep& step) {
  std::optional<std::set<std::string>> read_topics(std::in_place);  // nothing: may be all
  if (group != nullptr && !group->is(ClassicState::empty)) {
    if (group->protocol_type() != kConsumerProtocolType) return {.error = ErrorCode::non_empty_group};
    read_topics = subscribed_topics(*group);
  }
  if (consumer != nullptr) {
    for (const std::string_view topic : consumer->subscribed_topics()) read_topics->emplace(topic);
  }
  DeleteOffsetsAnswer answer;
  answer.partitions.reserve(request.partitions.size());
  for (const GroupPartition& partition : request.partitions) {
    if (!read_topics || read_topics->contains(partition.topic)) {
      answer.partitions.push_back(ErrorCode::group_subscribed_to_topic);
      continue;
    }
    // What a transaction is about to commit goes along.
    if (step.store.offsets_of(request.group_id).contains(partition) ||
        step.store.pending().contains(request.group_id, partition)) {
      remove_offset(request.group_id, partition, step);
    }
    answer.partitions.push_back(ErrorCode::none);
  }
  return answer;
}

void remove_offset(std::string_view group_id, const GroupPartition& partition, GroupStep& step) {
  step.store.emit(offset_record(group_id, partition, nullptr), step.outcome);
  step.outcome.may_be_cut();
}

void remove_all_offsets(std::string_view group_id, GroupStep& step) {
  for (const GroupPartition& partition : all_partitions(group_id, step.store)) remove_offset(group_id, partition, step);
}

}  // namespace naru
