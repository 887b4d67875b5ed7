#include "client/partition_producers.h"

#include <algorithm>
#include <set>
#include <span>

#include "client/broker_error.h"
#include "kafka_protocol/messages/describe_producers_request.h"
#include "kafka_protocol/messages/describe_producers_response.h"
#include "kafka_protocol/messages/write_txn_markers_request.h"
#include "kafka_protocol/messages/write_txn_markers_response.h"

namespace naru::client {
namespace {

using Found = std::map<TopicPartition, ProducersOfPartition>;
using DescribedProducers = kafka::DescribeProducersResponse::PartitionResponse;

// Of one request: each may have thousands of producers.
constexpr size_t kPartitionsAtOnce = 500;
// The numbers of epochs are larger on this wire than anywhere else.
constexpr int32_t kProducerEpochMax = INT16_MAX;

ProducersOfPartition to_producers(const DescribedProducers& described, const TopicPartition& name) {
  ProducersOfPartition found{.status = broker_error(described.error_code, name.to_string(), described.error_message)};
  for (const auto& producer : described.active_producers) {
    if (producer.producer_epoch < -1 || producer.producer_epoch > kProducerEpochMax) {
      found.status = error(ErrorCode::corrupt_message, "{}: producer {} has the epoch {}, which none can have",
                           name.to_string(), producer.producer_id, producer.producer_epoch);
      break;
    }
    found.producers.push_back(
        {.producer = {producer.producer_id, ProducerEpoch(static_cast<int16_t>(producer.producer_epoch))},
         .last_timestamp = producer.last_timestamp,
         .coordinator_epoch = producer.coordinator_epoch,
         .transaction_start = producer.current_txn_start_offset});
  }
  return found;
}

Task<Result<kafka::DescribeProducersResponse>> ask_for_producers(ClusterClient& client, BrokerId leader,
                                                                 std::span<const TopicPartition> partitions) {
  NARU_CO_TRY_ASSIGN(const Connection connection, co_await client.broker(leader));
  kafka::DescribeProducersRequest request;
  for (const TopicPartition& partition : partitions) {
    if (request.topics.empty() || request.topics.back().name != partition.topic) {
      request.topics.emplace_back().name = partition.topic;
    }
    request.topics.back().partition_indexes.push_back(partition.partition);
  }
  co_return co_await connection->call<kafka::DescribeProducersResponse>(request, client.options().request_timeout);
}

Task<void> describe_at(ClusterClient& client, BrokerId leader, std::span<const TopicPartition> partitions,
                       Found& found) {
  for (const TopicPartition& partition : partitions) {
    found[partition].status =
        error(ErrorCode::network_exception, "{}: the broker's answer leaves it out", partition.to_string());
  }
  const auto response = co_await ask_for_producers(client, leader, partitions);
  if (!response) {
    for (const TopicPartition& partition : partitions) found[partition].status = response.error();
    co_return;
  }
  for (const auto& topic : response->topics) {
    for (const DescribedProducers& described : topic.partitions) {
      const TopicPartition name{topic.name, described.partition_index};
      if (const auto asked = found.find(name); asked != found.end()) asked->second = to_producers(described, name);
    }
  }
}

Task<void> describe_at_leaders(ClusterClient& client, const std::vector<TopicPartition>& partitions, Found& found) {
  std::map<BrokerId, std::vector<TopicPartition>> by_leader;
  for (const TopicPartition& partition : partitions) {
    const PartitionInfo* known = client.metadata().find_partition(partition);
    if (known != nullptr && !known->is_offline()) {
      by_leader[known->leader].push_back(partition);
      continue;
    }
    const ErrorCode code = known == nullptr ? ErrorCode::unknown_topic_or_partition : ErrorCode::leader_not_available;
    found[partition].status = broker_error(code, partition.to_string());
  }
  for (const auto& [leader, led] : by_leader) {
    for (std::span<const TopicPartition> rest = led; !rest.empty();) {
      const auto some = rest.first(std::min(rest.size(), kPartitionsAtOnce));
      rest = rest.subspan(some.size());
      co_await describe_at(client, leader, some, found);
    }
  }
}

kafka::WriteTxnMarkersRequest abort_request(const TopicPartition& partition, const PartitionProducer& producer) {
  kafka::WriteTxnMarkersRequest request;
  auto& marker = request.markers.emplace_back();
  marker.producer_id = producer.producer.id;
  marker.producer_epoch = producer.producer.epoch;
  marker.transaction_result = false;
  marker.coordinator_epoch = std::max(0, producer.coordinator_epoch);
  auto& topic = marker.topics.emplace_back();
  topic.name = partition.topic;
  topic.partition_indexes = {partition.partition};
  return request;
}

}  // namespace

const PartitionProducer* ProducersOfPartition::find(ProducerId id) const {
  const auto found = std::ranges::find(producers, id, [](const PartitionProducer& p) { return p.producer.id; });
  return found == producers.end() ? nullptr : &*found;
}

Task<Found> describe_producers(ClusterClient& client, std::vector<TopicPartition> partitions) {
  std::ranges::sort(partitions);
  Found found;
  co_await describe_at_leaders(client, partitions, found);
  std::vector<TopicPartition> again;
  std::set<std::string> topics;
  for (const auto& [name, producers] : found) {
    if (!needs_new_metadata(producers.status.code())) continue;
    again.push_back(name);
    topics.insert(name.topic);
  }
  if (again.empty() || !(co_await client.refresh({topics.begin(), topics.end()})).ok()) co_return found;
  co_await describe_at_leaders(client, again, found);
  co_return found;
}

Task<Status> abort_in_partition(ClusterClient& client, TopicPartition partition, PartitionProducer producer) {
  const PartitionInfo* known = client.metadata().find_partition(partition);
  if (known == nullptr || known->is_offline()) {
    co_return broker_error(ErrorCode::leader_not_available, partition.to_string());
  }
  NARU_CO_TRY_ASSIGN(const Connection connection, co_await client.broker(known->leader));
  NARU_CO_TRY_ASSIGN(const auto response, co_await connection->call<kafka::WriteTxnMarkersResponse>(
                                              abort_request(partition, producer), client.options().request_timeout));
  for (const auto& marker : response.markers) {
    for (const auto& topic : marker.topics) {
      for (const auto& answered : topic.partitions) {
        if (topic.name != partition.topic || answered.partition_index != partition.partition) continue;
        co_return broker_error(answered.error_code, partition.to_string());
      }
    }
  }
  co_return error(ErrorCode::network_exception, "{}: the broker's answer leaves it out", partition.to_string());
}

}  // namespace naru::client
