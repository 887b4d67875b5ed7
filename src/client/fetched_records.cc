#include "client/fetched_records.h"

#include <algorithm>
#include <functional>
#include <set>
#include <vector>

#include "record_format/decompressor.h"
#include "record_format/record_batch.h"
#include "record_format/transaction_marker.h"

namespace naru::client {
namespace {

constexpr size_t kDecompressedMax = 256u << 20;

using Aborted = kafka::FetchResponse::AbortedTransaction;

// Whose batches are to be passed over, at one place in the log.
class AbortedProducers {
 public:
  explicit AbortedProducers(AbortedTransactions aborted) : later_(aborted.begin(), aborted.end()) {
    std::ranges::sort(later_, std::greater(), &Aborted::first_offset);
  }

  // Batches come in the order of the log.
  bool pass_over(const BatchHeader& header, BytesView batch) {
    while (!later_.empty() && later_.back().first_offset <= header.last_offset()) {
      now_.insert(later_.back().producer_id);
      later_.pop_back();
    }
    if (!header.is_control()) return header.is_transactional() && now_.contains(header.producer_id);
    const auto marker = parse_marker_batch(batch);
    if (marker && marker->result == TransactionResult::abort) now_.erase(header.producer_id);
    return true;
  }

 private:
  std::vector<Aborted> later_;  // the next one is the last
  std::set<ProducerId> now_;
};

struct Visited {
  Offset next;
  bool stopped = false;
};

Result<Visited> visit_batch(const BatchHeader& header, BytesView batch, Offset from,
                            UniqueFunction<bool(const RecordView&)>& visit, AbortedProducers& aborted) {
  if (!batch_crc_matches(batch)) {
    return failure(ErrorCode::corrupt_message, "the batch at offset {} is damaged: its checksum is wrong",
                   header.base_offset);
  }
  const Visited whole{.next = std::max(from, header.next_offset())};
  if (aborted.pass_over(header, batch) || header.next_offset() <= from) return whole;
  Decompressor decompressor;
  auto reader = open_records(header, batch, decompressor, kDecompressedMax);
  if (!reader) {
    return failure(ErrorCode::corrupt_message, "the batch at offset {} cannot be read: {}", header.base_offset,
                   reader.error().message());
  }
  RecordView record;
  while (reader->next(record)) {
    if (record.offset >= from && !visit(record)) return Visited{.next = record.offset + 1, .stopped = true};
  }
  if (!reader->status().ok()) {
    return failure(ErrorCode::corrupt_message, "the batch at offset {} cannot be read: {}", header.base_offset,
                   reader->status().message());
  }
  return whole;
}

}  // namespace

Result<Offset> visit_records(BytesView batches, Offset from, UniqueFunction<bool(const RecordView&)> visit,
                             AbortedTransactions aborted) {
  AbortedProducers aborted_producers(aborted);
  bool first = true;
  while (!batches.empty()) {
    const auto size = parse_batch_size(batches);
    if ((!size && size.error() == ErrorCode::corrupt_message && batches.size() < kBatchHeaderSize) ||
        (size && *size > batches.size())) {
      if (!first) return from;
      return failure(ErrorCode::corrupt_message, "the broker sent only a part of the batch at offset {}", from);
    }
    const auto header = parse_batch_header(batches);
    if (!header) {
      return failure(ErrorCode::corrupt_message, "the batch behind offset {} has a header that makes no sense: {}",
                     from, header.error().message());
    }
    NARU_TRY_ASSIGN(const Visited visited,
                    visit_batch(*header, batches.first(header->total_size), from, visit, aborted_producers));
    from = visited.next;
    if (visited.stopped) return from;
    batches = batches.subspan(header->total_size);
    first = false;
  }
  return from;
}

}  // namespace naru::client
