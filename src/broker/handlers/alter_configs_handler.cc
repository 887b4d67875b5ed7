// AlterConfigs, which replaces all that is set for a resource, and IncrementalAlterConfigs, which changes single keys.
// The rules are the controller's (cluster_control/alter_configs.h); here they are translated. Levels of loggers are not
// stored and belong to the broker that is asked.
#include <algorithm>

#include <fmt/format.h>

#include "broker/api_handlers.h"
#include "broker/handlers/broker_loggers.h"
#include "broker/handlers/config_resources.h"
#include "broker/handlers/decode_request.h"
#include "broker/handlers/metadata_words.h"
#include "broker/turns.h"
#include "cluster_control/controller_shell.h"
#include "foundation/log.h"
#include "kafka_protocol/messages/alter_configs_request.h"
#include "kafka_protocol/messages/alter_configs_response.h"
#include "kafka_protocol/messages/incremental_alter_configs_request.h"
#include "kafka_protocol/messages/incremental_alter_configs_response.h"

namespace naru {
namespace {

Result<ConfigChange> to_change(const kafka::AlterConfigsRequest_AlterableConfig& wanted) {
  ConfigChange change{.name = std::string(wanted.name)};
  if (wanted.value) change.value = std::string(*wanted.value);
  return change;
}

Result<ConfigChange> to_change(const kafka::IncrementalAlterConfigsRequest_AlterableConfig& wanted) {
  ConfigChange change{.name = std::string(wanted.name)};
  if (wanted.config_operation < 0 || wanted.config_operation > std::to_underlying(ConfigOperation::subtract)) {
    return failure(ErrorCode::invalid_request, "{} is no operation on a configuration key", wanted.config_operation);
  }
  change.operation = static_cast<ConfigOperation>(wanted.config_operation);
  if (wanted.value) change.value = std::string(*wanted.value);
  return change;
}

template <class Wanted>
Result<AlterConfigsItem> to_item(const BrokerServices& services, const RequestContext& context, const Wanted& wanted) {
  AlterConfigsItem item{.name = std::string(wanted.resource_name)};
  NARU_TRY_ASSIGN(item.resource, config_resource(wanted.resource_type));
  NARU_TRY(authorize_configs(services, context, Operation::alter_configs, item.resource, item.name));
  for (const auto& config : wanted.configs) {
    NARU_TRY_ASSIGN(ConfigChange change, to_change(config));
    item.changes.push_back(std::move(change));
  }
  return item;
}

// A line for each request is enough for a person, and a client could name any number of keys.
constexpr size_t kMostTold = 10;

void note_keys_without_effect(const AlterConfigsItem& item, std::vector<std::string>& sentences) {
  for (const ConfigChange& change : item.changes) {
    const ConfigDefinition* definition = find_config(item.resource, change.name);
    const bool is_set = definition != nullptr && change.operation != ConfigOperation::remove;
    if (!is_set || !is_without_effect(*definition) || sentences.size() == kMostTold) continue;
    sentences.push_back(fmt::format("{} of {} has no effect: {}", definition->name,
                                    item.name.empty() ? "all brokers" : item.name, why_without_effect(*definition)));
  }
}

template <class Wanted>
Status alter_loggers_of(const BrokerServices& services, const RequestContext& context, const Wanted& wanted,
                        bool validate_only) {
  NARU_TRY(check_own_loggers(services, context, Operation::alter_configs, wanted.resource_name));
  std::vector<ConfigChange> changes;
  for (const auto& config : wanted.configs) {
    NARU_TRY_ASSIGN(ConfigChange change, to_change(config));
    if (change.operation != ConfigOperation::remove && !change.value) {
      return error(ErrorCode::invalid_request, "the level of {} has no value", change.name);
    }
    changes.push_back(std::move(change));
  }
  return alter_loggers(changes, validate_only);
}

template <class Answer>
void add_result(int8_t type, std::string_view name, const Status& status, Answer& response) {
  auto& result = response.responses.emplace_back();
  result.error_code = status.code();
  if (!status.ok()) result.error_message = error_text(status);
  result.resource_type = type;
  result.resource_name = std::string(name);
}

template <class Request, class Answer>
Task<Response> alter(const BrokerServices& services, const RequestContext& context, const Request& request,
                     bool replace_all) {
  Answer response;
  Turns turns(services, context);
  std::vector<AlterConfigsItem> items;
  std::vector<std::string> without_effect;
  for (const auto& wanted : request.resources) {
    co_await turns.to_worker_for(wanted.configs.size());
    co_await turns.step();
    if (wanted.resource_type == kBrokerLoggerResource && !replace_all) {
      const Status status = alter_loggers_of(services, context, wanted, request.validate_only);
      add_result(wanted.resource_type, wanted.resource_name, status, response);
      continue;
    }
    auto item = to_item(services, context, wanted);
    if (!item) {
      add_result(wanted.resource_type, wanted.resource_name, item.error(), response);
      continue;
    }
    item->replace_all = replace_all;
    note_keys_without_effect(*item, without_effect);
    items.push_back(std::move(*item));
  }
  co_await turns.to_worker_if_large();
  const auto results =
      co_await services.controller.alter_configs(std::move(items), request.validate_only, context.given_up);
  co_await turns.to_worker_if_large();
  for (const auto& result : results) {
    add_result(resource_type(result.resource), result.name, result.status, response);
  }
  const bool any_done = std::ranges::any_of(results, [](const auto& result) { return result.status.ok(); });
  if (any_done && !request.validate_only && !without_effect.empty()) {
    log_warn("configuration", "set by a client: {}", fmt::join(without_effect, "; "));
  }
  co_return encode_reply(context, response);
}

}  // namespace

bool asks_for_loggers(const RequestContext& context, kafka::WireReader reader) {
  kafka::IncrementalAlterConfigsRequest request;
  decode(reader, request, context.version);
  return reader.status().ok() &&
         std::ranges::find(request.resources, kBrokerLoggerResource,
                           &kafka::IncrementalAlterConfigsRequest::AlterConfigsResource::resource_type) !=
             request.resources.end();
}

Task<Response> handle_alter_configs(const BrokerServices& services, const RequestContext& context,
                                    kafka::WireReader& reader) {
  kafka::AlterConfigsRequest request;
  if (auto malformed = decode_or_close(context, reader, request)) co_return std::move(*malformed);
  co_return co_await alter<kafka::AlterConfigsRequest, kafka::AlterConfigsResponse>(services, context, request, true);
}

Task<Response> handle_incremental_alter_configs(const BrokerServices& services, const RequestContext& context,
                                                kafka::WireReader& reader) {
  kafka::IncrementalAlterConfigsRequest request;
  if (auto malformed = decode_or_close(context, reader, request)) co_return std::move(*malformed);
  co_return co_await alter<kafka::IncrementalAlterConfigsRequest, kafka::IncrementalAlterConfigsResponse>(
      services, context, request, false);
}

}  // namespace naru
