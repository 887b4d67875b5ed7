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

bool PartitionLog::begin_swap(const LogCompaction& compaction) {
  NARU_ASSERT(!swap_end_, "two swaps in {} at once", folder_);
  if (compacting_at_ != truncations_) return false;
  swap_end_ = compaction.replaced_end();
  return true;
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
  return Status();
}

Status PartitionLog::end_swap(const LogCompaction& compaction, const Status& finished) {
  if (!finished.ok()) go_offline(finished);
  swap_end_ = std::nullopt;
  NARU_TRY(check_writable());
  segments_[segment_index(compaction.replaced().front())]->files_are_in_place();
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
