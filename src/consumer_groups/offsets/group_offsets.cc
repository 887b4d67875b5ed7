#include "consumer_groups/offsets/group_offsets.h"

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

FetchedOffset fetched_offset(const GroupOffsets& offsets, const GroupPartition& partition) {
  FetchedOffset answer{.partition = partition};
  if (const auto found = offsets.find(partition); found != offsets.end()) answer.committed = found->second;
  return answer;
}

void remove_offset(std::string_view group_id, const GroupPartition& partition, GroupStep& step) {
  step.store.emit(offset_record(group_id, partition, nullptr), step.outcome);
  step.outcome.may_be_cut();
}

}  // namespace

CommitAnswer store_offsets(const CommitOffsets& request, GroupStep& step) {
  CommitAnswer answer;
  if (record_bytes_of(request) > step.settings.commit_bytes_max) {
    answer.entries.assign(request.entries.size(), ErrorCode::offset_metadata_too_large);
    return answer;
  }
  answer.entries.reserve(request.entries.size());
  const std::optional<WallTimeMs> expires_at = expiry_of(request, step.time.wall_ms);
  for (const CommitOffsets::Entry& entry : request.entries) {
    const ErrorCode checked = check_entry(entry, step.settings);
    answer.entries.push_back(checked);
    if (checked != ErrorCode::none) continue;
    const CommittedOffset committed{.offset = entry.offset,
                                    .leader_epoch = entry.leader_epoch,
                                    .metadata = entry.metadata,
                                    .committed_at = step.time.wall_ms,
                                    .expires_at = expires_at,
                                    .topic_id = entry.topic_id};
    step.store.emit(offset_record(request.group_id, entry.partition, &committed), step.outcome);
  }
  return answer;
}

FetchOffsetsAnswer read_offsets(const FetchOffsets& request, const GroupStore& store) {
  FetchOffsetsAnswer answer;
  const GroupOffsets& offsets = store.offsets_of(request.group_id);
  if (request.partitions) {
    answer.offsets.reserve(request.partitions->size());
    for (const GroupPartition& partition : *request.partitions)
      answer.offsets.push_back(fetched_offset(offsets, partition));
  } else {
    answer.offsets.reserve(offsets.size());
    for (const auto& [partition, committed] : offsets) {
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
    if (step.store.offsets_of(request.group_id).contains(partition)) remove_offset(request.group_id, partition, step);
    answer.partitions.push_back(ErrorCode::none);
  }
  return answer;
}

void remove_offsets_of_topics(const std::vector<FormerTopic>& topics, GroupStep& step) {
  std::vector<OffsetKey> gone;
  for (const auto& [group_id, offsets] : step.store.all().offsets) {
    for (const auto& [topic, topic_id] : topics) {
      const GroupPartition first{topic, PartitionIndex(std::numeric_limits<int32_t>::min())};
      for (auto each = offsets.lower_bound(first); each != offsets.end() && each->first.topic == topic; ++each) {
        if (each->second.belongs_to(topic_id)) gone.push_back({group_id, each->first});
      }
    }
  }
  for (const OffsetKey& key : gone) remove_offset(key.group_id, key.partition, step);
}

void remove_all_offsets(std::string_view group_id, GroupStep& step) {
  std::vector<GroupPartition> partitions;
  for (const auto& [partition, committed] : step.store.offsets_of(group_id)) partitions.push_back(partition);
  for (const GroupPartition& partition : partitions) remove_offset(group_id, partition, step);
}

}  // namespace naru
