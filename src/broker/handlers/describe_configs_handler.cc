// DescribeConfigs: every key of a topic, of this broker, of all brokers together, of a group or of a subscription to
// the metrics of clients; and the levels of this broker's loggers.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "broker/api_handlers.h"
#include "broker/handlers/broker_loggers.h"
#include "broker/handlers/config_resources.h"
#include "broker/handlers/decode_request.h"
#include "broker/handlers/metadata_words.h"
#include "broker/turns.h"
#include "cluster_control/effective_config.h"
#include "cluster_control/metadata_keys.h"
#include "cluster_control/metadata_publisher.h"
#include "cluster_control/topic_name.h"
#include "configuration/config_description.h"
#include "kafka_protocol/messages/describe_configs_request.h"
#include "kafka_protocol/messages/describe_configs_response.h"

namespace naru {
namespace {

using Wanted = kafka::DescribeConfigsRequest::DescribeConfigsResource;
using Entry = kafka::DescribeConfigsResponse::DescribeConfigsResourceResult;
using Entries = std::vector<Entry>;
using Described = std::vector<DescribedConfig>;

// All keys of some ten thousand topics. Groups need not exist, so a request could name any number of them.
constexpr size_t kMostEntries = 500'000;
constexpr uint64_t kMemoryPerEntry = 400;  // about: decoded, with short values, and encoded

Result<Described> describe_topic_named(const BrokerServices& services, const MetadataImage& image,
                                       std::string_view name) {
  NARU_TRY(validate_topic_name(name));
  const TopicMetadata* topic = image.find_topic(name);
  if (topic == nullptr) return failure(ErrorCode::unknown_topic_or_partition, "there is no topic {}", name);
  return describe_topic(config_layers(services.config, image), topic->configs, topic->replication_factor());
}

std::string address_text(const ListenerConfig& listener, const Endpoint& address) {
  return fmt::format("{}://{}", listener.name, address.to_string());
}

// Of a listener with an open port, and of one without an address of its own, the connection that asks tells more.
BrokerFacts facts_of(const BrokerServices& services, const RequestContext& context, const MetadataImage& image) {
  BrokerFacts facts{.brokers = static_cast<int32_t>(image.brokers().size())};
  std::vector<std::string> open, advertised;
  for (const ListenerConfig& listener : services.config.listeners) {
    const bool is_asked = listener.name == context.caller.listener;
    Endpoint bound = listener.bind;
    if (is_asked && bound.port == 0) bound.port = context.connection->local().port;
    open.push_back(address_text(listener, bound));
    const Endpoint reached = is_asked ? context.connection->local() : bound;
    advertised.push_back(address_text(listener, listener.advertised.value_or(reached)));
  }
  facts.listeners = fmt::format("{}", fmt::join(open, ","));
  facts.advertised_listeners = fmt::format("{}", fmt::join(advertised, ","));
  return facts;
}

Result<Described> describe_broker_named(const BrokerServices& services, const RequestContext& context,
                                        const MetadataImage& image, std::string_view name) {
  if (name.empty()) return describe_broker_defaults(stored_broker_configs(image, metadata_keys::kAllBrokers));
  const std::string self = std::to_string(services.config.node_id.value());
  if (name != self) {
    return failure(ErrorCode::invalid_request,
                   "this is broker {}, and '{}' was asked for; each broker describes itself", self, name);
  }
  return describe_broker(config_layers(services.config, image), facts_of(services, context, image));
}

Result<Described> describe_group_named(const BrokerServices& services, const MetadataImage& image,
                                       std::string_view name) {
  if (name.empty()) return failure(ErrorCode::invalid_request, "the name of the group is missing");
  return describe_group(config_layers(services.config, image), stored_group_configs(image, name));
}

Result<Described> describe_subscription_named(const MetadataImage& image, std::string_view name) {
  if (name.empty()) return failure(ErrorCode::invalid_request, "the name of the subscription is missing");
  return describe_client_metrics(stored_client_metrics(image, name));
}

Result<Described> describe_resource(const BrokerServices& services, const RequestContext& context,
                                    const MetadataImage& image, const Wanted& wanted) {
  NARU_TRY_ASSIGN(const ConfigResource resource, config_resource(wanted.resource_type));
  NARU_TRY(authorize_configs(services, context, Operation::describe_configs, resource, wanted.resource_name));
  switch (resource) {
    case ConfigResource::topic:
      return describe_topic_named(services, image, wanted.resource_name);
    case ConfigResource::broker:
      return describe_broker_named(services, context, image, wanted.resource_name);
    case ConfigResource::group:
      return describe_group_named(services, image, wanted.resource_name);
    case ConfigResource::client_metrics:
      return describe_subscription_named(image, wanted.resource_name);
  }
  return failure(ErrorCode::invalid_request, "no such kind of resource");
}

Entry to_entry(const kafka::DescribeConfigsRequest& request, DescribedConfig config) {
  Entry entry;
  entry.name = std::string(config.name);
  entry.is_sensitive = config.is_sensitive();
  if (!entry.is_sensitive) entry.value = std::move(config.value);
  entry.read_only = config.read_only;
  entry.is_default = config.source == ConfigSource::default_value;
  entry.config_source = std::to_underlying(config.source);
  entry.config_type = std::to_underlying(config.definition->type);
  if (request.include_synonyms) {
    for (DescribedSynonym& synonym : config.synonyms) {
      if (entry.is_sensitive) synonym.value.reset();
      entry.synonyms.push_back({.name = std::move(synonym.name),
                                .value = std::move(synonym.value),
                                .source = std::to_underlying(synonym.source)});
    }
  }
  if (request.include_documentation) entry.documentation = std::string(config.definition->help);
  return entry;
}

// Loggers have no type and no default; their documentation is empty.
Result<Entries> logger_entries(const BrokerServices& services, const RequestContext& context, const Wanted& wanted,
                               const std::set<std::string_view>& keys) {
  NARU_TRY(check_own_loggers(services, context, Operation::describe_configs, wanted.resource_name));
  Entries entries;
  for (const DescribedLogger& logger : describe_loggers()) {
    if (!keys.empty() && !keys.contains(logger.name)) continue;
    auto& entry = entries.emplace_back();
    entry.name = std::string(logger.name);
    entry.value = std::string(logger.level);
    entry.documentation.emplace();
    entry.config_source = std::to_underlying(ConfigSource::broker_logger);
  }
  return entries;
}

Result<Entries> entries_of(const BrokerServices& services, const RequestContext& context, const MetadataImage& image,
                           const kafka::DescribeConfigsRequest& request, const Wanted& wanted,
                           const std::set<std::string_view>& keys) {
  if (wanted.resource_type == kBrokerLoggerResource) return logger_entries(services, context, wanted, keys);
  NARU_TRY_ASSIGN(Described described, describe_resource(services, context, image, wanted));
  Entries entries;
  for (DescribedConfig& config : described) {
    if (keys.empty() || keys.contains(config.name)) entries.push_back(to_entry(request, std::move(config)));
  }
  return entries;
}

Status refuse_excess(const Wanted& wanted, std::set<std::pair<int8_t, std::string_view>>& seen, size_t entries) {
  if (!seen.emplace(wanted.resource_type, wanted.resource_name).second) {
    return Status(ErrorCode::invalid_request, "the request names this resource more than once");
  }
  if (entries < kMostEntries) return {};
  return error(ErrorCode::invalid_request, "one answer has at most some {} keys: ask for fewer resources at a time",
               kMostEntries);
}

// No keys means all: null, and also an empty list, which some clients send for it.
Task<std::set<std::string_view>> wanted_keys(const Wanted& wanted, Turns& turns) {
  std::set<std::string_view> keys;
  if (!wanted.configuration_keys) co_return keys;
  for (const std::string_view key : *wanted.configuration_keys) {
    co_await turns.step();
    keys.insert(key);
  }
  co_return keys;
}

}  // namespace

Task<Response> handle_describe_configs(const BrokerServices& services, const RequestContext& context,
                                       kafka::WireReader& reader) {
  kafka::DescribeConfigsRequest request;
  if (auto malformed = decode_or_close(context, reader, request)) co_return std::move(*malformed);

  const MetadataImagePtr image = services.metadata.current();
  kafka::DescribeConfigsResponse response;
  std::set<std::pair<int8_t, std::string_view>> seen;
  size_t entries = 0;
  Turns turns(services, context);
  for (const Wanted& wanted : request.resources) {
    co_await turns.step();
    auto& result = response.results.emplace_back();
    result.resource_type = wanted.resource_type;
    result.resource_name = std::string(wanted.resource_name);
    const Status excess = refuse_excess(wanted, seen, entries);
    const std::set<std::string_view> keys = co_await wanted_keys(wanted, turns);
    auto described =
        excess.ok() ? entries_of(services, context, *image, request, wanted, keys) : Result<Entries>(failure(excess));
    if (!described) {
      result.error_code = described.error().code();
      result.error_message = error_text(described.error());
      continue;
    }
    result.error_message.emplace();  // empty, as Kafka's
    result.configs = std::move(*described);
    entries += result.configs.size();
    if (!context.memory.take_for_answer(result.configs.size() * kMemoryPerEntry)) co_return no_memory_for_answer();
  }
  co_await turns.to_worker_if_large();
  co_return encode_reply(context, response);
}

}  // namespace naru
