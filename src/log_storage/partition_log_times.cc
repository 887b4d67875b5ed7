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

Result<std::optional<OffsetAndTimestamp>> PartitionLog::find_max_in_batch(Segment& segment, uint64_t position,
                                                                          const BatchHeader& header) {
  NARU_TRY_ASSIGN(const Bytes batch, read_batch(segment, position, header));
  NARU_TRY_ASSIGN(const auto record, naru::find_max_timestamp(batch, start_offset_, config_.max_decompressed_bytes));
  if (!record) return std::nullopt;
  return OffsetAndTimestamp{record->offset, record->timestamp, header.leader_epoch};
}

Result<std::optional<OffsetAndTimestamp>> PartitionLog::find_max_in_segment(Segment& segment, Offset end_limit) {
  std::optional<OffsetAndTimestamp> best;
  const bool whole = segment.base_offset() >= start_offset_ && segment.end_offset() <= end_limit;
  if (whole) {
    // Usually the batch of which the segment knows that its header has the largest timestamp, and then that is it.
    NARU_TRY_ASSIGN(BatchWalk there, segment.walk_from(segment.max_timestamp().batch_base_offset));
    const uint64_t position = there.position();
    NARU_TRY_ASSIGN(const BatchHeader header, there.next());
    NARU_TRY_ASSIGN(best, find_max_in_batch(segment, position, header));
    if (best && best->timestamp == segment.max_timestamp().timestamp) return best;
  }
  // Compaction has emptied it, or it is out of bounds in part: a header is then only an upper limit.
  best = std::nullopt;
  NARU_TRY_ASSIGN(BatchWalk walk, segment.walk_from(std::max(start_offset_, segment.base_offset())));
  while (!walk.at_end()) {
    const uint64_t position = walk.position();
    NARU_TRY_ASSIGN(const BatchHeader header, walk.next());
    if (header.next_offset() > end_limit) break;
    if (header.records_count == 0 || (best && header.max_timestamp <= best->timestamp)) continue;
    NARU_TRY_ASSIGN(const auto found, find_max_in_batch(segment, position, header));
    if (found && (!best || found->timestamp > best->timestamp)) best = found;
  }
  return best;
}

Result<std::optional<OffsetAndTimestamp>> PartitionLog::find_max_timestamp(Offset end_limit) {
  std::optional<OffsetAndTimestamp> best;
  for (const auto& segment : segments_) {
    if (segment->empty() || segment->base_offset() >= end_limit || segment->end_offset() <= start_offset_) continue;
    if (best && segment->max_timestamp().timestamp <= best->timestamp) continue;
    NARU_TRY_ASSIGN(const auto found, find_max_in_segment(*segment, end_limit));
    if (found && (!best || found->timestamp > best->timestamp)) best = found;
  }
  return best;
}

}  // namespace naru
