#include "client/group_offsets.h"

#include <algorithm>
#include <span>

#include "client/broker_error.h"
#include "client/coordinator.h"
#include "client/group_admin.h"
#include "kafka_protocol/messages/offset_commit_request.h"
#include "kafka_protocol/messages/offset_commit_response.h"
#include "kafka_protocol/messages/offset_delete_request.h"
#include "kafka_protocol/messages/offset_delete_response.h"
#include "kafka_protocol/messages/offset_fetch_request.h"
#include "kafka_protocol/messages/offset_fetch_response.h"

namespace naru::client {
namespace {

using FetchedGroup = kafka::OffsetFetchResponse::OffsetFetchResponseGroup;

// From 8 on several groups can be asked for; from 10 on topics have ids instead of names.
constexpr VersionRange kFetchVersions{.min = 8, .max = 9};
constexpr VersionRange kCommitVersions{.min = 2, .max = 9};
constexpr size_t kOffsetGroupsAtOnce = 100;

Task<Result<kafka::OffsetFetchResponse>> ask_for_offsets(ClusterClient& client, const Connection& connection,
                                                         std::span<const std::string> group_ids,
                                                         bool tell_pending = false) {
  kafka::OffsetFetchRequest request;
  request.require_stable = request.naru_include_pending = tell_pending;
  for (const std::string& group_id : group_ids) {
    auto& group = request.groups.emplace_back();
    group.group_id = group_id;
    group.topics.reset();  // all of them
  }
  return connection->call<kafka::OffsetFetchResponse>(request, client.options().request_timeout, kFetchVersions);
}

// The first partition that cannot be read spoils the group: a lag without it would be wrong.
Result<CommittedOffsets> offsets_of(const FetchedGroup& group) {
  NARU_TRY(group_error(group.error_code, group.group_id));
  CommittedOffsets offsets;
  for (const auto& topic : group.topics) {
    for (const auto& partition : topic.partitions) {
      TopicPartition name{topic.name, partition.partition_index};
      NARU_TRY(broker_error(partition.error_code, fmt::format("group {}, {}", group.group_id, name.to_string())));
      if (partition.committed_offset >= Offset(0)) offsets[std::move(name)] = partition.committed_offset;
    }
  }
  return offsets;
}

Result<FetchedGroup> find_group(kafka::OffsetFetchResponse response, const std::string& group_id) {
  for (FetchedGroup& group : response.groups) {
    if (group.group_id == group_id) return std::move(group);
  }
  return failure(ErrorCode::network_exception, "group {}: the broker's answer leaves it out", group_id);
}

Task<Result<CommittedOffsets>> fetch_offsets_at(ClusterClient& client, Coordinator coordinator,
                                                const std::string& group_id) {
  NARU_CO_TRY_ASSIGN(auto response, co_await ask_for_offsets(client, coordinator.connection, {&group_id, 1}));
  NARU_CO_TRY_ASSIGN(const FetchedGroup group, find_group(std::move(response), group_id));
  co_return offsets_of(group);
}

using PendingProducers = std::map<TopicPartition, ProducerId>;

Task<Result<PendingProducers>> find_pending_at(ClusterClient& client, Coordinator coordinator,
                                               const std::string& group_id) {
  NARU_CO_TRY_ASSIGN(auto response, co_await ask_for_offsets(client, coordinator.connection, {&group_id, 1}, true));
  NARU_CO_TRY_ASSIGN(const FetchedGroup group, find_group(std::move(response), group_id));
  NARU_CO_TRY(group_error(group.error_code, group_id));
  PendingProducers pending;
  for (const auto& topic : group.topics) {
    for (const auto& partition : topic.partitions) {
      if (partition.error_code != ErrorCode::unstable_offset_commit) continue;
      pending[{topic.name, partition.partition_index}] = partition.naru_pending_producer_id;
    }
  }
  co_return pending;
}

// An error, or an answer that leaves partitions out, is an error of the whole.
template <class Response>
Status check_partitions(const Response& response, const std::string& group_id, size_t expected) {
  size_t answered = 0;
  for (const auto& topic : response.topics) {
    for (const auto& partition : topic.partitions) {
      const TopicPartition name{topic.name, partition.partition_index};
      NARU_TRY(broker_error(partition.error_code, fmt::format("group {}, {}", group_id, name.to_string())));
      ++answered;
    }
  }
  if (answered == expected) return {};
  return error(ErrorCode::network_exception, "group {}: the broker's answer leaves partitions out", group_id);
}

Task<Status> commit_offsets_at(ClusterClient& client, Coordinator coordinator, const std::string& group_id,
                               const CommittedOffsets& offsets) {
  kafka::OffsetCommitRequest request;
  request.group_id = group_id;
  for (const auto& [partition, offset] : offsets) {
    if (request.topics.empty() || request.topics.back().name != partition.topic) {
      request.topics.emplace_back().name = partition.topic;
    }
    auto& wanted = request.topics.back().partitions.emplace_back();
    wanted.partition_index = partition.partition;
    wanted.committed_offset = offset;
    wanted.committed_metadata = "";
  }
  NARU_CO_TRY_ASSIGN(const auto response, co_await coordinator.connection->call<kafka::OffsetCommitResponse>(
                                              request, client.options().request_timeout, kCommitVersions));
  co_return check_partitions(response, group_id, offsets.size());
}

Task<Status> delete_offsets_at(ClusterClient& client, Coordinator coordinator, const std::string& group_id,
                               const std::vector<TopicPartition>& partitions) {
  kafka::OffsetDeleteRequest request;
  request.group_id = group_id;
  for (const TopicPartition& partition : partitions) {
    if (request.topics.empty() || request.topics.back().name != partition.topic) {
      request.topics.emplace_back().name = partition.topic;
    }
    request.topics.back().partitions.push_back({.partition_index = partition.partition});
  }
  NARU_CO_TRY_ASSIGN(const auto response, co_await coordinator.connection->call<kafka::OffsetDeleteResponse>(
                                              request, client.options().request_timeout));
  NARU_CO_TRY(group_error(response.error_code, group_id));
  co_return check_partitions(response, group_id, partitions.size());
}

}  // namespace

Task<Result<CommittedOffsets>> fetch_group_offsets(ClusterClient& client, std::string group_id) {
  co_return co_await at_coordinator(
      client, CoordinatorKind::group, group_id, client.options().request_timeout,
      [&](Coordinator coordinator) { return fetch_offsets_at(client, std::move(coordinator), group_id); });
}

Task<Result<std::map<TopicPartition, ProducerId>>> find_pending_offsets(ClusterClient& client, std::string group_id) {
  co_return co_await at_coordinator(
      client, CoordinatorKind::group, group_id, client.options().request_timeout,
      [&](Coordinator coordinator) { return find_pending_at(client, std::move(coordinator), group_id); });
}

Task<Result<std::map<std::string, CommittedOffsets>>> fetch_offsets_of_groups(ClusterClient& client,
                                                                              BrokerId coordinator,
                                                                              std::vector<std::string> group_ids) {
  NARU_CO_TRY_ASSIGN(const Connection connection, co_await client.broker(coordinator));
  std::map<std::string, CommittedOffsets> all;
  for (std::span<const std::string> rest = group_ids; !rest.empty();) {
    const auto some = rest.first(std::min(rest.size(), kOffsetGroupsAtOnce));
    rest = rest.subspan(some.size());
    NARU_CO_TRY_ASSIGN(const auto response, co_await ask_for_offsets(client, connection, some));
    for (const FetchedGroup& group : response.groups) {
      if (auto offsets = offsets_of(group)) all[group.group_id] = std::move(*offsets);
    }
  }
  co_return all;
}

Task<Status> commit_group_offsets(ClusterClient& client, std::string group_id, CommittedOffsets offsets) {
  co_return co_await at_coordinator(
      client, CoordinatorKind::group, group_id, client.options().request_timeout,
      [&](Coordinator coordinator) { return commit_offsets_at(client, std::move(coordinator), group_id, offsets); });
}

Task<Status> delete_group_offsets(ClusterClient& client, std::string group_id, std::vector<TopicPartition> partitions) {
  co_return co_await at_coordinator(
      client, CoordinatorKind::group, group_id, client.options().request_timeout,
      [&](Coordinator coordinator) { return delete_offsets_at(client, std::move(coordinator), group_id, partitions); });
}

}  // namespace naru::client
