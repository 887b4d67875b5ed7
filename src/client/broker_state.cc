#include "client/broker_state.h"

#include "client/broker_error.h"
#include "kafka_protocol/messages/describe_cluster_request.h"
#include "kafka_protocol/messages/describe_cluster_response.h"
#include "kafka_protocol/messages/describe_configs_request.h"
#include "kafka_protocol/messages/describe_configs_response.h"
#include "kafka_protocol/messages/describe_log_dirs_request.h"
#include "kafka_protocol/messages/describe_log_dirs_response.h"

namespace naru::client {
namespace {

std::optional<uint64_t> known(int64_t bytes) {
  return bytes < 0 ? std::nullopt : std::optional(static_cast<uint64_t>(bytes));
}

}  // namespace

Task<Result<std::vector<LogFolder>>> describe_log_folders(BrokerConnection& connection, Duration timeout) {
  NARU_CO_TRY_ASSIGN(const auto response, co_await connection.call<kafka::DescribeLogDirsResponse>(
                                              kafka::DescribeLogDirsRequest(), timeout));
  NARU_CO_TRY(broker_error(response.error_code, fmt::format("broker {}", connection.address().to_string())));
  std::vector<LogFolder> folders;
  for (const auto& result : response.results) {
    LogFolder folder{.path = result.log_dir,
                     .error = result.error_code,
                     .total_bytes = known(result.total_bytes),
                     .free_bytes = known(result.usable_bytes),
                     .partitions = {}};
    for (const auto& topic : result.topics) {
      for (const auto& partition : topic.partitions) {
        if (partition.partition_size < 0) continue;
        if (__builtin_add_overflow(folder.log_bytes, partition.partition_size, &folder.log_bytes)) {
          co_return failure(ErrorCode::corrupt_message, "broker {}: sizes that no disk has",
                            connection.address().to_string());
        }
        folder.partitions.push_back(
            {{topic.name, partition.partition_index}, static_cast<uint64_t>(partition.partition_size)});
      }
    }
    folders.push_back(std::move(folder));
  }
  co_return folders;
}

int64_t BrokerClock::ahead_ms() const {
  if (broker > after) return broker - after;
  if (broker < before) return broker - before;
  return 0;
}

Task<Result<std::optional<BrokerClock>>> ask_for_time(BrokerConnection& connection, const Clock& clock,
                                                      Duration timeout) {
  if (!connection.versions().offers(kafka::ApiKey::describe_cluster)) co_return std::nullopt;
  kafka::DescribeClusterRequest request;
  request.naru_include_time = true;
  BrokerClock times{.before = clock.wall_now_ms()};
  NARU_CO_TRY_ASSIGN(const auto response, co_await connection.call<kafka::DescribeClusterResponse>(request, timeout));
  times.after = clock.wall_now_ms();
  times.broker = response.naru_time_ms;
  if (response.naru_time_ms < 0) co_return std::nullopt;
  co_return times;
}

Task<Result<ListenerSettings>> describe_listeners(BrokerConnection& connection, BrokerId broker, Duration timeout) {
  constexpr int8_t kBrokerResource = 4;
  constexpr std::string_view kListeners = "listeners";
  constexpr std::string_view kBetweenBrokers = "inter.broker.listener.name";
  const std::string name = fmt::format("{}", broker);
  kafka::DescribeConfigsRequest request;
  auto& resource = request.resources.emplace_back();
  resource.resource_type = kBrokerResource;
  resource.resource_name = name;
  resource.configuration_keys.emplace({kListeners, kBetweenBrokers});
  NARU_CO_TRY_ASSIGN(const auto response, co_await connection.call<kafka::DescribeConfigsResponse>(request, timeout));
  ListenerSettings settings;
  for (const auto& result : response.results) {
    NARU_CO_TRY(broker_error(result.error_code, fmt::format("broker {}", name), result.error_message));
    for (const auto& config : result.configs) {
      if (config.name == kListeners) settings.listeners = config.value.value_or("");
      if (config.name == kBetweenBrokers) settings.between_brokers = config.value;
    }
  }
  co_return settings;
}

}  // namespace naru::client
