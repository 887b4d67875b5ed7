#include "client/group_admin.h"

#include <algorithm>
#include <span>

#include "client/broker_error.h"
#include "client/coordinator.h"
#include "client/group_description.h"
#include "kafka_protocol/messages/consumer_group_describe_request.h"
#include "kafka_protocol/messages/delete_groups_request.h"
#include "kafka_protocol/messages/delete_groups_response.h"
#include "kafka_protocol/messages/describe_groups_request.h"
#include "kafka_protocol/messages/list_groups_request.h"
#include "kafka_protocol/messages/list_groups_response.h"

namespace naru::client {
namespace {

using Described = kafka::DescribeGroupsResponse::DescribedGroup;
using ConsumerDescribed = kafka::ConsumerGroupDescribeResponse::DescribedGroup;

// From 4 on states are told, and can be asked for.
constexpr VersionRange kListVersions{.min = 4};
constexpr const char* kUnknownState = "Dead";
// Of one request, so that its answer stays far below what a client accepts.
constexpr size_t kDescribedAtOnce = 500;

Task<Result<std::vector<ListedGroup>>> list_groups_at(ClusterClient& client, BrokerId broker,
                                                      const std::vector<std::string>& states) {
  NARU_CO_TRY_ASSIGN(const Connection connection, co_await client.broker(broker));
  kafka::ListGroupsRequest request;
  request.states_filter.assign(states.begin(), states.end());
  NARU_CO_TRY_ASSIGN(auto response, co_await connection->call<kafka::ListGroupsResponse>(
                                        request, client.options().request_timeout, kListVersions));
  NARU_CO_TRY(broker_error(response.error_code, fmt::format("groups of broker {}", broker)));
  std::vector<ListedGroup> groups;
  for (auto& group : response.groups) {
    groups.push_back({.id = std::move(group.group_id),
                      .type = std::move(group.group_type),
                      .state = std::move(group.group_state),
                      .protocol_type = std::move(group.protocol_type),
                      .coordinator = broker});
  }
  co_return groups;
}

// Older brokers say "Dead" of what they do not know.
Status described_error(const Described& described) {
  const bool unknown = described.error_code == ErrorCode::none && described.group_state == kUnknownState;
  return group_error(unknown ? ErrorCode::group_id_not_found : described.error_code, described.group_id,
                     described.error_message);
}

Task<Result<kafka::DescribeGroupsResponse>> ask_to_describe(ClusterClient& client, const Connection& connection,
                                                            std::span<const std::string> group_ids) {
  kafka::DescribeGroupsRequest request;
  request.groups.assign(group_ids.begin(), group_ids.end());
  request.naru_include_progress = true;
  return connection->call<kafka::DescribeGroupsResponse>(request, client.options().request_timeout);
}

// Brokers that do not know such groups have none: an answer without groups.
Task<Result<kafka::ConsumerGroupDescribeResponse>> ask_for_consumer_groups(ClusterClient& client, Connection connection,
                                                                           std::span<const std::string> group_ids) {
  kafka::ConsumerGroupDescribeRequest request;
  request.group_ids.assign(group_ids.begin(), group_ids.end());
  request.naru_include_progress = true;
  auto response =
      co_await connection->call<kafka::ConsumerGroupDescribeResponse>(request, client.options().request_timeout);
  if (!response && response.error() == ErrorCode::unsupported_version) {
    co_return kafka::ConsumerGroupDescribeResponse();
  }
  co_return response;
}

Task<Result<GroupDescription>> describe_consumer_group_at(ClusterClient& client, Coordinator coordinator,
                                                          const std::string& group_id) {
  NARU_CO_TRY_ASSIGN(auto response, co_await ask_for_consumer_groups(client, coordinator.connection, {&group_id, 1}));
  for (ConsumerDescribed& group : response.groups) {
    if (group.group_id != group_id) continue;
    if (group.error_code == ErrorCode::unsupported_version) break;  // it could, but is told not to have such groups
    NARU_CO_TRY(group_error(group.error_code, group_id, group.error_message));
    co_return to_description(std::move(group), coordinator.id);
  }
  co_return failure(group_error(ErrorCode::group_id_not_found, group_id));
}

// Which type a group has need not be known: each of the two questions finds nothing of the other's groups.
Task<Result<GroupDescription>> describe_group_at(ClusterClient& client, Coordinator coordinator,
                                                 const std::string& group_id) {
  NARU_CO_TRY_ASSIGN(auto response, co_await ask_to_describe(client, coordinator.connection, {&group_id, 1}));
  for (Described& group : response.groups) {
    if (group.group_id != group_id) continue;
    Status status = described_error(group);
    if (status == ErrorCode::group_id_not_found) {
      co_return co_await describe_consumer_group_at(client, std::move(coordinator), group_id);
    }
    NARU_CO_TRY(std::move(status));
    co_return to_description(std::move(group), coordinator.id);
  }
  co_return failure(ErrorCode::network_exception, "group {}: the broker's answer leaves it out", group_id);
}

Task<Status> describe_some_groups(ClusterClient& client, BrokerId coordinator, std::span<const std::string> group_ids,
                                  std::vector<GroupDescription>& groups) {
  NARU_CO_TRY_ASSIGN(const Connection connection, co_await client.broker(coordinator));
  NARU_CO_TRY_ASSIGN(auto response, co_await ask_to_describe(client, connection, group_ids));
  std::vector<std::string> others;
  for (Described& group : response.groups) {
    const Status status = described_error(group);
    if (status.ok()) groups.push_back(to_description(std::move(group), coordinator));
    if (status == ErrorCode::group_id_not_found) others.push_back(std::move(group.group_id));
  }
  if (others.empty()) co_return Status();
  NARU_CO_TRY_ASSIGN(auto found, co_await ask_for_consumer_groups(client, connection, others));
  for (ConsumerDescribed& group : found.groups) {
    if (group.error_code == ErrorCode::none) groups.push_back(to_description(std::move(group), coordinator));
  }
  co_return Status();
}

Task<Status> delete_group_at(ClusterClient& client, Coordinator coordinator, const std::string& group_id) {
  kafka::DeleteGroupsRequest request;
  request.groups_names = {group_id};
  NARU_CO_TRY_ASSIGN(const auto response, co_await coordinator.connection->call<kafka::DeleteGroupsResponse>(
                                              request, client.options().request_timeout));
  for (const auto& result : response.results) {
    if (result.group_id == group_id) co_return group_error(result.error_code, group_id);
  }
  co_return error(ErrorCode::network_exception, "group {}: the broker's answer leaves it out", group_id);
}

}  // namespace

const GroupMember* GroupDescription::find_member(const std::string& member_id) const {
  const auto found = std::ranges::find(members, member_id, &GroupMember::id);
  return found == members.end() ? nullptr : &*found;
}

Status group_error(ErrorCode code, std::string_view group_id, const std::optional<std::string>& words) {
  const bool unknown = code == ErrorCode::group_id_not_found;
  return broker_error(code, fmt::format("group {}", group_id),
                      unknown ? std::optional<std::string>("there is no such group") : words);
}

Task<Result<std::vector<ListedGroup>>> list_groups(ClusterClient& client, std::vector<std::string> states) {
  NARU_CO_TRY(co_await client.refresh({}));
  const std::vector<BrokerInfo> brokers = client.metadata().brokers;
  const MonotonicTime deadline = client.seams().clock.now() + client.options().request_timeout;
  std::vector<ListedGroup> all;
  for (const BrokerInfo& broker : brokers) {
    auto groups = co_await list_groups_at(client, broker.id, states);
    while (!groups && coordinator_may_answer_soon(groups.error().code()) && client.seams().clock.now() < deadline) {
      co_await client.back_off();
      groups = co_await list_groups_at(client, broker.id, states);
    }
    if (!groups) co_return failure(std::move(groups).error());
    std::ranges::move(*groups, std::back_inserter(all));
  }
  std::ranges::sort(all, {}, &ListedGroup::id);
  co_return all;
}

Task<Result<GroupDescription>> describe_group(ClusterClient& client, std::string group_id, Duration patience) {
  co_return co_await at_coordinator(client, CoordinatorKind::group, group_id, patience, [&](Coordinator coordinator) {
    return describe_group_at(client, std::move(coordinator), group_id);
  });
}

Task<Result<std::vector<GroupDescription>>> describe_groups(ClusterClient& client, BrokerId coordinator,
                                                            std::vector<std::string> group_ids) {
  std::vector<GroupDescription> groups;
  for (std::span<const std::string> rest = group_ids; !rest.empty();) {
    const auto some = rest.first(std::min(rest.size(), kDescribedAtOnce));
    rest = rest.subspan(some.size());
    NARU_CO_TRY(co_await describe_some_groups(client, coordinator, some, groups));
  }
  co_return groups;
}

Task<Status> delete_group(ClusterClient& client, std::string group_id) {
  co_return co_await at_coordinator(
      client, CoordinatorKind::group, group_id, client.options().request_timeout,
      [&](Coordinator coordinator) { return delete_group_at(client, std::move(coordinator), group_id); });
}

}  // namespace naru::client
