#include "client/topic_admin.h"

#include <chrono>

#include "client/at_controller.h"
#include "client/broker_error.h"
#include "kafka_protocol/messages/create_partitions_request.h"
#include "kafka_protocol/messages/create_partitions_response.h"
#include "kafka_protocol/messages/create_topics_request.h"
#include "kafka_protocol/messages/create_topics_response.h"
#include "kafka_protocol/messages/delete_topics_request.h"
#include "kafka_protocol/messages/delete_topics_response.h"

namespace naru::client {
namespace {

// Below 4 a broker has no defaults for partitions and replicas.
constexpr VersionRange kCreateVersions{.min = 4};
// From 6 on a topic is named by a structure of its own.
constexpr VersionRange kDeleteVersions{.min = 1, .max = 5};

int32_t timeout_ms(const ClusterClient& client) {
  return static_cast<int32_t>(std::chrono::duration_cast<Milliseconds>(client.options().request_timeout).count());
}

Task<Result<CreatedTopic>> create_once(ClusterClient& client, const NewTopic& topic) {
  NARU_CO_TRY_ASSIGN(const Connection connection, co_await client.controller());
  kafka::CreateTopicsRequest request;
  request.timeout_ms = timeout_ms(client);
  auto& wanted = request.topics.emplace_back();
  wanted.name = topic.name;
  wanted.num_partitions = topic.partitions;
  wanted.replication_factor = topic.replicas;
  for (const auto& [key, value] : topic.configs) wanted.configs.push_back({.name = key, .value = value});
  NARU_CO_TRY_ASSIGN(const auto response, co_await connection->call<kafka::CreateTopicsResponse>(
                                              request, client.options().request_timeout, kCreateVersions));
  for (const auto& result : response.topics) {
    if (result.name != topic.name) continue;
    NARU_CO_TRY(broker_error(result.error_code, fmt::format("topic {}", topic.name), result.error_message));
    co_return CreatedTopic{
        .id = result.topic_id, .partitions = result.num_partitions, .replicas = result.replication_factor};
  }
  co_return failure(ErrorCode::network_exception, "topic {}: the broker's answer leaves it out", topic.name);
}

Task<Status> delete_once(ClusterClient& client, const std::string& name) {
  NARU_CO_TRY_ASSIGN(const Connection connection, co_await client.controller());
  kafka::DeleteTopicsRequest request;
  request.timeout_ms = timeout_ms(client);
  request.topic_names = {name};
  NARU_CO_TRY_ASSIGN(const auto response, co_await connection->call<kafka::DeleteTopicsResponse>(
                                              request, client.options().request_timeout, kDeleteVersions));
  for (const auto& result : response.responses) {
    if (result.name == name)
      co_return broker_error(result.error_code, fmt::format("topic {}", name), result.error_message);
  }
  co_return error(ErrorCode::network_exception, "topic {}: the broker's answer leaves it out", name);
}

Task<Status> set_partitions_once(ClusterClient& client, const std::string& name, int32_t count) {
  NARU_CO_TRY_ASSIGN(const Connection connection, co_await client.controller());
  kafka::CreatePartitionsRequest request;
  request.timeout_ms = timeout_ms(client);
  auto& topic = request.topics.emplace_back();
  topic.name = name;
  topic.count = count;
  NARU_CO_TRY_ASSIGN(const auto response, co_await connection->call<kafka::CreatePartitionsResponse>(
                                              request, client.options().request_timeout));
  for (const auto& result : response.results) {
    if (result.name == name)
      co_return broker_error(result.error_code, fmt::format("topic {}", name), result.error_message);
  }
  co_return error(ErrorCode::network_exception, "topic {}: the broker's answer leaves it out", name);
}

}  // namespace

Task<Result<CreatedTopic>> create_topic(ClusterClient& client, NewTopic topic) {
  co_return co_await at_controller(client, [&] { return create_once(client, topic); });
}

Task<Status> delete_topic(ClusterClient& client, std::string name) {
  co_return co_await at_controller(client, [&] { return delete_once(client, name); });
}

Task<Status> set_partitions(ClusterClient& client, std::string name, int32_t count) {
  co_return co_await at_controller(client, [&] { return set_partitions_once(client, name, count); });
}

}  // namespace naru::client
