#include "command_line/group_progress.h"

#include <algorithm>

#include "client/offsets.h"
#include "client/record_time.h"
#include "command_line/units.h"

namespace naru::command_line {

using client::TopicPartition;

std::optional<int64_t> PartitionProgress::lag() const {
  if (!committed || !is_online()) return std::nullopt;
  return std::max<int64_t>(0, bounds.end - std::max(*committed, bounds.start));
}

int64_t PartitionProgress::lost() const {
  return committed && is_online() ? std::max<int64_t>(0, bounds.start - *committed) : 0;
}

std::optional<Duration> PartitionProgress::behind(WallTimeMs now) const {
  if (lag() == 0) return Duration::zero();
  if (!next_record_time) return std::nullopt;
  return Milliseconds(std::max<int64_t>(0, now - *next_record_time));
}

Lag total_lag(const std::vector<PartitionProgress>& partitions, WallTimeMs now) {
  Lag total;
  bool committed = false;
  for (const PartitionProgress& partition : partitions) {
    const auto lag = partition.lag();
    const auto behind = partition.behind(now);
    total.records += lag.value_or(0);
    if (lag && *lag > 0 && behind) total.behind = std::max(total.behind.value_or(*behind), *behind);
    committed = committed || lag;
  }
  if (committed && total.records == 0) total.behind = Duration::zero();
  return total;
}

Task<Result<Bounds>> find_bounds(client::ClusterClient& client, std::set<TopicPartition> partitions) {
  std::set<std::string> topics;
  for (const TopicPartition& partition : partitions) topics.insert(partition.topic);
  if (!topics.empty()) NARU_CO_TRY(co_await client.refresh({topics.begin(), topics.end()}));
  Bounds bounds;
  std::vector<TopicPartition> online;
  for (const TopicPartition& partition : partitions) {
    const client::PartitionInfo* known = client.metadata().find_partition(partition);
    using State = PartitionBounds::State;
    const State state = known == nullptr ? State::missing : known->is_offline() ? State::offline : State::online;
    bounds[partition].state = state;
    if (state == State::online) online.push_back(partition);
  }
  NARU_CO_TRY_ASSIGN(const auto starts, co_await client::list_offsets(client, online, client::kEarliest));
  NARU_CO_TRY_ASSIGN(const auto ends, co_await client::list_offsets(client, online, client::kLatest));
  for (const TopicPartition& partition : online) {
    bounds[partition].start = starts.at(partition).offset;
    bounds[partition].end = ends.at(partition).offset;
  }
  co_return bounds;
}

Task<Result<std::vector<PartitionProgress>>> find_progress(client::ClusterClient& client,
                                                           const client::GroupDescription& group) {
  NARU_CO_TRY_ASSIGN(const client::CommittedOffsets committed, co_await client::fetch_group_offsets(client, group.id));
  std::map<TopicPartition, PartitionProgress> progress;
  for (const auto& [partition, offset] : committed) progress[partition].committed = offset;
  for (const client::GroupMember& member : group.members) {
    for (const TopicPartition& partition : member.partitions) progress[partition].owner = member.id;
  }
  std::set<TopicPartition> names;
  for (const auto& [partition, unused] : progress) names.insert(partition);
  NARU_CO_TRY_ASSIGN(const Bounds bounds, co_await find_bounds(client, std::move(names)));
  std::vector<PartitionProgress> partitions;
  for (auto& [name, partition] : progress) {
    partition.partition = name;
    partition.bounds = bounds.at(name);
    partitions.push_back(std::move(partition));
  }
  co_return partitions;
}

Task<void> find_record_times(client::ClusterClient& client, std::vector<PartitionProgress>& partitions) {
  for (PartitionProgress& partition : partitions) {
    if (partition.lag().value_or(0) == 0) continue;
    const Offset next = std::max(*partition.committed, partition.bounds.start);
    const auto time = co_await client::first_record_time(client, partition.partition, next, partition.bounds.end);
    if (time) partition.next_record_time = *time;
  }
}

std::string member_name(const client::GroupMember& member) {
  return printable(fmt::format("{} (client {}, host {})", member.id, member.client_id, member.host));
}

std::string partitions_text(const std::vector<TopicPartition>& partitions) {
  std::string text;
  const std::string* topic = nullptr;
  for (const TopicPartition& partition : partitions) {
    const bool same = topic != nullptr && *topic == partition.topic;
    text += same ? "," : fmt::format("{}{} ", topic == nullptr ? "" : "; ", partition.topic);
    text += std::to_string(partition.partition.value());
    topic = &partition.topic;
  }
  return text.empty() ? "-" : text;
}

}  // namespace naru::command_line
