// AlterConfigs, which replaces all that is set for a resource, and IncrementalAlterConfigs, which changes single keys.
// The rules are the controller's (cluster_control/alter_configs.h); here they are translated.
#include "broker/api_handlers.h"
#include "broker/handlers/config_resources.h"
#include "broker/handlers/decode_request.h"
#include "broker/handlers/metadata_words.h"
#include "broker/turns.h"
#include "cluster_control/controller_shell.h"
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
  for (const auto& wanted : request.resources) {
    co_await turns.step();
    auto item = to_item(services, context, wanted);
    if (!item) {
      add_result(wanted.resource_type, wanted.resource_name, item.error(), response);
      continue;
    }
    item->replace_all = replace_all;
    items.push_back(std::move(*item));
  }
  co_await turns.to_worker_if_large();
  const auto results =
      co_await services.controller.alter_configs(std::move(items), request.validate_only, context.given_up);
  co_await turns.to_worker_if_large();
  for (const auto& result : results) {
    add_result(resource_type(result.resource), result.name, result.status, response);
  }
  co_return encode_reply(context, response);
}

}  // namespace

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
