// DescribeGroups: state and members of classic groups.
#include <set>

#include "broker/api_handlers.h"
#include "broker/group_coordinators.h"
#include "broker/handlers/decode_request.h"
#include "broker/handlers/group_words.h"
#include "broker/turns.h"
#include "kafka_protocol/messages/describe_groups_request.h"
#include "kafka_protocol/messages/describe_groups_response.h"

namespace naru {
namespace {

constexpr int16_t kFirstVersionWithNotFound = 6;
constexpr std::string_view kStateOfUnknownGroups = "Dead";

using Group = kafka::DescribeGroupsResponse::DescribedGroup;

// What its members have said, described and encoded: groups may be large.
uint64_t memory_of(const DescribedGroup& group) {
  uint64_t bytes = 0;
  for (const DescribedMember& member : group.members) {
    bytes += 500 + 2 * (member.metadata.size() + member.assignment.size());
  }
  return bytes;
}

void fill(const RequestContext& context, DescribedGroup described, Group& group) {
  if (described.error == ErrorCode::group_id_not_found && context.version < kFirstVersionWithNotFound) {
    group.group_state = kStateOfUnknownGroups;
    return;
  }
  group.error_code = described.error;
  if (described.error != ErrorCode::none) {
    group.group_state = kStateOfUnknownGroups;
    if (context.version >= kFirstVersionWithNotFound) group.error_message = describe(described.error).meaning;
    return;
  }
  group.group_state = std::move(described.state);
  group.protocol_type = std::move(described.protocol_type);
  group.protocol_data = std::move(described.protocol);
  for (DescribedMember& member : described.members) {
    group.members.push_back({.member_id = std::move(member.member_id),
                             .group_instance_id = std::move(member.instance_id),
                             .client_id = std::move(member.client_id),
                             .client_host = std::move(member.client_host),
                             .member_metadata = std::move(member.metadata),
                             .member_assignment = std::move(member.assignment)});
  }
}

void fill_progress(const DescribedGroup& described, Group& group) {
  group.naru_state_since_ms = described.state_since;
  group.naru_waiting_for = described.waiting_for;
}

}  // namespace

Task<Response> handle_describe_groups(const BrokerServices& services, const RequestContext& context,
                                      kafka::WireReader& reader) {
  kafka::DescribeGroupsRequest request;
  if (auto malformed = decode_or_close(context, reader, request)) co_return std::move(*malformed);

  Turns turns(services, context);
  kafka::DescribeGroupsResponse response;
  std::set<std::string_view> answered;  // once each: a short request must not have an answer of gigabytes
  for (const std::string_view group_id : request.groups) {
    co_await turns.step();
    if (!answered.insert(group_id).second) continue;
    Group& group = response.groups.emplace_back();
    group.group_id = group_id;
    group.error_code = group_access(services, context, Operation::describe, group_id);
    if (group.error_code == ErrorCode::none && turns.nobody_waits()) group.error_code = ErrorCode::request_timed_out;
    if (group.error_code != ErrorCode::none) continue;
    auto described = co_await services.groups.ask<DescribedGroup>(
        group_id,
        [id = group.group_id](GroupCoordinator& groups, Reply<DescribedGroup> reply, const CoordinatorTime& time,
                              CoordinatorOutcome& outcome) {
          groups.describe_group(id, std::move(reply), time, outcome);
        },
        {.whole_group = true});
    if (described) {
      turns.add(described->members.size());
      if (!context.memory.take_for_answer(memory_of(*described))) co_return no_memory_for_answer();
      if (request.naru_include_progress) fill_progress(*described, group);
      fill(context, std::move(*described), group);
    } else {
      group.error_code = described.error().code();
    }
    if (request.include_authorized_operations) {
      group.authorized_operations =
          authorized_operations(services.authorizer, context.caller, ResourceType::group, group_id);
    }
  }
  co_await turns.to_worker_if_large();
  co_return encode_reply(context, response);
}

}  // namespace naru
