#include "client/fetched_records.h"

#include <algorithm>

#include "record_format/decompressor.h"
#include "record_format/record_batch.h"

namespace naru::client {
namespace {

constexpr size_t kDecompressedMax = 256u << 20;

struct Visited {
  Offset next;
  bool stopped = false;
};

Result<Visited> visit_batch(const BatchHeader& header, BytesView batch, Offset from,
                            UniqueFunction<bool(const RecordView&)>& visit) {
  if (!batch_crc_matches(batch)) {
    return failure(ErrorCode::corrupt_message, "the batch at offset {} is damaged: its checksum is wrong",
                   header.base_offset);
  }
  const Visited whole{.next = std::max(from, header.next_offset())};
  if (header.is_control() || header.next_offset() <= from) return whole;
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

Result<Offset> visit_records(BytesView batches, Offset from, UniqueFunction<bool(const RecordView&)> visit) {
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
    NARU_TRY_ASSIGN(const Visited visited, visit_batch(*header, batches.first(header->total_size), from, visit));
    from = visited.next;
    if (visited.stopped) return from;
    batches = batches.subspan(header->total_size);
    first = false;
  }
  return from;
}

}  // namespace naru::client
