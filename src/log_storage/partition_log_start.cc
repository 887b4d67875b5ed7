// The start of a PartitionLog: moving it, and letting go of what lies before it.
#include <algorithm>
#include <utility>

#include "foundation/assert.h"
#include "log_storage/checkpoint_file.h"
#include "log_storage/partition_log.h"
#include "log_storage/segment.h"

namespace naru {

Result<NotedStart> PartitionLog::note_start(Offset start) {
  if (Status status = check_writable(); !status.ok()) return failure(std::move(status));
  if (start > end_offset()) {
    return failure(ErrorCode::offset_out_of_range, "{} ends at {} and cannot begin at {}", folder_, end_offset(),
                   start);
  }
  noted_start_ = std::max(noted_start_, start);
  checkpoint_unsynced_ = true;
  auto written = checkpoint_->write_once_more({synced_end(), noted_start_, truncations_});
  if (!written) return failure(after_failed_write(std::move(written).error()));
  checkpoint_->hold_writes();
  return NotedStart{.checkpoint = std::move(*written), .sequence = checkpoint_->sequence()};
}

Status PartitionLog::start_synced(const NotedStart& noted, const Status& synced) {
  checkpoint_->release_writes();
  if (!synced.ok()) go_offline(final_if_sync_failed(synced));
  NARU_TRY(check_writable());
  checkpoint_->synced(noted.sequence);
  return Status();
}

bool PartitionLog::start_is_safe(Offset start) const {
  return checkpoint_->safe_value() && checkpoint_->safe_value()->log_start_offset >= start;
}

Status PartitionLog::adopt_start(Offset start) {
  NARU_TRY(check_writable());
  if (start > noted_start_) {
    return error(ErrorCode::offset_out_of_range, "{} began anew at {} before it could begin at {}", folder_,
                 noted_start_, start);
  }
  start_offset_ = std::max(start_offset_, start);
  if (epochs_.trim_start(start_offset_)) unsynced_.epochs = true;
  return Status();
}

std::optional<ProducerSnapshotWork> PartitionLog::begin_producer_snapshot() {
  const bool removable = segments_.size() > 1 && segments_.front()->end_offset() <= start_offset_;
  if (!removable || offline()) return std::nullopt;
  Offset end = segments_.front()->end_offset();
  for (const auto& segment : segments_) {
    if (segment->end_offset() <= start_offset_) end = segment->end_offset();
  }
  if (end <= producers_.forgettable_end(synced_end())) return std::nullopt;
  return producers_.begin_snapshot(end_offset());
}

void PartitionLog::finish_producer_snapshot(const ProducerSnapshotWork& work, uint64_t truncations_before) {
  if (truncations_before != truncations_) return producers_.discard_snapshot(work);
  unsynced_.names |= producers_.finish_snapshot(work);
}

RemovedSegments PartitionLog::take_segments_below_start() {
  RemovedSegments removed{.file_system = &file_system_, .folder = folder_};
  const Offset end = std::min(start_offset_, producers_.forgettable_end(synced_end()));
  while (segments_.size() > 1 && segments_.front()->end_offset() <= end) {
    const Segment& segment = *segments_.front();
    for (std::string& path : segment.paths()) {
      open_files_.forget(path);
      removed.paths.push_back(std::move(path));
    }
    ++removed.segments;
    removed.bytes += segment.size();
    segments_.erase(segments_.begin());
  }
  return removed;
}

Status PartitionLog::begin_at_start(WallTimeMs now, RecoveryReport& report) {
  if (end_offset() >= start_offset_) {
    if (epochs_.trim_start(start_offset_)) unsynced_.epochs = true;  // of batches that a journal put back
    return Status();
  }
  // What journals hold of the removed offsets is void, too.
  NARU_TRY(begin_empty_at(start_offset_, now));
  report.end_offset = start_offset_;
  return Status();
}

std::vector<SegmentFacts> PartitionLog::segment_facts() const {
  std::vector<SegmentFacts> facts;
  facts.reserve(segments_.size());
  for (const auto& segment : segments_) {
    facts.push_back({.base_offset = segment->base_offset(),
                     .end_offset = segment->end_offset(),
                     .bytes = segment->size(),
                     .max_timestamp = segment->max_timestamp().timestamp,
                     .first_append = segment->first_append_ms(),
                     .last_append = segment->last_append_ms()});
  }
  return facts;
}

}  // namespace naru
