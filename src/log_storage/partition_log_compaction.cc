// What a PartitionLog does for its compaction.
#include <algorithm>
#include <utility>

#include "foundation/assert.h"
#include "log_storage/partition_log.h"
#include "log_storage/segment.h"

namespace naru {

Result<std::unique_ptr<LogCompaction>> PartitionLog::begin_compaction(size_t segments,
                                                                      const CompactionSettings& settings) {
  NARU_ASSERT(segments < segments_.size(), "the active segment of {} is not compacted", folder_);
  // Before the first progress is stored: without this file, progress means markers that were dropped unnoticed.
  NARU_TRY(store_tombstone_horizon(tombstones_));
  LogCompaction::Source source{.file_system = &file_system_,
                               .open_files = &open_files_,
                               .folder = folder_,
                               .config = config_,
                               .start_offset = start_offset_,
                               .truncations = truncations_,
                               .progress = compaction_progress_};
  for (const auto& segment : std::span(segments_).first(segments)) {
    source.segments.push_back({.base_offset = segment->base_offset(),
                               .end_offset = segment->end_offset(),
                               .bytes = segment->size(),
                               .last_append = segment->last_append_ms(),
                               .path = segment->log_path()});
  }
  for (const Producer& producer : producers().producers()) {
    if (producer.last_marker != kNoOffset) source.batches_of_producers.push_back(producer.last_marker);
    for (const ProducerBatch& batch : std::span(producer.batches).first(producer.batch_count)) {
      source.batches_of_producers.push_back(batch.base_offset);
    }
  }
  std::ranges::sort(source.batches_of_producers);
  if (segments > 0) {
    NARU_TRY_ASSIGN(source.aborted,
                    aborted_transactions(segments_.front()->base_offset(), segments_[segments - 1]->end_offset()));
  }
  compacting_at_ = truncations_;
  return std::make_unique<LogCompaction>(std::move(source), settings);
}

bool PartitionLog::begin_swap(LogCompaction& compaction) {
  NARU_ASSERT(!swap_end_, "two swaps in {} at once", folder_);
  if (compacting_at_ != truncations_) return false;
  if (compaction.dropped_end() > Offset(0)) compaction.set_horizon(tombstones_.after_drop(compaction.dropped_end()));
  swap_end_ = compaction.replaced_end();
  return true;
}

void PartitionLog::give_up_swap() {
  swap_end_ = std::nullopt;
  stored_tombstones_ = std::nullopt;  // it may have been written, or not
}

Status PartitionLog::adopt_swap(LogCompaction& compaction, const Status& committed) {
  if (!committed.ok()) go_offline(committed);
  NARU_TRY(check_writable());
  const auto& replaced = compaction.replaced();
  const size_t first = segment_index(replaced.front());
  for (size_t i = 0; i < replaced.size(); ++i) {
    NARU_ASSERT(segments_[first + i]->base_offset() == replaced[i], "{} has no segment {} to replace", folder_,
                replaced[i]);
    for (const std::string& path : segments_[first + i]->paths()) open_files_.forget(path);
  }
  NARU_ASSERT(first + replaced.size() < segments_.size(), "the active segment of {} is not compacted", folder_);
  const auto begin = segments_.begin() + static_cast<ptrdiff_t>(first);
  *begin = compaction.take_segment();
  segments_.erase(begin + 1, begin + static_cast<ptrdiff_t>(replaced.size()));
  if (compaction.horizon()) stored_tombstones_ = tombstones_ = *compaction.horizon();
  return Status();
}

Status PartitionLog::end_swap(const LogCompaction& compaction, const Status& finished) {
  if (!finished.ok()) go_offline(finished);
  swap_end_ = std::nullopt;
  NARU_TRY(check_writable());
  segments_[segment_index(compaction.replaced().front())]->files_are_in_place();
  return Status();
}

void PartitionLog::end_compaction(const LogCompaction& compaction) {
  if (compacting_at_ == truncations_) compaction_progress_ = compaction.progress();
}

// --- The tombstone horizon -------------------------------------------------------------------------------------------

// What is missing lies below the end, whatever the file says: a crash may have come between a truncation and the file.
Status PartitionLog::open_tombstone_horizon() {
  using Kind = StoredTombstoneHorizon::Kind;
  NARU_TRY_ASSIGN(const StoredTombstoneHorizon stored, read_tombstone_horizon(file_system_, folder_));
  if (stored.kind == Kind::stored) stored_tombstones_ = stored.value;
  tombstones_ = stored.value;
  // Naru did not keep it once: all that was compacted may lack markers.
  if (stored.kind == Kind::none) tombstones_.offset = compaction_progress_.first_dirty;
  if (stored.kind == Kind::damaged) tombstones_.offset = active().base_offset();  // which is never compacted
  limit_tombstone_horizon();
  return stored.kind == Kind::none ? Status() : store_lower_horizon();
}

void PartitionLog::limit_tombstone_horizon() {
  tombstones_.offset = std::min(tombstones_.offset, end_offset());
}

// Without room for it, the higher one that is stored stays, which only means that somebody begins anew without need.
Status PartitionLog::store_lower_horizon() {
  const Status status = store_tombstone_horizon(tombstones_);
  return is_temporary(status) ? Status() : status;
}

Status PartitionLog::store_tombstone_horizon(const TombstoneHorizon& horizon) {
  if (stored_tombstones_ == horizon) return Status();
  NARU_TRY(write_tombstone_horizon(file_system_, folder_, horizon));
  stored_tombstones_ = horizon;
  return Status();
}

Status PartitionLog::raise_tombstone_horizon(Offset end) {
  NARU_TRY(check_writable());
  if (end <= tombstones_.offset) return Status();
  if (swap_end_) return error(ErrorCode::request_timed_out, "{} is being compacted: try again", folder_);
  const TombstoneHorizon raised{.offset = end, .drops = tombstones_.drops};
  if (Status status = store_tombstone_horizon(raised); !status.ok()) return after_failed_write(std::move(status));
  tombstones_ = raised;
  return Status();
}

Result<Offset> PartitionLog::skip_empty_batches(Offset from, Offset limit) {
  for (size_t i = segment_index(from); i < segments_.size(); ++i) {
    Segment& segment = *segments_[i];
    if (segment.empty() || segment.base_offset() >= limit) break;
    NARU_TRY_ASSIGN(BatchWalk walk, segment.walk_from(std::max(from, segment.base_offset())));
    while (!walk.at_end()) {
      NARU_TRY_ASSIGN(const BatchHeader header, walk.next());
      if (header.next_offset() > limit) return from;
      if (header.records_count > 0) return std::max(from, header.base_offset);
    }
  }
  return from;
}

}  // namespace naru
