// AlterPartition: a leader asks the controller for another in-sync set.
#include <map>

#include "broker/api_handlers.h"
#include "broker/handlers/decode_request.h"
#include "broker/turns.h"
#include "cluster_control/controller_shell.h"
#include "kafka_protocol/messages/alter_partition_request.h"
#include "kafka_protocol/messages/alter_partition_response.h"

namespace naru {
namespace {

Task<std::vector<IsrChange>> changes_of(const kafka::AlterPartitionRequest& request, Turns& turns) {
  std::vector<IsrChange> changes;
  for (const auto& topic : request.topics) {
    co_await turns.step();
    for (const auto& partition : topic.partitions) {
      co_await turns.step();
      IsrChange& change = changes.emplace_back();
      change.topic_id = topic.topic_id;
      change.index = partition.partition_index;
      change.leader_epoch = partition.leader_epoch;
      change.partition_epoch = partition.partition_epoch;
      for (const auto& member : partition.new_isr_with_epochs) {
        co_await turns.step();
        change.isr.push_back({member.broker_id, member.broker_epoch});
      }
    }
  }
  co_return changes;
}

}  // namespace

Task<Response> handle_alter_partition(const BrokerServices& services, const RequestContext& context,
                                      kafka::WireReader& reader) {
  kafka::AlterPartitionRequest request;
  if (auto malformed = decode_or_close(context, reader, request)) co_return std::move(*malformed);

  kafka::AlterPartitionResponse response;
  Turns turns(services, context);
  const std::vector<IsrChange> changes = co_await changes_of(request, turns);
  const auto results = co_await services.controller.alter_partitions(request.broker_id, request.broker_epoch, changes);
  if (!results) {
    response.error_code = results.error().code();
    co_return encode_reply(context, response);
  }
  for (size_t i = 0; i < changes.size(); ++i) {
    co_await turns.step();
    if (response.topics.empty() || response.topics.back().topic_id != changes[i].topic_id) {
      response.topics.push_back({.topic_id = changes[i].topic_id});
    }
    const AlterPartitionResult& result = (*results)[i];
    auto& partition = response.topics.back().partitions.emplace_back();
    partition.partition_index = changes[i].index;
    partition.error_code = result.status.code();
    partition.leader_id = result.now.leader;
    partition.leader_epoch = result.now.leader_epoch;
    partition.isr = result.now.isr;
    partition.partition_epoch = result.now.partition_epoch;
  }
  co_await turns.to_worker_if_large();
  co_return encode_reply(context, response);
}

}  // namespace naru
