// DeleteTopics: by name, and since version 6 by id. The data is gone from this broker when the answer arrives.
#include "broker/api_handlers.h"
#include "broker/handlers/decode_request.h"
#include "broker/handlers/metadata_words.h"
#include "broker/late_work.h"
#include "broker/partition_keeper.h"
#include "broker/turns.h"
#include "cluster_control/controller_shell.h"
#include "cluster_control/metadata_publisher.h"
#include "kafka_protocol/messages/delete_topics_request.h"
#include "kafka_protocol/messages/delete_topics_response.h"

namespace naru {
namespace {

constexpr int16_t kFirstDeleteTopicsWithIds = 6;

std::vector<TopicReference> references_of(const RequestContext& context, const kafka::DeleteTopicsRequest& request) {
  std::vector<TopicReference> references;
  if (context.version < kFirstDeleteTopicsWithIds) {
    for (const std::string_view name : request.topic_names) references.push_back({.name = std::string(name)});
    return references;
  }
  for (const auto& topic : request.topics) {
    TopicReference& reference = references.emplace_back();
    if (topic.name) reference.name = std::string(*topic.name);
    reference.id = topic.topic_id;
  }
  return references;
}

// The name that an authorizer knows; empty for an id that nobody has.
std::string name_of(const MetadataImage& image, const TopicReference& reference) {
  if (reference.name) return *reference.name;
  const TopicMetadata* topic = image.find_topic(reference.id);
  return topic == nullptr ? std::string() : topic->name;
}

void add_result(const DeleteTopicResult& deleted, kafka::DeleteTopicsResponse& response) {
  auto& result = response.responses.emplace_back();
  result.name = deleted.name;
  result.topic_id = deleted.topic_id;
  result.error_code = deleted.status.code();
  if (!deleted.status.ok() && !deleted.status.message().empty()) result.error_message = deleted.status.message();
}

// The topic is gone for good, but somebody who deletes to make room has to know when there is none.
Status what_is_left(const BrokerServices& services, const Uuid& topic_id) {
  const Status problem = services.keeper.deletion_problem(topic_id);
  if (problem.ok()) return problem;
  return error(ErrorCode::kafka_storage_error,
               "the topic is deleted, but some of its data is still on the disk: {}; this is tried again later",
               error_text(problem));
}

}  // namespace

Task<Response> handle_delete_topics(const BrokerServices& services, const RequestContext& context,
                                    kafka::WireReader& reader) {
  kafka::DeleteTopicsRequest request;
  if (auto malformed = decode_or_close(context, reader, request)) co_return std::move(*malformed);

  kafka::DeleteTopicsResponse response;
  std::vector<TopicReference> allowed;
  const MetadataImagePtr image = services.metadata.current();
  Turns turns(services, context);
  std::vector<TopicReference> references = references_of(context, request);
  for (TopicReference& reference : references) {
    co_await turns.step();
    if (services.authorizer.authorize(context.caller, Operation::remove, ResourceType::topic,
                                      name_of(*image, reference))) {
      allowed.push_back(std::move(reference));
    } else {
      add_result({reference.name, reference.id, Status(ErrorCode::topic_authorization_failed)}, response);
    }
  }
  co_await turns.to_worker_if_large();
  std::vector<DeleteTopicResult> late;  // what is told of them if the deadline passes first
  for (const TopicReference& reference : allowed) {
    late.push_back({reference.name, reference.id, not_in_time(request.timeout_ms)});
  }
  auto results =
      co_await services.late_work.result_until(deadline_of(context, request.timeout_ms), context.memory,
                                               services.controller.delete_topics(std::move(allowed), context.given_up));
  co_await turns.to_worker_if_large();
  for (DeleteTopicResult& deleted : results ? *results : late) {
    if (deleted.status.ok()) deleted.status = what_is_left(services, deleted.topic_id);
    add_result(deleted, response);
  }
  co_return encode_reply(context, response);
}

}  // namespace naru
