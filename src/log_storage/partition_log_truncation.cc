// Taking records away from the end of a log, or all of them.
#include <algorithm>
#include <memory>
#include <utility>

#include "log_storage/aborted_rebuild.h"
#include "log_storage/checkpoint_file.h"
#include "log_storage/partition_folder.h"
#include "log_storage/partition_log.h"
#include "log_storage/segment.h"

namespace naru {

Status PartitionLog::truncate_to(Offset end) {
  NARU_TRY(check_writable());
  if (end >= end_offset()) return Status();
  if (swap_end_ && end < *swap_end_) {
    return error(ErrorCode::request_timed_out, "{} is being compacted up to offset {}: try again", folder_, *swap_end_);
  }
  if (end < noted_start_) {
    return error(ErrorCode::offset_out_of_range, "{} cannot be truncated to {}: it begins at {}", folder_, end,
                 noted_start_);
  }
  const Status status = truncate_segments(end);
  if (!status.ok()) {
    go_offline(status);
    return check_writable();
  }
  return Status();
}

Status PartitionLog::truncate_segments(Offset end) {
  const size_t index = segment_index(end);
  Segment& last = *segments_[index];
  NARU_TRY_ASSIGN(const SegmentEnd cut, last.end_below(end));
  // First the promises, on disk and without an older slot: whatever happens from here on, recovery does not miss what
  // is being cut, and no commit journal brings it back. From then on journals do not count for what stays, either.
  if (std::min(durable_end(), cut.offset) > synced_end()) NARU_TRY(sync_journaled_part());
  ++truncations_;
  durable_.truncated(cut.offset);
  NARU_TRY(checkpoint_->write_both_and_sync({synced_end(), noted_start_, truncations_}));
  checkpoint_unsynced_ = false;
  NARU_TRY(remove_segments_behind(index));
  NARU_TRY(last.truncate_to(cut, config_.index_interval_bytes));
  NARU_TRY(last.reactivate());
  epochs_.truncate(end_offset());
  compaction_progress_.first_dirty = std::min(compaction_progress_.first_dirty, end_offset());
  unsynced_.epochs = true;
  limit_tombstone_horizon();
  if (stored_tombstones_) NARU_TRY(store_lower_horizon());
  NARU_TRY(producers_.rebuild(segments_));
  if (!last.aborted_in_doubt()) return Status();
  std::vector<Segment*> segments;
  for (const auto& segment : segments_) segments.push_back(segment.get());
  return rebuild_aborted(segments, producers_);
}

Status PartitionLog::restart_at(Offset start, WallTimeMs now) {
  NARU_TRY(check_writable());
  if (swap_end_) return error(ErrorCode::request_timed_out, "{} is being compacted: try again", folder_);
  const Status status = begin_empty_at(start, now);
  if (!status.ok()) {
    go_offline(status);
    return check_writable();
  }
  return Status();
}

Status PartitionLog::restart_with(Offset start, ProducerState producers, WallTimeMs now) {
  NARU_TRY(check_writable());
  const bool is_there = start_offset_ == start && end_offset() == start && segments_.front()->base_offset() == start;
  if (!is_there) NARU_TRY(restart_at(start, now));
  const Status stored = producers_.begin_with(std::move(producers), start);
  return stored.ok() ? Status() : after_failed_write(stored);
}

Status PartitionLog::restart_with(Offset start, BytesView producers, WallTimeMs now) {
  NARU_TRY_ASSIGN(ProducerState state, producers_.decode(producers, start));
  return restart_with(start, std::move(state), now);
}

// Snapshots that could be taken for some of the new log go first: without them, more is read. Then the epochs: those of
// records that are gone would contradict the leader's for ever, while those of records that a crash leaves can be read
// from them. Then the promises, without an older slot: from there on recovery misses nothing of what is being removed,
// and no commit journal brings it back.
Status PartitionLog::begin_empty_at(Offset start, WallTimeMs now) {
  NARU_TRY(producers_.forget_snapshots_from(start));
  NARU_TRY(replace_file(file_system_, folder_, std::string(kEpochFileName), as_bytes(EpochHistory().to_text())));
  ++truncations_;
  start_offset_ = noted_start_ = start;
  durable_ = DurablePrefix(start);
  epochs_ = {};
  compaction_progress_ = {};
  NARU_TRY(checkpoint_->write_both_and_sync({start, start, truncations_}));
  checkpoint_unsynced_ = false;
  // The last one first: what a crash leaves is a beginning of the log at every moment.
  while (!segments_.empty()) {
    NARU_TRY(Segment::remove_files(file_system_, open_files_, folder_, segments_.back()->base_offset()));
    if (segments_.size() == 1) break;
    segments_.pop_back();
  }
  segments_.front() = std::make_unique<Segment>(open_files_, folder_, start);
  NARU_TRY(active().activate(OpenMode::create, now));
  unsynced_ = {};
  NARU_TRY(file_system_.sync_directory(folder_));
  limit_tombstone_horizon();
  if (stored_tombstones_) NARU_TRY(store_lower_horizon());
  return producers_.rebuild(segments_);
}

Status PartitionLog::remove_segments_behind(size_t last_kept) {
  if (last_kept + 1 == segments_.size()) return Status();
  while (segments_.size() > last_kept + 1) {
    NARU_TRY(Segment::remove_files(file_system_, open_files_, folder_, active().base_offset()));
    segments_.pop_back();
  }
  return file_system_.sync_directory(folder_);
}

}  // namespace naru
