// NaruOfflineLogs: a broker tells which of its logs it cannot use.
#include "broker/api_handlers.h"
#include "broker/handlers/decode_request.h"
#include "broker/handlers/from_broker.h"
#include "broker/turns.h"
#include "cluster_control/controller_shell.h"
#include "kafka_protocol/messages/naru_offline_logs_request.h"
#include "kafka_protocol/messages/naru_offline_logs_response.h"

namespace naru {

Task<Response> handle_naru_offline_logs(const BrokerServices& services, const RequestContext& context,
                                        kafka::WireReader& reader) {
  kafka::NaruOfflineLogsRequest request;
  if (auto malformed = decode_or_close(context, reader, request)) co_return std::move(*malformed);

  kafka::NaruOfflineLogsResponse response;
  response.error_code = check_sender(services, request.broker_id, request.broker_epoch);
  if (response.error_code != ErrorCode::none) co_return encode_reply(context, response);
  Turns turns(services, context);
  PartitionIds partitions;
  for (const auto& topic : request.topics) {
    co_await turns.step();
    for (const PartitionIndex index : topic.partitions) {
      co_await turns.step();
      partitions.emplace(topic.topic_id, index);
    }
  }
  const Status status =
      co_await services.controller.report_offline_logs(request.broker_id, request.broker_epoch, std::move(partitions));
  response.error_code = status.code();
  co_return encode_reply(context, response);
}

}  // namespace naru
