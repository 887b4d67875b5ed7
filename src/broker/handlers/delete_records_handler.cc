// DeleteRecords: moves the start of partitions forward. Answered when that is durable at every in-sync replica; the
// files of whole segments before it go soon after.
#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "broker/api_handlers.h"
#include "broker/handlers/decode_request.h"
#include "broker/leader_hints.h"
#include "broker/turns.h"
#include "foundation/request_canary.h"
#include "kafka_protocol/messages/delete_records_request.h"
#include "kafka_protocol/messages/delete_records_response.h"
#include "replication/partition_maintenance.h"

namespace naru {
namespace {

using Answer = kafka::DeleteRecordsResponse::DeleteRecordsPartitionResult;

// Deletions begin in the time that the request gives to its replicas, and in this one at least.
constexpr Milliseconds kTimeToBegin{5000};

// The records are gone here; the replicas follow.
struct BegunDeletion {
  std::shared_ptr<Partition> partition;
  Offset start;
  Answer& answer;
};

// A partition that the request names, and where its answer belongs.
struct Deletion {
  std::string_view topic;
  PartitionIndex index;
  Offset offset;
  std::pair<size_t, size_t> place;  // (topic, partition) in the response
};

// Each partition once, as it was named last: each deletion is a write that has to be durable.
Task<std::vector<Deletion>> deletions_of(const BrokerServices& services, const RequestContext& context,
                                         const kafka::DeleteRecordsRequest& request,
                                         kafka::DeleteRecordsResponse& response, Turns& turns) {
  std::vector<Deletion> deletions;
  std::map<std::pair<std::string_view, PartitionIndex>, size_t> known;
  for (const auto& topic : request.topics) {
    co_await turns.step();
    auto& answered = response.topics.emplace_back();
    answered.name = topic.name;
    const bool allowed =
        services.authorizer.authorize(context.caller, Operation::remove, ResourceType::topic, topic.name);
    for (const auto& wanted : topic.partitions) {
      co_await turns.step();
      const auto [at, is_new] = known.try_emplace({topic.name, wanted.partition_index}, deletions.size());
      if (!is_new && !is_planted(RequestCanary::unlimited_deletions)) {
        if (allowed) deletions[at->second].offset = wanted.offset;  // a topic is allowed everywhere or nowhere
        continue;
      }
      answered.partitions.push_back({.partition_index = wanted.partition_index});
      const std::pair place(response.topics.size() - 1, answered.partitions.size() - 1);
      if (!allowed) answered.partitions.back().error_code = ErrorCode::topic_authorization_failed;
      if (allowed) deletions.push_back({topic.name, wanted.partition_index, wanted.offset, place});
    }
  }
  co_return deletions;
}

Task<Result<Offset>> delete_from(const BrokerServices& services, const HostedPartition& hosted,
                                 const Deletion& deletion) {
  if (!hosted) co_return failure(why_not_here(services, hosted, deletion.topic, deletion.index));
  co_return co_await delete_records(hosted.partition, services.scheduler, deletion.offset);
}

}  // namespace

Task<Response> handle_delete_records(const BrokerServices& services, const RequestContext& context,
                                     kafka::WireReader& reader) {
  kafka::DeleteRecordsRequest request;
  if (auto malformed = decode_or_close(context, reader, request)) co_return std::move(*malformed);

  const Milliseconds timeout(std::max(request.timeout_ms, 0));
  const MonotonicTime begin_until = context.received + std::max(timeout, kTimeToBegin);
  Turns turns(services, context);
  kafka::DeleteRecordsResponse response;
  const std::vector<Deletion> deletions = co_await deletions_of(services, context, request, response, turns);
  const auto answer_to = [&](const Deletion& deletion) -> Answer& {
    return response.topics[deletion.place.first].partitions[deletion.place.second];
  };
  std::vector<BegunDeletion> begun;
  for (const Deletion& deletion : deletions) {
    co_await turns.step();
    Answer& answer = answer_to(deletion);
    const bool too_late = turns.nobody_waits() || services.clock.now() >= begin_until;
    if (too_late && !is_planted(RequestCanary::unlimited_deletions)) {
      answer.error_code = ErrorCode::request_timed_out;
      continue;
    }
    const HostedPartition hosted = services.partitions.find(deletion.topic, deletion.index);
    const auto start = co_await delete_from(services, hosted, deletion);
    if (start) {
      begun.push_back({hosted.partition, *start, answer});
    } else {
      answer.error_code = start.error().code();
    }
  }
  const MonotonicTime deadline = context.received + timeout;
  for (const BegunDeletion& deletion : begun) {
    co_await turns.step();
    const auto low = co_await await_deletion(deletion.partition, services.scheduler, deletion.start, deadline,
                                             context.connection->gone());
    if (low) {
      deletion.answer.low_watermark = *low;
    } else {
      deletion.answer.error_code = low.error().code();
    }
  }
  co_await turns.to_worker_if_large();
  co_return encode_reply(context, response);
}

}  // namespace naru
