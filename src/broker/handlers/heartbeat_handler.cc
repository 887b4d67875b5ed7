// Heartbeat: a member is alive, and hears whether it has to join again.
#include "broker/api_handlers.h"
#include "broker/group_coordinators.h"
#include "broker/handlers/decode_request.h"
#include "broker/handlers/group_words.h"
#include "kafka_protocol/messages/heartbeat_request.h"
#include "kafka_protocol/messages/heartbeat_response.h"

namespace naru {

Task<Response> handle_heartbeat(const BrokerServices& services, const RequestContext& context,
                                kafka::WireReader& reader) {
  kafka::HeartbeatRequest request;
  if (auto malformed = decode_or_close(context, reader, request)) co_return std::move(*malformed);

  kafka::HeartbeatResponse response;
  response.error_code = group_access(services, context, Operation::read, request.group_id);
  if (response.error_code == ErrorCode::none) {
    GroupHeartbeat heartbeat{.group_id = std::string(request.group_id),
                             .member = {.member_id = std::string(request.member_id),
                                        .instance_id = to_owned(request.group_instance_id),
                                        .generation = request.generation_id}};
    const auto answer = co_await services.groups.ask<ErrorCode>(
        request.group_id,
        [heartbeat = std::move(heartbeat)](GroupCoordinator& groups, Reply<ErrorCode> reply,
                                           const CoordinatorTime& time, CoordinatorOutcome& outcome) mutable {
          groups.heartbeat(std::move(heartbeat), std::move(reply), time, outcome);
        });
    response.error_code = answer ? *answer : answer.error().code();
  }
  co_return encode_reply(context, response);
}

}  // namespace naru
