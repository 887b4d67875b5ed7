#include "log_storage/segment_examination.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "log_storage/batch_walk.h"

namespace naru {
namespace {

constexpr size_t kRewriteBytes = 256 * 1024;

template <class Index>
struct LoadedIndex {
  std::optional<Index> index;
  IndexState state = IndexState::ok;
};

template <class Index>
Result<LoadedIndex<Index>> load_index(OpenFiles& files, const std::string& path) {
  auto index = Index::load(files, path);
  if (index) return LoadedIndex<Index>{std::move(*index)};
  if (index.error() == ErrorCode::not_found) return LoadedIndex<Index>{std::nullopt, IndexState::missing};
  if (index.error() == ErrorCode::corrupt_data) return LoadedIndex<Index>{std::nullopt, IndexState::damaged};
  return failure(std::move(index).error());
}

// The offset index says whether there has to be one, and how long it is.
Result<LoadedIndex<AbortedIndex>> load_aborted(OpenFiles& files, const std::string& path,
                                               const ExaminationRequest& request, uint32_t noted) {
  if (noted == 0) return LoadedIndex<AbortedIndex>{};
  auto index = AbortedIndex::load_whole(files, path);
  if (!index) {
    if (index.error() != ErrorCode::not_found && index.error() != ErrorCode::corrupt_data) {
      return failure(std::move(index).error());
    }
    return LoadedIndex<AbortedIndex>{std::nullopt, IndexState::damaged};
  }
  const uint64_t entries = std::min<uint64_t>(index->size(), AbortedIndex::kMaxAbortedNoted);
  if (entries != noted || index->last()->last_offset >= request.expected_end) {
    return LoadedIndex<AbortedIndex>{std::nullopt, IndexState::damaged};
  }
  return LoadedIndex<AbortedIndex>{std::move(*index)};
}

// Whether a crash alone can have left the indexes of this segment behind.
bool crash_explains_indexes(const SegmentOutside& outside) {
  return !outside.clean_shutdown && (outside.last_segment || outside.reaches_end_of_promise);
}

struct TailWalk {
  std::unique_ptr<Segment> segment;
  SegmentEnd end;
};

// Trusts the indexes; nothing when they lead to anything but the expected end.
Result<std::optional<TailWalk>> walk_tail(OpenFiles& files, const std::string& folder,
                                          const ExaminationRequest& request, OffsetIndex offset_index,
                                          TimeIndex time_index, std::optional<AbortedIndex> aborted_index) {
  auto segment = std::make_unique<Segment>(files, folder, request.base_offset);
  segment->use_indexes(std::move(offset_index), std::move(time_index), std::move(aborted_index));
  auto end = segment->walk_to_end();
  if (!end) {
    const bool damage = end.error() == ErrorCode::corrupt_message || end.error() == ErrorCode::corrupt_data;
    if (damage) return std::nullopt;
    return failure(std::move(end).error());
  }
  if (end->position != segment->size() || end->offset != request.expected_end) return std::nullopt;
  segment->set_end(*end);
  return TailWalk{std::move(segment), *end};
}

Result<ExaminedSegment> scan(OpenFiles& files, const std::string& folder, const ExaminationRequest& request) {
  ExaminedSegment found;
  found.segment = std::make_unique<Segment>(files, folder, request.base_offset);
  NARU_TRY_ASSIGN(const std::shared_ptr<const File> file, found.segment->file());
  NARU_TRY_ASSIGN(const BatchScan scanned, scan_batches(
                                               file, request.base_offset, request.epoch_before,
                                               [&](const BatchHeader& header, uint64_t position) {
                                                 found.segment->note_batch(header, position,
                                                                           request.index_interval_bytes);
                                                 found.scanned_epochs.assign(header.leader_epoch, header.base_offset);
                                                 found.has_markers |= header.is_control();
                                                 if (header.base_offset < request.promised_end) {
                                                   found.promised_bytes = position + header.total_size;
                                                 }
                                               },
                                               request.given_up_from));
  found.content = scanned.all_valid() ? Content::scanned_valid : Content::bad_batch;
  found.end = {scanned.valid_bytes, scanned.valid_end, found.segment->max_timestamp(), scanned.last_epoch};
  found.file_bytes = scanned.file_bytes;
  found.problem = scanned.problem;
  found.scanned_epoch = scanned.last_epoch;
  return found;
}

// Writes the bytes again that are there already. After a sync that failed, the page cache may show bytes that are
// neither on the disk nor marked to go there, and a further sync would be content with that.
Status rewrite(File& file, uint64_t begin, uint64_t end) {
  Bytes buffer;
  for (uint64_t at = begin; at < end; at += buffer.size()) {
    buffer.resize(static_cast<size_t>(std::min<uint64_t>(kRewriteBytes, end - at)));
    NARU_TRY_ASSIGN(const size_t got, file.read_at(at, buffer));
    if (got != buffer.size()) return error(ErrorCode::io_error, "{} became shorter while it was read", file.path());
    NARU_TRY(file.write_at(at, buffer));
  }
  return Status();
}

}  // namespace

std::string ExaminedSegment::describe_problem() const {
  return fmt::format("{}: bad batch at position {}, offset {}: {}", segment->log_path(), end.position, end.offset,
                     problem);
}

Result<ExaminedSegment> examine_segment(OpenFiles& files, const std::string& folder,
                                        const ExaminationRequest& request) {
  const Segment names(files, folder, request.base_offset);
  NARU_TRY_ASSIGN(const auto log_file, names.file());
  NARU_TRY_ASSIGN(const uint64_t log_bytes, log_file->size());
  NARU_TRY_ASSIGN(const WallTimeMs modified_ms, log_file->modified_ms());
  SegmentOutside outside = request.outside;
  LoadedIndex<OffsetIndex> offset_index;
  LoadedIndex<TimeIndex> time_index;
  LoadedIndex<AbortedIndex> aborted_index;
  // Where even good indexes would not help, nobody looks at them.
  if (decide(outside) == Examination::walk_tail) {
    NARU_TRY_ASSIGN(offset_index, load_index<OffsetIndex>(files, names.paths()[1]));
    NARU_TRY_ASSIGN(time_index, load_index<TimeIndex>(files, names.paths()[2]));
    const uint32_t noted = offset_index.index ? offset_index.index->aborted_noted() : 0;
    NARU_TRY_ASSIGN(aborted_index, load_aborted(files, names.paths()[3], request, noted));
  }
  // An offset index that speaks of another one which is not there is as good as damaged.
  outside.offset_index = aborted_index.state == IndexState::ok ? offset_index.state : aborted_index.state;
  outside.time_index = time_index.state;
  if (offset_index.index && offset_index.index->last() && offset_index.index->last()->position >= log_bytes) {
    outside.offset_index = IndexState::beyond_log;
  }
  if (time_index.index && time_index.index->last() &&
      request.base_offset + time_index.index->last()->relative_offset >= request.expected_end) {
    outside.time_index = IndexState::beyond_log;
  }

  std::optional<TailWalk> walked;
  if (decide(outside) == Examination::walk_tail) {
    NARU_TRY_ASSIGN(walked, walk_tail(files, folder, request, std::move(*offset_index.index),
                                      std::move(*time_index.index), std::move(aborted_index.index)));
  }
  if (walked) {
    walked->segment->set_last_append_ms(modified_ms);
    return ExaminedSegment{.segment = std::move(walked->segment),
                           .end = walked->end,
                           .file_bytes = log_bytes,
                           .scanned_epoch = request.epoch_before,
                           .modified_ms = modified_ms};
  }
  NARU_TRY_ASSIGN(auto found, scan(files, folder, request));
  found.segment->set_last_append_ms(modified_ms);
  found.modified_ms = modified_ms;
  found.index_damage_unexplained = !crash_explains_indexes(outside);
  return found;
}

Status settle_examined_segment(ExaminedSegment& examined, bool last) {
  if (!examined.scanned()) return Status();
  Segment& segment = *examined.segment;
  NARU_TRY_ASSIGN(const auto file, segment.file());
  if (examined.content == Content::bad_batch) NARU_TRY(file->truncate(examined.end.position));
  NARU_TRY(rewrite(*file, examined.promised_bytes, examined.end.position));
  // Retention asks when the segment was last appended to; repairing it is no append.
  const bool repaired = examined.content == Content::bad_batch || examined.promised_bytes < examined.end.position;
  if (repaired) NARU_TRY(file->set_modified_ms(examined.modified_ms));
  NARU_TRY(file->sync_data());
  return last ? Status() : segment.replace_index_files();
}

}  // namespace naru
