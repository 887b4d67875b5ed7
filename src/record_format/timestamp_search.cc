#include "record_format/timestamp_search.h"

#include "record_format/decompressor.h"
#include "record_format/record_reader.h"

namespace naru {
namespace {

// The records of a compressed batch are decompressed into the thread's buffer: `visit` must not keep views.
template <class Visit>
Status for_each_record(const BatchHeader& header, BytesView whole_batch, size_t max_decompressed_bytes, Visit visit) {
  Decompressor& decompressor = Decompressor::of_this_thread();
  NARU_TRY_ASSIGN(RecordReader reader, open_records(header, whole_batch, decompressor, max_decompressed_bytes));
  RecordView record;
  bool wants_more = true;
  while (wants_more && reader.next(record)) wants_more = visit(record);
  decompressor.trim();
  return reader.status();
}

}  // namespace

Result<std::optional<TimestampedOffset>> find_first_at_or_after(BytesView whole_batch, WallTimeMs target, Offset from,
                                                                size_t max_decompressed_bytes) {
  NARU_TRY_ASSIGN(const BatchHeader header, parse_batch_header(whole_batch));
  std::optional<TimestampedOffset> found;
  if (header.max_timestamp < target || header.last_offset() < from) return found;
  NARU_TRY(for_each_record(header, whole_batch, max_decompressed_bytes, [&](const RecordView& record) {
    if (record.timestamp >= target && record.offset >= from) found = {record.offset, record.timestamp};
    return !found.has_value();
  }));
  return found;
}

Result<std::optional<TimestampedOffset>> find_max_timestamp(BytesView whole_batch, Offset from,
                                                            size_t max_decompressed_bytes) {
  NARU_TRY_ASSIGN(const BatchHeader header, parse_batch_header(whole_batch));
  std::optional<TimestampedOffset> found;
  NARU_TRY(for_each_record(header, whole_batch, max_decompressed_bytes, [&](const RecordView& record) {
    if (record.offset < from) return true;
    if (!found || record.timestamp > found->timestamp) found = {record.offset, record.timestamp};
    // Where all records have the same timestamp, the first one is the answer.
    return header.timestamp_type() == TimestampType::create_time;
  }));
  return found;
}

}  // namespace naru
