// JoinGroup: a consumer asks to be a member; answered when the group has its members together.
#include "broker/api_handlers.h"
#include "broker/group_coordinators.h"
#include "broker/handlers/decode_request.h"
#include "broker/handlers/group_words.h"
#include "kafka_protocol/messages/join_group_request.h"
#include "kafka_protocol/messages/join_group_response.h"
#include "platform/random.h"

namespace naru {
namespace {

constexpr size_t kNameInMemberIdMax = 64;
constexpr int16_t kFirstVersionWithMemberIdRequired = 4;
constexpr int16_t kFirstVersionWithNullableProtocol = 7;
constexpr int16_t kFirstVersionWithSkippedAssignment = 9;

// Version 0 has no rebalance timeout, and one of 0 would send a member away before it can sync.
JoinGroup to_join(const BrokerServices& services, const RequestContext& context,
                  const kafka::JoinGroupRequest& request) {
  const std::string client_id(context.client_id.value_or(""));
  JoinGroup join{.group_id = std::string(request.group_id),
                 .member_id = std::string(request.member_id),
                 .instance_id = to_owned(request.group_instance_id),
                 .client_id = client_id,
                 .client_host = "/" + context.caller.address.host,
                 .session_timeout = Milliseconds(request.session_timeout_ms),
                 .rebalance_timeout = Milliseconds(request.rebalance_timeout_ms > 0 ? request.rebalance_timeout_ms
                                                                                    : request.session_timeout_ms),
                 .protocol_type = std::string(request.protocol_type),
                 .protocols = {},
                 // Starts with what the operator called the client, so that lists of members can be read.
                 .fresh_member_id =
                     fmt::format("{}-{}", request.group_instance_id.value_or(client_id).substr(0, kNameInMemberIdMax),
                                 services.random.uuid().to_string()),
                 .must_come_back_with_id = context.version >= kFirstVersionWithMemberIdRequired,
                 .can_skip_assignment = context.version >= kFirstVersionWithSkippedAssignment};
  for (const auto& protocol : request.protocols) {
    join.protocols.push_back({std::string(protocol.name), to_owned(protocol.metadata)});
  }
  return join;
}

// The leader is told what all members have said.
size_t elements_of(const JoinAnswer& answer) {
  constexpr size_t kBytesPerElement = 256;
  size_t elements = answer.members.size();
  for (const JoinedMember& member : answer.members) elements += member.metadata.size() / kBytesPerElement;
  return elements;
}

kafka::JoinGroupResponse to_response(const RequestContext& context, JoinAnswer answer) {
  kafka::JoinGroupResponse response;
  response.error_code = answer.error;
  response.generation_id = answer.generation;
  response.protocol_type = std::move(answer.protocol_type);
  response.protocol_name = std::move(answer.protocol_name);
  if (context.version < kFirstVersionWithNullableProtocol && !response.protocol_name) response.protocol_name = "";
  response.leader = std::move(answer.leader);
  response.skip_assignment = answer.skip_assignment;
  response.member_id = std::move(answer.member_id);
  for (JoinedMember& member : answer.members) {
    response.members.push_back({.member_id = std::move(member.member_id),
                                .group_instance_id = std::move(member.instance_id),
                                .metadata = std::move(member.metadata)});
  }
  return response;
}

}  // namespace

Task<Response> handle_join_group(const BrokerServices& services, const RequestContext& context,
                                 kafka::WireReader& reader) {
  kafka::JoinGroupRequest request;
  if (auto malformed = decode_or_close(context, reader, request)) co_return std::move(*malformed);
  co_await off_the_loop_if_large(services, context, request.protocols.size());

  JoinAnswer refused{.error = group_access(services, context, Operation::read, request.group_id),
                     .member_id = std::string(request.member_id)};
  if (refused.error == ErrorCode::none) {
    auto answer = co_await services.groups.ask<JoinAnswer>(
        request.group_id,
        [join = to_join(services, context, request)](GroupCoordinator& groups, Reply<JoinAnswer> reply,
                                                     const CoordinatorTime& time, CoordinatorOutcome& outcome) mutable {
          groups.join(std::move(join), std::move(reply), time, outcome);
        },
        {.elements = request.protocols.size(), .whole_group = true, .assigns = true}, context.connection->gone());
    context.times.skip_wait(services.clock.now());  // for the other members
    if (answer) co_await off_the_loop_if_large(services, context, elements_of(*answer));
    if (answer) co_return encode_reply(context, to_response(context, std::move(*answer)));
    refused.error = answer.error().code();
  }
  co_return encode_reply(context, to_response(context, std::move(refused)));
}

}  // namespace naru
