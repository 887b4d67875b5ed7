// SyncGroup: the leader brings the assignment, everybody else waits for it.
#include "broker/api_handlers.h"
#include "broker/group_coordinators.h"
#include "broker/handlers/decode_request.h"
#include "broker/handlers/group_words.h"
#include "kafka_protocol/messages/sync_group_request.h"
#include "kafka_protocol/messages/sync_group_response.h"

namespace naru {
namespace {

SyncGroup to_sync(const kafka::SyncGroupRequest& request) {
  SyncGroup sync{.group_id = std::string(request.group_id),
                 .member = {.member_id = std::string(request.member_id),
                            .instance_id = to_owned(request.group_instance_id),
                            .generation = request.generation_id},
                 .protocol_type = to_owned(request.protocol_type),
                 .protocol_name = to_owned(request.protocol_name),
                 .assignments = {}};
  for (const auto& entry : request.assignments) {
    sync.assignments.emplace_back(entry.member_id, to_owned(entry.assignment));
  }
  return sync;
}

}  // namespace

Task<Response> handle_sync_group(const BrokerServices& services, const RequestContext& context,
                                 kafka::WireReader& reader) {
  kafka::SyncGroupRequest request;
  if (auto malformed = decode_or_close(context, reader, request)) co_return std::move(*malformed);
  co_await off_the_loop_if_large(services, context, request.assignments.size());

  kafka::SyncGroupResponse response;
  response.error_code = group_access(services, context, Operation::read, request.group_id);
  if (response.error_code == ErrorCode::none) {
    auto answer = co_await services.groups.ask<SyncAnswer>(
        request.group_id,
        [sync = to_sync(request)](GroupCoordinator& groups, Reply<SyncAnswer> reply, const CoordinatorTime& time,
                                  CoordinatorOutcome& outcome) mutable {
          groups.sync(std::move(sync), std::move(reply), time, outcome);
        },
        {.elements = request.assignments.size(), .whole_group = true}, context.connection->gone());
    context.times.skip_wait(services.clock.now());  // for the leader
    response.error_code = answer ? answer->error : answer.error().code();
    if (answer) {
      response.protocol_type = std::move(answer->protocol_type);
      response.protocol_name = std::move(answer->protocol_name);
      response.assignment = std::move(answer->assignment);
    }
  }
  co_return encode_reply(context, response);
}

}  // namespace naru
