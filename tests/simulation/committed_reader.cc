#include "simulation/committed_reader.h"

#include <algorithm>
#include <set>

#include "kafka_protocol/messages/fetch_request.h"
#include "kafka_protocol/messages/fetch_response.h"
#include "record_format/decompressor.h"
#include "record_format/record_reader.h"
#include "record_format/transaction_marker.h"

namespace naru::simulation {
namespace {

constexpr Duration kCallTimeout = 20s;
constexpr int16_t kFetchVersion = 12;
constexpr int8_t kReadCommitted = 1;
constexpr int32_t kMaxWaitMs = 200;
constexpr size_t kDecompressedMax = 1 << 20;

using Aborted = kafka::FetchResponse::AbortedTransaction;

// Which producers' batches were aborted, from batch to batch.
class AbortedProducers {
 public:
  explicit AbortedProducers(std::vector<Aborted> transactions) : waiting_(std::move(transactions)) {
    std::ranges::sort(waiting_, std::greater(), &Aborted::first_offset);
  }

  bool skips(const BatchHeader& batch) {
    for (; !waiting_.empty() && waiting_.back().first_offset <= batch.last_offset(); waiting_.pop_back()) {
      open_.insert(waiting_.back().producer_id);
    }
    return batch.is_transactional() && open_.contains(batch.producer_id);
  }
  void ended(ProducerId producer) { open_.erase(producer); }

 private:
  std::vector<Aborted> waiting_;  // the first one is the last
  std::set<ProducerId> open_;
};

Status take_batch(const BatchHeader& header, BytesView batch, Offset from, CopyHistory::Records& records) {
  NARU_TRY_ASSIGN(RecordReader reader, open_records(header, batch, Decompressor::of_this_thread(), kDecompressedMax));
  for (RecordView record; reader.next(record);) {
    if (record.offset >= from) records.emplace_back(record.offset, as_text(record.value.value_or(BytesView())));
  }
  return reader.status();
}

Result<CommittedRead> take(BytesView bytes, AbortedProducers aborted, Offset from) {
  CommittedRead read{.records = {}, .next = from};
  while (!bytes.empty()) {
    NARU_TRY_ASSIGN(const BatchHeader header, parse_batch_header(bytes));
    if (header.total_size > bytes.size())
      return failure(ErrorCode::corrupt_message, "a response ends inside of a batch");
    const BytesView batch = bytes.first(header.total_size);
    if (!batch_crc_matches(batch)) return failure(ErrorCode::corrupt_message, "the CRC of a batch does not match");
    const bool skipped = aborted.skips(header);
    if (header.is_control()) {
      NARU_TRY_ASSIGN(const TransactionMarker marker, parse_marker_batch(batch));
      if (marker.result == TransactionResult::abort) aborted.ended(header.producer_id);
    } else if (!skipped) {
      NARU_TRY(take_batch(header, batch, from, read.records));
    }
    read.next = std::max(read.next, header.next_offset());
    bytes = bytes.subspan(header.total_size);
  }
  return read;
}

}  // namespace

Task<Result<CommittedRead>> read_committed(std::shared_ptr<KafkaClient> client, Seams seams, CopyHistory& history,
                                           PartitionName partition, LeaderEpoch epoch, Offset from) {
  kafka::FetchRequest request{
      .max_wait_ms = kMaxWaitMs, .min_bytes = 1, .max_bytes = 1 << 20, .isolation_level = kReadCommitted};
  request.topics.push_back({.topic = partition.first});
  request.topics.back().partitions.push_back(
      {.partition = partition.second,
       .current_leader_epoch = epoch,
       .fetch_offset = from,
       .partition_max_bytes = static_cast<int32_t>(1 + seams.random.below(4000))});
  const auto response = co_await client->call<kafka::FetchResponse>(request, kFetchVersion, kCallTimeout);
  if (!response) co_return failure(response.error());
  const auto& result = response->responses.at(0).partitions.at(0);
  if (result.error_code != ErrorCode::none) co_return failure(Status(result.error_code));
  auto read = take(result.records.bytes(),
                   AbortedProducers(result.aborted_transactions.value_or(std::vector<Aborted>())), from);
  if (!read) co_return read;
  if (read->next > from) history.stable(partition, result.last_stable_offset, read->next);
  for (const auto& [offset, value] : read->records) history.seen(partition, offset, value);
  co_return read;
}

}  // namespace naru::simulation
