// Metadata: brokers, topics, partitions and their leaders; creates a topic that is asked for, if it may.
#include <algorithm>
#include <set>

#include "broker/api_handlers.h"
#include "broker/handlers/decode_request.h"
#include "broker/handlers/metadata_words.h"
#include "broker/missing_topics.h"
#include "broker/turns.h"
#include "cluster_control/internal_topics.h"
#include "cluster_control/metadata_publisher.h"
#include "cluster_control/topic_name.h"
#include "foundation/request_canary.h"
#include "kafka_protocol/messages/metadata_request.h"
#include "kafka_protocol/messages/metadata_response.h"

namespace naru {
namespace {

constexpr int16_t kFirstVersionWhereEmptyMeansNone = 1;
constexpr int16_t kFirstMetadataWithIds = 10;
constexpr int16_t kFirstMetadataWithoutNames = 12;

using ResponseTopic = kafka::MetadataResponse::MetadataResponseTopic;
using RequestTopic = kafka::MetadataRequest::MetadataRequestTopic;

bool asks_for_all(const RequestContext& context, const kafka::MetadataRequest& request) {
  return !request.topics || (context.version < kFirstVersionWhereEmptyMeansNone && request.topics->empty());
}

bool asks_by_id(const RequestTopic& wanted) {
  return !wanted.topic_id.is_zero();
}

void fill_brokers(const RequestContext& context, const MetadataImage& image, kafka::MetadataResponse& response) {
  for (const auto& [id, broker] : image.brokers()) {
    const auto address = address_for(context, broker);
    if (!address) continue;
    response.brokers.push_back({.node_id = id, .host = address->host, .port = address->port, .rack = broker.rack});
  }
  response.cluster_id = image.cluster().cluster_id.to_string();
  response.controller_id = image.cluster().controller_id;
}

ResponseTopic describe_topic(const BrokerServices& services, const RequestContext& context, const MetadataImage& image,
                             const TopicMetadata& topic, bool with_operations) {
  ResponseTopic described;
  described.name = topic.name;
  described.topic_id = topic.id;
  described.is_internal = is_internal_topic(topic.name);
  described.partitions.reserve(topic.partitions.size());
  for (const PartitionStatePtr& state : topic.partitions) {
    fill_partition(image, *state, described.partitions.emplace_back());
  }
  if (with_operations) {
    described.topic_authorized_operations =
        authorized_operations(services.authorizer, context.caller, ResourceType::topic, topic.name);
  }
  return described;
}

// About what a described topic takes, decoded and encoded.
uint64_t memory_of(const TopicMetadata& topic) {
  constexpr uint64_t kPerPartition = 400;
  return topic.partitions.size() * kPerPartition;
}

ResponseTopic refuse_topic(const RequestContext& context, const RequestTopic& wanted, ErrorCode code) {
  ResponseTopic refused;
  refused.error_code = code;
  if (wanted.name) {
    refused.name = std::string(*wanted.name);
  } else if (context.version >= kFirstMetadataWithoutNames || is_planted(RequestCanary::null_name_in_old_version)) {
    refused.name.reset();
  }
  refused.topic_id = wanted.topic_id;
  return refused;
}

// The names that are asked for, do not exist and may be created.
Task<void> create_missing(const BrokerServices& services, const RequestContext& context,
                          const kafka::MetadataRequest& request, std::map<std::string, ErrorCode, std::less<>>& refused,
                          Turns& turns) {
  if (!services.config.auto_create_topics_enable || !request.allow_auto_topic_creation) co_return;
  const MetadataImagePtr image = services.metadata.current();
  std::set<std::string> names;
  for (const RequestTopic& wanted : *request.topics) {
    co_await turns.step();
    if (asks_by_id(wanted) || !wanted.name || image->find_topic(*wanted.name) != nullptr) continue;
    if (is_internal_topic(*wanted.name)) continue;
    if (!services.authorizer.authorize(context.caller, Operation::create, ResourceType::topic, *wanted.name)) continue;
    names.emplace(*wanted.name);
  }
  if (names.empty()) co_return;
  const std::vector<std::string> missing(names.begin(), names.end());
  const std::vector<Status> made = co_await make_missing_topics(services, missing);
  for (size_t i = 0; i < missing.size(); ++i) {
    if (!made[i].ok()) refused.emplace(missing[i], made[i].code());
  }
}

ResponseTopic find_topic(const BrokerServices& services, const RequestContext& context, const MetadataImage& image,
                         const RequestTopic& wanted, const std::map<std::string, ErrorCode, std::less<>>& refused,
                         bool with_operations) {
  if (asks_by_id(wanted)) {
    const TopicMetadata* topic = image.find_topic(wanted.topic_id);
    const bool allowed = topic != nullptr && services.authorizer.authorize(context.caller, Operation::describe,
                                                                           ResourceType::topic, topic->name);
    return allowed ? describe_topic(services, context, image, *topic, with_operations)
                   : refuse_topic(context, wanted, ErrorCode::unknown_topic_id);
  }
  const std::string_view name = wanted.name.value_or("");
  if (!services.authorizer.authorize(context.caller, Operation::describe, ResourceType::topic, name)) {
    return refuse_topic(context, wanted, ErrorCode::topic_authorization_failed);
  }
  if (const TopicMetadata* topic = image.find_topic(name)) {
    return describe_topic(services, context, image, *topic, with_operations);
  }
  const auto why = refused.find(name);
  if (why != refused.end()) return refuse_topic(context, wanted, why->second);
  return refuse_topic(
      context, wanted,
      validate_topic_name(name).ok() ? ErrorCode::unknown_topic_or_partition : ErrorCode::invalid_topic_exception);
}

}  // namespace

Task<Response> handle_metadata(const BrokerServices& services, const RequestContext& context,
                               kafka::WireReader& reader) {
  kafka::MetadataRequest request;
  if (auto malformed = decode_or_close(context, reader, request)) co_return std::move(*malformed);
  // A topic without a name needs an id; a name in a request by id is ignored.
  if (request.topics && context.version >= kFirstMetadataWithIds &&
      std::ranges::any_of(*request.topics, [](const auto& wanted) { return !wanted.name && !asks_by_id(wanted); })) {
    context.ignore_further_input();
    co_return close_connection("Metadata names a topic neither by name nor by id");
  }

  Turns turns(services, context);
  kafka::MetadataResponse response;
  if (request.include_cluster_authorized_operations) {
    response.cluster_authorized_operations =
        authorized_operations(services.authorizer, context.caller, ResourceType::cluster, kClusterResource);
  }
  if (asks_for_all(context, request)) {
    const MetadataImagePtr image = services.metadata.current();
    fill_brokers(context, *image, response);
    for (const TopicMetadataPtr& topic : image->topics()) {
      co_await turns.step();
      if (!context.memory.take_for_answer(memory_of(*topic))) co_return no_memory_for_answer();
      if (services.authorizer.authorize(context.caller, Operation::describe, ResourceType::topic, topic->name)) {
        response.topics.push_back(
            describe_topic(services, context, *image, *topic, request.include_topic_authorized_operations));
      }
    }
    co_await turns.to_worker_if_large();
    co_return encode_reply(context, response);
  }

  std::map<std::string, ErrorCode, std::less<>> refused;
  co_await create_missing(services, context, request, refused, turns);
  const MetadataImagePtr image = services.metadata.current();
  fill_brokers(context, *image, response);
  // Once each, as Kafka does: a short request that repeats a large topic would have an answer of gigabytes.
  std::set<std::pair<Uuid, std::string_view>> answered;
  for (const RequestTopic& wanted : *request.topics) {
    co_await turns.step();
    const std::string_view name = asks_by_id(wanted) ? std::string_view() : wanted.name.value_or("");
    if (!answered.emplace(wanted.topic_id, name).second) continue;
    const TopicMetadata* topic = asks_by_id(wanted) ? image->find_topic(wanted.topic_id) : image->find_topic(name);
    if (topic != nullptr && !context.memory.take_for_answer(memory_of(*topic))) co_return no_memory_for_answer();
    response.topics.push_back(
        find_topic(services, context, *image, wanted, refused, request.include_topic_authorized_operations));
  }
  co_await turns.to_worker_if_large();
  co_return encode_reply(context, response);
}

}  // namespace naru
