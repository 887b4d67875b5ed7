#include "client/record_time.h"

#include "client/broker_error.h"
#include "client/fetched_records.h"
#include "client/offsets.h"
#include "kafka_protocol/messages/fetch_request.h"
#include "kafka_protocol/messages/fetch_response.h"
#include "record_format/record_batch.h"

namespace naru::client {
namespace {

constexpr VersionRange kFetchBatchVersions{.min = 4, .max = 12};  // from 13 on topics have ids instead of names
constexpr int kBatchesWithoutRecordsMax = 16;
constexpr int32_t kOneBatch = 1;  // the first batch comes whole, however large it is

constexpr int32_t kManyBatches = 1 << 20;

using FetchedPartition = kafka::FetchResponse::PartitionData;

Task<Result<FetchedPartition>> fetch_batches(ClusterClient& client, const TopicPartition& partition, Offset from,
                                             int32_t bytes, Isolation isolation) {
  const PartitionInfo* known = client.metadata().find_partition(partition);
  if (known == nullptr || known->is_offline())
    co_return failure(broker_error(ErrorCode::leader_not_available, partition.to_string()));
  kafka::FetchRequest request;
  request.max_wait_ms = 0;
  request.max_bytes = bytes;
  request.isolation_level = static_cast<int8_t>(isolation);
  auto& topic = request.topics.emplace_back();
  topic.topic = partition.topic;
  auto& wanted = topic.partitions.emplace_back();
  wanted.partition = partition.partition;
  wanted.fetch_offset = from;
  wanted.partition_max_bytes = bytes;
  NARU_CO_TRY_ASSIGN(const Connection connection, co_await client.broker(known->leader));
  NARU_CO_TRY_ASSIGN(auto response, co_await connection->call<kafka::FetchResponse>(
                                        request, client.options().request_timeout, kFetchBatchVersions));
  NARU_CO_TRY(broker_error(response.error_code, partition.to_string()));
  for (auto& answered : response.responses) {
    for (auto& data : answered.partitions) {
      if (answered.topic != partition.topic || data.partition_index != partition.partition) continue;
      NARU_CO_TRY(broker_error(data.error_code, partition.to_string()));
      co_return std::move(data);
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
    NARU_CO_TRY_ASSIGN(const FetchedPartition fetched,
                       co_await fetch_batches(client, partition, from, kOneBatch, Isolation::read_uncommitted));
    if (fetched.records.empty()) break;
    NARU_CO_TRY_ASSIGN(from, visit_records(fetched.records.bytes(), from, [&](const RecordView& record) {
                         time = record.timestamp;
                         found = true;
                         return false;
                       }));
  }
  if (!found || time == kNoTimestamp) co_return std::nullopt;
  co_return time;
}

Task<Result<bool>> has_committed_record(ClusterClient& client, TopicPartition partition, Offset from, Offset end) {
  for (int i = 0; i < kBatchesWithoutRecordsMax && from < end; ++i) {
    NARU_CO_TRY_ASSIGN(const FetchedPartition fetched,
                       co_await fetch_batches(client, partition, from, kManyBatches, Isolation::read_committed));
    if (fetched.records.empty()) co_return false;
    const auto aborted = fetched.aborted_transactions.value_or(std::vector<kafka::FetchResponse::AbortedTransaction>());
    bool found = false;
    const auto visit = [&found](const RecordView&) {
      found = true;
      return false;
    };
    NARU_CO_TRY_ASSIGN(from, visit_records(fetched.records.bytes(), from, visit, aborted));
    if (found) co_return true;
  }
  co_return from < end;
}

}  // namespace naru::client
