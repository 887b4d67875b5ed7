// The lookups of PartitionLog by timestamp.
#include <algorithm>
#include <utility>

#include "log_storage/partition_log.h"
#include "log_storage/segment.h"
#include "record_format/timestamp_search.h"

namespace naru {
namespace {

// The whole batch where `walk` stands, checked.
Result<Bytes> read_batch(Segment& segment, uint64_t position, const BatchHeader& header) {
  NARU_TRY_ASSIGN(const auto file, segment.file());
  Bytes batch(header.total_size);
  NARU_TRY_ASSIGN(const size_t got, file->read_at(position, batch));
  if (got == batch.size() && batch_crc_matches(batch)) return batch;
  return failure(ErrorCode::corrupt_message, "{}: damaged batch at position {}, offset {}: the CRC does not match",
                 segment.log_path(), position, header.base_offset);
}

}  // namespace

Result<std::optional<OffsetAndTimestamp>> PartitionLog::find_first_at_or_after(WallTimeMs timestamp, Offset end_limit) {
  for (const auto& segment : segments_) {
    if (segment->empty() || segment->max_timestamp().timestamp < timestamp) continue;
    NARU_TRY_ASSIGN(auto found, find_in_segment(*segment, timestamp, end_limit));
    if (found || segment->end_offset() >= end_limit) return found;
  }
  return std::nullopt;
}

Result<std::optional<OffsetAndTimestamp>> PartitionLog::find_in_segment(Segment& segment, WallTimeMs timestamp,
                                                                        Offset end_limit) {
  NARU_TRY_ASSIGN(BatchWalk walk, segment.walk_to_timestamp(timestamp));
  while (!walk.at_end()) {
    const uint64_t position = walk.position();
    NARU_TRY_ASSIGN(const BatchHeader header, walk.next());
    if (header.base_offset >= end_limit) return std::nullopt;
    if (header.max_timestamp < timestamp || header.last_offset() < start_offset_) continue;
    NARU_TRY_ASSIGN(const Bytes batch, read_batch(segment, position, header));
    NARU_TRY_ASSIGN(const auto record,
                    naru::find_first_at_or_after(batch, timestamp, start_offset_, config_.max_decompressed_bytes));
    if (!record) continue;
    if (record->offset >= end_limit) return std::nullopt;
    return OffsetAndTimestamp{record->offset, record->timestamp, header.leader_epoch};
  }
  return std::nullopt;
}

Result<std::optional<OffsetAndTimestamp>> PartitionLog::find_max_timestamp(Offset end_limit) {
  MaxTimestamp best;
  for (const auto& segment : segments_) {
    if (segment->empty() || segment->base_offset() >= end_limit) continue;
    MaxTimestamp here = segment->max_timestamp();
    if (segment->end_offset() > end_limit) {
      NARU_TRY_ASSIGN(const SegmentEnd end, segment->end_below(end_limit));
      here = end.max_timestamp;
    }
    if (here.batch_base_offset != kNoOffset) best.include(here.timestamp, here.batch_base_offset);
  }
  if (best.batch_base_offset == kNoOffset) return std::nullopt;

  Segment& segment = *segments_[segment_index(best.batch_base_offset)];
  NARU_TRY_ASSIGN(BatchWalk walk, segment.walk_from(best.batch_base_offset));
  const uint64_t position = walk.position();
  NARU_TRY_ASSIGN(const BatchHeader header, walk.next());
  NARU_TRY_ASSIGN(const Bytes batch, read_batch(segment, position, header));
  NARU_TRY_ASSIGN(const auto record, naru::find_max_timestamp(batch, config_.max_decompressed_bytes));
  if (!record) return std::nullopt;
  return OffsetAndTimestamp{record->offset, record->timestamp, header.leader_epoch};
}

}  // namespace naru
