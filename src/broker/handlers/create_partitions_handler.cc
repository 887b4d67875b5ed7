// CreatePartitions: the rules are the controller's (cluster_control/create_partitions.h); here they are translated.
#include "broker/api_handlers.h"
#include "broker/handlers/decode_request.h"
#include "broker/handlers/metadata_words.h"
#include "broker/late_work.h"
#include "broker/turns.h"
#include "cluster_control/controller_shell.h"
#include "kafka_protocol/messages/create_partitions_request.h"
#include "kafka_protocol/messages/create_partitions_response.h"

namespace naru {
namespace {

MorePartitions to_item(const kafka::CreatePartitionsRequest::CreatePartitionsTopic& wanted) {
  MorePartitions item{.topic = std::string(wanted.name), .count = wanted.count};
  if (!wanted.assignments) return item;
  auto& assignments = item.assignments.emplace();
  for (const auto& assignment : *wanted.assignments) assignments.push_back(assignment.broker_ids);
  return item;
}

void add_result(const MorePartitionsResult& created, kafka::CreatePartitionsResponse& response) {
  auto& result = response.results.emplace_back();
  result.name = created.topic;
  result.error_code = created.status.code();
  if (!created.status.ok()) result.error_message = error_text(created.status);
}

}  // namespace

Task<Response> handle_create_partitions(const BrokerServices& services, const RequestContext& context,
                                        kafka::WireReader& reader) {
  kafka::CreatePartitionsRequest request;
  if (auto malformed = decode_or_close(context, reader, request)) co_return std::move(*malformed);

  kafka::CreatePartitionsResponse response;
  Turns turns(services, context);
  std::vector<MorePartitions> allowed;
  for (const auto& wanted : request.topics) {
    co_await turns.to_worker_for(wanted.assignments ? wanted.assignments->size() : 0);
    co_await turns.step();
    if (services.authorizer.authorize(context.caller, Operation::alter, ResourceType::topic, wanted.name)) {
      allowed.push_back(to_item(wanted));
    } else {
      add_result({std::string(wanted.name), {}, Status(ErrorCode::topic_authorization_failed)}, response);
    }
  }
  co_await turns.to_worker_if_large();
  std::vector<MorePartitionsResult> late;  // what is told of them if the deadline passes first
  for (const MorePartitions& item : allowed) late.push_back({item.topic, {}, not_in_time(request.timeout_ms)});
  auto results = co_await services.late_work.result_until(
      deadline_of(context, request.timeout_ms), context.memory,
      services.controller.create_partitions(std::move(allowed), request.validate_only, context.given_up));
  co_await turns.to_worker_if_large();
  for (MorePartitionsResult& result : results ? *results : late) {
    // They exist in the metadata, which is not taken back; that they have no folder yet is told.
    if (result.status.ok()) result.status = services.partitions.why_unmade(result.topic_id);
    add_result(result, response);
  }
  co_return encode_reply(context, response);
}

}  // namespace naru
