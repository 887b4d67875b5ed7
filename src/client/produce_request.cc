#include "client/produce_request.h"

#include <algorithm>
#include <chrono>

#include "client/broker_error.h"
#include "kafka_protocol/messages/produce_request.h"
#include "kafka_protocol/messages/produce_response.h"

namespace naru::client {
namespace {

using Batches = std::span<const std::unique_ptr<ProducerBatch>>;

// From version 13 on topics have ids instead of names; the names are what we know for sure.
constexpr VersionRange kVersions{.min = 3, .max = 12};

kafka::ProduceRequest make_request(Batches batches, int16_t acks, Duration timeout) {
  kafka::ProduceRequest request;
  request.acks = acks;
  request.timeout_ms = static_cast<int32_t>(std::chrono::duration_cast<Milliseconds>(timeout).count());
  for (const auto& batch : batches) {
    auto& topics = request.topic_data;
    if (topics.empty() || topics.back().name != batch->partition.topic) {
      topics.emplace_back().name = batch->partition.topic;
    }
    auto& partition = topics.back().partition_data.emplace_back();
    partition.index = batch->partition.partition;
    partition.records = batch->bytes;
  }
  return request;
}

ProduceResult find_result(const kafka::ProduceResponse& response, const TopicPartition& partition) {
  for (const auto& topic : response.responses) {
    if (topic.name != partition.topic) continue;
    for (const auto& result : topic.partition_responses) {
      if (result.index != partition.partition) continue;
      return {.status = broker_error(result.error_code, partition.to_string(), result.error_message),
              .base_offset = result.base_offset};
    }
  }
  return {.status =
              error(ErrorCode::network_exception, "{}: the broker's answer leaves it out", partition.to_string())};
}

}  // namespace

Task<Result<std::vector<ProduceResult>>> send_batches(BrokerConnection& connection, Batches batches, int16_t acks,
                                                      Duration timeout) {
  std::vector<TopicPartition> partitions;
  for (const auto& batch : batches) partitions.push_back(batch->partition);
  NARU_CO_TRY_ASSIGN(const auto response, co_await connection.call<kafka::ProduceResponse>(
                                              make_request(batches, acks, timeout), timeout, kVersions));
  std::vector<ProduceResult> results;
  for (const TopicPartition& partition : partitions) results.push_back(find_result(response, partition));
  co_return results;
}

Status send_without_answer(BrokerConnection& connection, Batches batches) {
  return connection.send(make_request(batches, 0, Duration(0)), kVersions);
}

}  // namespace naru::client
