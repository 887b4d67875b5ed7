// NaruTopicsRemoved: a broker holds nothing any more of some deleted topics.
#include "broker/api_handlers.h"
#include "broker/handlers/decode_request.h"
#include "broker/handlers/from_broker.h"
#include "broker/turns.h"
#include "cluster_control/controller_shell.h"
#include "kafka_protocol/messages/naru_topics_removed_request.h"
#include "kafka_protocol/messages/naru_topics_removed_response.h"

namespace naru {

Task<Response> handle_naru_topics_removed(const BrokerServices& services, const RequestContext& context,
                                          kafka::WireReader& reader) {
  kafka::NaruTopicsRemovedRequest request;
  if (auto malformed = decode_or_close(context, reader, request)) co_return std::move(*malformed);

  kafka::NaruTopicsRemovedResponse response;
  response.error_code = check_sender(services, request.broker_id, request.broker_epoch);
  if (response.error_code != ErrorCode::none) co_return encode_reply(context, response);
  Turns turns(services, context);
  const auto results = co_await services.controller.confirm_deletions(request.broker_id, std::move(request.topic_ids));
  for (const auto& result : results) {
    co_await turns.step();
    if (!result.status.ok()) response.error_code = result.status.code();
  }
  co_return encode_reply(context, response);
}

}  // namespace naru
