// LeaveGroup: members go, or are sent away by an operator.
#include "broker/api_handlers.h"
#include "broker/group_coordinators.h"
#include "broker/handlers/decode_request.h"
#include "broker/handlers/group_words.h"
#include "kafka_protocol/messages/leave_group_request.h"
#include "kafka_protocol/messages/leave_group_response.h"

namespace naru {
namespace {

constexpr int16_t kFirstVersionWithSeveralMembers = 3;

LeaveGroup to_leave(const RequestContext& context, const kafka::LeaveGroupRequest& request) {
  LeaveGroup leave{.group_id = std::string(request.group_id), .members = {}};
  if (context.version < kFirstVersionWithSeveralMembers) {
    leave.members.push_back({.member_id = std::string(request.member_id), .instance_id = {}, .reason = {}});
    return leave;
  }
  for (const auto& member : request.members) {
    leave.members.push_back({.member_id = std::string(member.member_id),
                             .instance_id = to_owned(member.group_instance_id),
                             .reason = std::string(member.reason.value_or(""))});
  }
  return leave;
}

void fill(const RequestContext& context, const LeaveGroup& leave, const LeaveAnswer& answer,
          kafka::LeaveGroupResponse& response) {
  response.error_code = answer.error;
  if (answer.error != ErrorCode::none) return;
  if (context.version < kFirstVersionWithSeveralMembers) {
    response.error_code = answer.members.front();
    return;
  }
  for (size_t i = 0; i < leave.members.size(); ++i) {
    response.members.push_back({.member_id = leave.members[i].member_id,
                                .group_instance_id = leave.members[i].instance_id,
                                .error_code = answer.members[i]});
  }
}

}  // namespace

Task<Response> handle_leave_group(const BrokerServices& services, const RequestContext& context,
                                  kafka::WireReader& reader) {
  kafka::LeaveGroupRequest request;
  if (auto malformed = decode_or_close(context, reader, request)) co_return std::move(*malformed);
  co_await off_the_loop_if_large(services, context, request.members.size());

  kafka::LeaveGroupResponse response;
  response.error_code = group_access(services, context, Operation::read, request.group_id);
  if (response.error_code == ErrorCode::none) {
    const LeaveGroup leave = to_leave(context, request);
    const auto answer = co_await services.groups.ask<LeaveAnswer>(
        request.group_id,
        [leave](GroupCoordinator& groups, Reply<LeaveAnswer> reply, const CoordinatorTime& time,
                CoordinatorOutcome& outcome) mutable {
          groups.leave(std::move(leave), std::move(reply), time, outcome);
        },
        {.elements = leave.members.size(), .whole_group = true});
    co_await off_the_loop_if_large(services, context, leave.members.size());
    fill(context, leave, answer ? *answer : LeaveAnswer{.error = answer.error().code(), .members = {}}, response);
  }
  co_return encode_reply(context, response);
}

}  // namespace naru
