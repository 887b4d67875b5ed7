#include "client/record_time.h"

#include "client/broker_error.h"
#include "client/fetched_records.h"
#include "kafka_protocol/messages/fetch_request.h"
#include "kafka_protocol/messages/fetch_response.h"
#include "record_format/record_batch.h"

namespace naru::client {
namespace {

constexpr VersionRange kFetchBatchVersions{.min = 4, .max = 12};  // from 13 on topics have ids instead of names
constexpr int kBatchesWithoutRecordsMax = 16;
constexpr int32_t kOneBatch = 1;  // the first batch comes whole, however large it is

Task<Result<kafka::Records>> fetch_batch(ClusterClient& client, const TopicPartition& partition, Offset from) {
  const PartitionInfo* known = client.metadata().find_partition(partition);
  if (known == nullptr || known->is_offline())
    co_return failure(broker_error(ErrorCode::leader_not_available, partition.to_string()));
  kafka::FetchRequest request;
  request.max_wait_ms = 0;
  request.max_bytes = kOneBatch;
  auto& topic = request.topics.emplace_back();
  topic.topic = partition.topic;
  auto& wanted = topic.partitions.emplace_back();
  wanted.partition = partition.partition;
  wanted.fetch_offset = from;
  wanted.partition_max_bytes = kOneBatch;
  NARU_CO_TRY_ASSIGN(const Connection connection, co_await client.broker(known->leader));
  NARU_CO_TRY_ASSIGN(auto response, co_await connection->call<kafka::FetchResponse>(
                                        request, client.options().request_timeout, kFetchBatchVersions));
  NARU_CO_TRY(broker_error(response.error_code, partition.to_string()));
  for (auto& answered : response.responses) {
    for (auto& data : answered.partitions) {
      if (answered.topic != partition.topic || data.partition_index != partition.partition) continue;
      NARU_CO_TRY(broker_error(data.error_code, partition.to_string()));
      co_return std::move(data.records);
    }
  }
  co_return failure(ErrorCode::network_exception, "{}: the broker's answer leaves it out", partition.to_string());
}

}  // namespace

Task<Result<std::optional<WallTimeMs>>> first_record_time(ClusterClient& client, TopicPartition partition, Offset from,
                                                          Offset end) {
  WallTimeMs time = kNoTimestamp;
  bool found = false;
  for (int i = 0; i < kBatchesWithoutRecordsMax && from < end && !found; ++i) {
    NARU_CO_TRY_ASSIGN(const kafka::Records records, co_await fetch_batch(client, partition, from));
    if (records.empty()) break;
    NARU_CO_TRY_ASSIGN(from, visit_records(records.bytes(), from, [&](const RecordView& record) {
                         time = record.timestamp;
                         found = true;
                         return false;
                       }));
  }
  if (!found || time == kNoTimestamp) co_return std::nullopt;
  co_return time;
}

}  // namespace naru::client
