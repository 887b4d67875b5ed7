#include "client/config_admin.h"

#include <algorithm>

#include "client/at_controller.h"
#include "client/broker_error.h"
#include "kafka_protocol/messages/describe_configs_request.h"
#include "kafka_protocol/messages/describe_configs_response.h"
#include "kafka_protocol/messages/incremental_alter_configs_request.h"
#include "kafka_protocol/messages/incremental_alter_configs_response.h"

namespace naru::client {
namespace {

constexpr int8_t kTopicResource = 2;
constexpr int8_t kSet = 0, kDelete = 1;
constexpr int8_t kTopicSource = 1;
// Version 0 does not tell where a value comes from.
constexpr VersionRange kDescribeVersions{.min = 1};

Task<Status> alter_once(ClusterClient& client, const std::string& topic, const ConfigChanges& changes) {
  NARU_CO_TRY_ASSIGN(const Connection connection, co_await client.controller());
  kafka::IncrementalAlterConfigsRequest request;
  auto& resource = request.resources.emplace_back();
  resource.resource_type = kTopicResource;
  resource.resource_name = topic;
  for (const auto& [key, value] : changes.set) {
    resource.configs.push_back({.name = key, .config_operation = kSet, .value = value});
  }
  for (const std::string& key : changes.remove) {
    resource.configs.push_back({.name = key, .config_operation = kDelete, .value = std::nullopt});
  }
  NARU_CO_TRY_ASSIGN(const auto response, co_await connection->call<kafka::IncrementalAlterConfigsResponse>(
                                              request, client.options().request_timeout));
  for (const auto& result : response.responses) {
    if (result.resource_name != topic) continue;
    if (result.error_code == ErrorCode::unknown_topic_or_partition) co_return topic_error(result.error_code, topic);
    co_return broker_error(result.error_code, fmt::format("topic {}", topic), result.error_message);
  }
  co_return error(ErrorCode::network_exception, "topic {}: the broker's answer leaves it out", topic);
}

}  // namespace

bool ConfigEntry::is_set_here() const {
  return source == kTopicSource;
}

std::string_view config_source_name(int8_t source) {
  switch (source) {
    case kTopicSource:
      return "topic";
    case 2:
      return "broker";
    case 3:
      return "cluster";
    case 4:
      return "file";
    case 5:
      return "default";
    default:
      return "unknown";
  }
}

Task<Result<std::vector<ConfigEntry>>> describe_topic_config(ClusterClient& client, std::string topic) {
  NARU_CO_TRY_ASSIGN(const Connection connection, co_await client.any_broker());
  kafka::DescribeConfigsRequest request;
  auto& resource = request.resources.emplace_back();
  resource.resource_type = kTopicResource;
  resource.resource_name = topic;
  NARU_CO_TRY_ASSIGN(const auto response, co_await connection->call<kafka::DescribeConfigsResponse>(
                                              request, client.options().request_timeout, kDescribeVersions));
  for (const auto& result : response.results) {
    if (result.resource_name != topic) continue;
    NARU_CO_TRY(result.error_code == ErrorCode::unknown_topic_or_partition
                    ? topic_error(result.error_code, topic)
                    : broker_error(result.error_code, fmt::format("topic {}", topic), result.error_message));
    std::vector<ConfigEntry> entries;
    for (const auto& config : result.configs) {
      entries.push_back({.name = config.name, .value = config.value, .source = config.config_source});
    }
    std::ranges::sort(entries, {}, &ConfigEntry::name);
    co_return entries;
  }
  co_return failure(ErrorCode::network_exception, "topic {}: the broker's answer leaves it out", topic);
}

Task<Status> alter_topic_config(ClusterClient& client, std::string topic, ConfigChanges changes) {
  co_return co_await at_controller(client, [&] { return alter_once(client, topic, changes); });
}

}  // namespace naru::client
