// DeleteRecords: moves the start of partitions forward. Answered when that is durable at every in-sync replica; the
// files of whole segments before it go soon after.
#include <algorithm>
#include <vector>

#include "broker/api_handlers.h"
#include "broker/handlers/decode_request.h"
#include "broker/leader_hints.h"
#include "kafka_protocol/messages/delete_records_request.h"
#include "kafka_protocol/messages/delete_records_response.h"
#include "replication/partition_maintenance.h"

namespace naru {
namespace {

using Answer = kafka::DeleteRecordsResponse::DeleteRecordsPartitionResult;

// The records are gone here; the replicas follow.
struct BegunDeletion {
  std::shared_ptr<Partition> partition;
  Offset start;
  Answer& answer;
};

Task<Result<Offset>> delete_from(const BrokerServices& services, const HostedPartition& hosted, std::string_view topic,
                                 PartitionIndex index, Offset offset) {
  if (!hosted) co_return failure(why_not_here(services, hosted, topic, index));
  co_return co_await delete_records(hosted.partition, services.scheduler, offset);
}

}  // namespace

Task<Response> handle_delete_records(const BrokerServices& services, const RequestContext& context,
                                     kafka::WireReader& reader) {
  kafka::DeleteRecordsRequest request;
  if (auto malformed = decode_or_close(context, reader, request)) co_return std::move(*malformed);

  const MonotonicTime deadline = context.received + Milliseconds(std::max(request.timeout_ms, 0));
  kafka::DeleteRecordsResponse response;
  std::vector<BegunDeletion> begun;
  response.topics.reserve(request.topics.size());
  for (const auto& topic : request.topics) {
    auto& answered = response.topics.emplace_back();
    answered.name = topic.name;
    const bool allowed = services.authorizer.authorize(context, Operation::remove, ResourceType::topic, topic.name);
    answered.partitions.reserve(topic.partitions.size());
    for (const auto& wanted : topic.partitions) {
      Answer& answer = answered.partitions.emplace_back(Answer{.partition_index = wanted.partition_index});
      const HostedPartition hosted = services.partitions.find(topic.name, wanted.partition_index);
      const auto start = allowed
                             ? co_await delete_from(services, hosted, topic.name, wanted.partition_index, wanted.offset)
                             : failure(Status(ErrorCode::topic_authorization_failed));
      if (start) {
        begun.push_back({hosted.partition, *start, answer});
      } else {
        answer.error_code = start.error().code();
      }
    }
  }
  for (const BegunDeletion& deletion : begun) {
    const auto low = co_await await_deletion(deletion.partition, services.scheduler, deletion.start, deadline,
                                             context.connection->gone());
    if (low) {
      deletion.answer.low_watermark = *low;
    } else {
      deletion.answer.error_code = low.error().code();
    }
  }
  co_return encode_reply(context, response);
}

}  // namespace naru
