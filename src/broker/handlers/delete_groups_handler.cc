// DeleteGroups: groups without members, and their offsets.
#include <set>

#include "broker/api_handlers.h"
#include "broker/group_coordinators.h"
#include "broker/handlers/decode_request.h"
#include "broker/handlers/group_words.h"
#include "broker/turns.h"
#include "kafka_protocol/messages/delete_groups_request.h"
#include "kafka_protocol/messages/delete_groups_response.h"

namespace naru {

Task<Response> handle_delete_groups(const BrokerServices& services, const RequestContext& context,
                                    kafka::WireReader& reader) {
  kafka::DeleteGroupsRequest request;
  if (auto malformed = decode_or_close(context, reader, request)) co_return std::move(*malformed);

  Turns turns(services, context);
  kafka::DeleteGroupsResponse response;
  std::set<std::string_view> answered;  // once each: every deletion is a write
  for (const std::string_view group_id : request.groups_names) {
    co_await turns.step();
    if (!answered.insert(group_id).second) continue;
    ErrorCode code = group_access(services, context, Operation::remove, group_id);
    if (code == ErrorCode::none && turns.nobody_waits()) code = ErrorCode::request_timed_out;
    if (code == ErrorCode::none) {
      const auto deleted = co_await services.groups.ask<ErrorCode>(
          group_id,
          [id = std::string(group_id)](GroupCoordinator& groups, Reply<ErrorCode> reply, const CoordinatorTime& time,
                                       CoordinatorOutcome& outcome) {
            groups.delete_group(id, std::move(reply), time, outcome);
          },
          {.whole_group = true});
      code = deleted ? *deleted : deleted.error().code();
    }
    response.results.push_back({.group_id = std::string(group_id), .error_code = code});
  }
  co_await turns.to_worker_if_large();
  co_return encode_reply(context, response);
}

}  // namespace naru
