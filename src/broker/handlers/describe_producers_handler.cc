// DescribeProducers: the idempotent producers that a partition remembers.
#include <set>

#include "broker/api_handlers.h"
#include "broker/handlers/decode_request.h"
#include "broker/leader_hints.h"
#include "broker/turns.h"
#include "kafka_protocol/messages/describe_producers_request.h"
#include "kafka_protocol/messages/describe_producers_response.h"

namespace naru {
namespace {

using DescribedProducers = kafka::DescribeProducersResponse::PartitionResponse;

// Each of them may have thousands of producers to tell of.
using Seen = std::set<std::pair<std::string_view, PartitionIndex>>;

Status why_not(const BrokerServices& services, const RequestContext& context, std::string_view topic,
               PartitionIndex index, const HostedPartition& hosted, Seen& seen) {
  if (!services.authorizer.authorize(context.caller, Operation::read, ResourceType::topic, topic)) {
    return Status(ErrorCode::topic_authorization_failed);
  }
  if (!seen.emplace(topic, index).second) {
    return Status(ErrorCode::invalid_request, "the request names this partition more than once");
  }
  return hosted ? Status() : why_not_here(services, hosted, topic, index);
}

void fill(const Result<std::vector<Producer>>& producers, DescribedProducers& described) {
  if (!producers) {
    described.error_code = producers.error().code();
    if (!producers.error().message().empty()) described.error_message = producers.error().message();
    return;
  }
  for (const Producer& producer : *producers) {
    described.active_producers.push_back({.producer_id = producer.id,
                                          .producer_epoch = producer.epoch.value(),
                                          .last_sequence = producer.last_sequence(),
                                          .last_timestamp = producer.last_timestamp,
                                          .coordinator_epoch = producer.coordinator_epoch,
                                          .current_txn_start_offset = producer.transaction_start});
  }
}

}  // namespace

Task<Response> handle_describe_producers(const BrokerServices& services, const RequestContext& context,
                                         kafka::WireReader& reader) {
  kafka::DescribeProducersRequest request;
  if (auto malformed = decode_or_close(context, reader, request)) co_return std::move(*malformed);

  Turns turns(services, context);
  Seen seen;
  kafka::DescribeProducersResponse response;
  for (const auto& topic : request.topics) {
    co_await turns.step();
    auto& answered = response.topics.emplace_back();
    answered.name = topic.name;
    for (const PartitionIndex index : topic.partition_indexes) {
      co_await turns.step();
      const HostedPartition hosted = services.partitions.find(topic.name, index);
      DescribedProducers described;
      described.partition_index = index;
      if (const Status refused = why_not(services, context, topic.name, index, hosted, seen); !refused.ok()) {
        fill(failure(refused), described);
      } else {
        fill(co_await hosted.partition->producers(), described);
      }
      const uint64_t memory = described.active_producers.size() * 100;
      if (!context.memory.take_for_answer(memory)) co_return no_memory_for_answer();
      answered.partitions.push_back(std::move(described));
    }
  }
  co_await turns.to_worker_if_large();
  co_return encode_reply(context, response);
}

}  // namespace naru
