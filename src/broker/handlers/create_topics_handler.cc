// CreateTopics: the rules are the controller's (cluster_control/create_topics.h); here they are translated.
#include "broker/api_handlers.h"
#include "broker/handlers/decode_request.h"
#include "broker/handlers/metadata_words.h"
#include "broker/handlers/undo_topics.h"
#include "broker/late_work.h"
#include "broker/turns.h"
#include "cluster_control/controller_shell.h"
#include "cluster_control/effective_config.h"
#include "cluster_control/metadata_publisher.h"
#include "configuration/config_description.h"
#include "kafka_protocol/messages/create_topics_request.h"
#include "kafka_protocol/messages/create_topics_response.h"

namespace naru {
namespace {

constexpr int16_t kFirstVersionWithDefaults = 4;
constexpr int16_t kFirstVersionWithConfigs = 5;

NewTopic to_new_topic(const kafka::CreateTopicsRequest::CreatableTopic& wanted) {
  NewTopic topic{.name = std::string(wanted.name),
                 .partition_count = wanted.num_partitions,
                 .replication_factor = wanted.replication_factor};
  for (const auto& assignment : wanted.assignments) {
    topic.assignments.push_back(
        {.partition_index = assignment.partition_index.value(), .replicas = assignment.broker_ids});
  }
  for (const auto& config : wanted.configs) {
    ConfigEntry& entry = topic.configs.emplace_back();
    entry.name = config.name;
    if (config.value) entry.value = std::string(*config.value);
  }
  return topic;
}

// -1 for "the broker's default" came with version 4; before that it was an error.
std::optional<Status> refuse_default_in_old_version(const RequestContext& context, const NewTopic& topic) {
  if (context.version >= kFirstVersionWithDefaults || !topic.assignments.empty()) return std::nullopt;
  if (topic.partition_count == -1) return Status(ErrorCode::invalid_partitions, "the number of partitions is missing");
  if (topic.replication_factor == -1)
    return Status(ErrorCode::invalid_replication_factor, "the replication factor is missing");
  return std::nullopt;
}

auto describe_configs(const BrokerServices& services, const CreateTopicResult& created) {
  std::vector<kafka::CreateTopicsResponse::CreatableTopicConfigs> configs;
  const MetadataImagePtr image = services.metadata.current();
  const BrokerConfigLayers broker = config_layers(services.config, *image);
  for (DescribedConfig& config : describe_topic(broker, created.configs, created.replication_factor)) {
    configs.push_back({.name = std::string(config.name),
                       .value = std::move(config.value),
                       .config_source = std::to_underlying(config.source)});
  }
  return configs;
}

kafka::CreateTopicsResponse::CreatableTopicResult to_result(const BrokerServices& services,
                                                            const RequestContext& context,
                                                            const CreateTopicResult& created) {
  kafka::CreateTopicsResponse::CreatableTopicResult result;
  result.name = created.name;
  result.error_code = created.status.code();
  if (!created.status.ok()) {
    result.error_message = error_text(created.status);
    return result;
  }
  result.topic_id = created.topic_id;
  result.num_partitions = created.partition_count;
  result.replication_factor = created.replication_factor;
  if (context.version >= kFirstVersionWithConfigs) result.configs = describe_configs(services, created);
  return result;
}

Task<std::vector<CreateTopicResult>> create(const BrokerServices& services, CreateTopicsRequest request,
                                            Status given_up) {
  auto results = co_await services.controller.create_topics(std::move(request), std::move(given_up));
  co_await undo_unusable_topics(services, results);
  co_return results;
}

}  // namespace

Task<Response> handle_create_topics(const BrokerServices& services, const RequestContext& context,
                                    kafka::WireReader& reader) {
  kafka::CreateTopicsRequest request;
  if (auto malformed = decode_or_close(context, reader, request)) co_return std::move(*malformed);

  std::vector<CreateTopicResult> refused;
  Turns turns(services, context);
  CreateTopicsRequest allowed{.validate_only = request.validate_only};
  std::vector<CreateTopicResult> late;  // what is told of them if the deadline passes first
  for (const auto& wanted : request.topics) {
    co_await turns.to_worker_for(wanted.assignments.size() + wanted.configs.size());
    co_await turns.step();
    NewTopic topic = to_new_topic(wanted);
    auto status = refuse_default_in_old_version(context, topic);
    if (!services.authorizer.authorize(context.caller, Operation::create, ResourceType::topic, topic.name)) {
      status = Status(ErrorCode::topic_authorization_failed);
    }
    if (status) {
      refused.push_back({.name = std::move(topic.name), .status = std::move(*status)});
    } else {
      late.push_back({.name = topic.name, .status = not_in_time(request.timeout_ms)});
      allowed.topics.push_back(std::move(topic));
    }
  }

  co_await turns.to_worker_if_large();
  kafka::CreateTopicsResponse response;
  for (const auto& result : refused) {
    co_await turns.step();
    response.topics.push_back(to_result(services, context, result));
  }
  auto results = co_await services.late_work.result_until(deadline_of(context, request.timeout_ms), context.memory,
                                                          create(services, std::move(allowed), context.given_up));
  if (!results) results = std::move(late);
  for (const auto& result : *results) {
    co_await turns.step();  // the configuration of a topic is long
    response.topics.push_back(to_result(services, context, result));
  }
  co_await turns.to_worker_if_large();
  co_return encode_reply(context, response);
}

}  // namespace naru
