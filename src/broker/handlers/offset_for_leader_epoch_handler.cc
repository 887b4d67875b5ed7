// OffsetForLeaderEpoch: where the records of a leader epoch end, so that clients notice that a log was truncated.
#include "broker/api_handlers.h"
#include "broker/handlers/decode_request.h"
#include "broker/leader_hints.h"
#include "broker/turns.h"
#include "kafka_protocol/messages/offset_for_leader_epoch_request.h"
#include "kafka_protocol/messages/offset_for_leader_epoch_response.h"

namespace naru {
namespace {

using WantedEpochEnd = kafka::OffsetForLeaderEpochRequest::OffsetForLeaderPartition;
using EpochEndAnswer = kafka::OffsetForLeaderEpochResponse::EpochEndOffset;

Task<void> look_up(const BrokerServices& services, std::string_view topic, WantedEpochEnd wanted,
                   EpochEndAnswer& answer) {
  const HostedPartition hosted = services.partitions.find(topic, wanted.partition);
  if (!hosted) {
    answer.error_code = why_not_here(services, hosted, topic, wanted.partition).code();
    co_return;
  }
  const auto end = co_await hosted.partition->end_of_epoch(wanted.current_leader_epoch, wanted.leader_epoch);
  if (end) {
    answer.leader_epoch = end->epoch;
    answer.end_offset = end->end_offset;
  } else {
    answer.error_code = end.error().code();
  }
}

}  // namespace

Task<Response> handle_offset_for_leader_epoch(const BrokerServices& services, const RequestContext& context,
                                              kafka::WireReader& reader) {
  kafka::OffsetForLeaderEpochRequest request;
  if (auto malformed = decode_or_close(context, reader, request)) co_return std::move(*malformed);

  Turns turns(services, context);
  kafka::OffsetForLeaderEpochResponse response;
  for (const auto& topic : request.topics) {
    co_await turns.step();
    auto& answered = response.topics.emplace_back();
    answered.topic = topic.topic;
    const bool allowed =
        services.authorizer.authorize(context.caller, Operation::describe, ResourceType::topic, topic.topic);
    for (const auto& wanted : topic.partitions) {
      co_await turns.step();
      EpochEndAnswer answer{.partition = wanted.partition};
      if (allowed) {
        co_await look_up(services, topic.topic, wanted, answer);
      } else {
        answer.error_code = ErrorCode::topic_authorization_failed;
      }
      answered.partitions.push_back(std::move(answer));
    }
  }
  co_await turns.to_worker_if_large();
  co_return encode_reply(context, response);
}

}  // namespace naru
