// NaruProducers: what a leader knows of producers, for followers whose logs begin anew.
#include "broker/api_handlers.h"
#include "broker/handlers/decode_request.h"
#include "broker/handlers/from_broker.h"
#include "broker/hosted_partitions.h"
#include "broker/turns.h"
#include "kafka_protocol/messages/naru_producers_request.h"
#include "kafka_protocol/messages/naru_producers_response.h"

namespace naru {
namespace {

// An answer with more is not begun; a single partition may have more.
constexpr size_t kAnswerBytes = 4u << 20;

}  // namespace

Task<Response> handle_naru_producers(const BrokerServices& services, const RequestContext& context,
                                     kafka::WireReader& reader) {
  kafka::NaruProducersRequest request;
  if (auto malformed = decode_or_close(context, reader, request)) co_return std::move(*malformed);

  kafka::NaruProducersResponse response;
  response.error_code = check_sender(services, request.broker_id, request.broker_epoch);
  if (response.error_code != ErrorCode::none) co_return encode_reply(context, response);
  Turns turns(services, context);
  size_t bytes = 0;
  for (const auto& topic : request.topics) {
    co_await turns.step();
    auto& answered = response.topics.emplace_back();
    answered.topic_id = topic.topic_id;
    for (const auto& wanted : topic.partitions) {
      co_await turns.step();
      auto& told = answered.partitions.emplace_back();
      told.partition_index = wanted.partition_index;
      const HostedPartition hosted = services.partitions.find(topic.topic_id, wanted.partition_index);
      if (bytes >= kAnswerBytes || !hosted) {
        told.error_code = hosted ? ErrorCode::request_timed_out : ErrorCode::not_leader_or_follower;
        continue;
      }
      auto producers = co_await hosted.partition->producers_at_start(wanted.current_leader_epoch);
      if (!producers) {
        told.error_code = producers.error().code();
        continue;
      }
      told.log_start_offset = producers->start;
      told.snapshot = std::move(producers->snapshot);
      bytes += told.snapshot.size();
    }
  }
  co_await turns.to_worker_if_large();
  co_return encode_reply(context, response);
}

}  // namespace naru
