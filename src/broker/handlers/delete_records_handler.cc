// DeleteRecords: moves the start of partitions forward. Answered when that is durable; the files of whole segments
// before it go soon after.
#include "broker/api_handlers.h"
#include "broker/handlers/decode_request.h"
#include "kafka_protocol/messages/delete_records_request.h"
#include "kafka_protocol/messages/delete_records_response.h"
#include "replication/partition_maintenance.h"

namespace naru {
namespace {

using Answer = kafka::DeleteRecordsResponse::DeleteRecordsPartitionResult;

Task<void> delete_from(const BrokerServices& services, const HostedPartition& hosted, Offset offset, Answer& answer) {
  if (!hosted) {
    answer.error_code = hosted.why_missing(ErrorCode::unknown_topic_or_partition).code();
    co_return;
  }
  const auto start = co_await delete_records(hosted.partition, services.scheduler, offset);
  if (start) {
    answer.low_watermark = *start;
  } else {
    answer.error_code = start.error().code();
  }
}

}  // namespace

Task<Response> handle_delete_records(const BrokerServices& services, const RequestContext& context,
                                     kafka::WireReader& reader) {
  kafka::DeleteRecordsRequest request;
  if (auto malformed = decode_or_close(context, reader, request)) co_return std::move(*malformed);

  kafka::DeleteRecordsResponse response;
  for (const auto& topic : request.topics) {
    auto& answered = response.topics.emplace_back();
    answered.name = topic.name;
    const bool allowed = services.authorizer.authorize(context, Operation::remove, ResourceType::topic, topic.name);
    for (const auto& wanted : topic.partitions) {
      Answer answer{.partition_index = wanted.partition_index};
      if (!allowed) {
        answer.error_code = ErrorCode::topic_authorization_failed;
      } else {
        co_await delete_from(services, services.partitions.find(topic.name, wanted.partition_index), wanted.offset,
                             answer);
      }
      answered.partitions.push_back(std::move(answer));
    }
  }
  co_return encode_reply(context, response);
}

}  // namespace naru
