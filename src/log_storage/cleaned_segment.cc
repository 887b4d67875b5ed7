#include "log_storage/cleaned_segment.h"

#include <limits>
#include <utility>

#include "foundation/assert.h"
#include "log_storage/partition_folder.h"
#include "record_format/batch_rewriter.h"

namespace naru {
namespace {

constexpr size_t kWriteBytes = 512 * 1024;
// Positions in an index have 32 bits.
constexpr uint64_t kLargestFile = std::numeric_limits<uint32_t>::max();

}  // namespace

Result<CleanedSegment> CleanedSegment::create(OpenFiles& open_files, const std::string& folder, Offset base_offset,
                                              const LogConfig& config) {
  const std::string path = fmt::format("{}/{}{}", folder, segment_file_name(base_offset, kLogSuffix), kCleanedSuffix);
  NARU_TRY_ASSIGN(auto file, open_files.file_system().open(path, OpenMode::create));
  NARU_TRY(file->truncate(0));
  return CleanedSegment(open_files, folder, base_offset, config, std::move(file));
}

CleanedSegment::CleanedSegment(OpenFiles& open_files, std::string folder, Offset base_offset, const LogConfig& config,
                               std::shared_ptr<File> file)
    : open_files_(&open_files),
      folder_(std::move(folder)),
      base_offset_(base_offset),
      config_(config),
      file_(std::move(file)),
      segment_(std::make_unique<Segment>(open_files, folder_, base_offset)) {}

std::string CleanedSegment::cleaned_path(std::string_view suffix) const {
  return fmt::format("{}/{}{}", folder_, segment_file_name(base_offset_, suffix), kCleanedSuffix);
}

uint64_t CleanedSegment::bytes() const {
  return segment_->size() + (removed_ ? kBatchHeaderSize : 0);
}

Status CleanedSegment::append(BytesView batch) {
  NARU_TRY(write_filler());
  return write_batch(batch);
}

Status CleanedSegment::append_removed(Offset begin, Offset end, LeaderEpoch epoch) {
  if (removed_ && removed_->epoch == epoch) {
    NARU_ASSERT(removed_->end == begin, "a removed range begins at {}, the one before ends at {}", begin,
                removed_->end);
    removed_->end = end;
    return Status();
  }
  NARU_TRY(write_filler());
  removed_ = Removed{begin, end, epoch};
  return Status();
}

Status CleanedSegment::write_filler() {
  if (!removed_) return Status();
  const Removed removed = *std::exchange(removed_, std::nullopt);
  return write_batch(make_filler_batch(removed.begin, removed.end, removed.epoch));
}

Status CleanedSegment::write_batch(BytesView batch) {
  NARU_TRY_ASSIGN(const BatchHeader header, parse_batch_header(batch));
  if (segment_->size() + batch.size() > kLargestFile) {
    return error(ErrorCode::record_list_too_large, "{} would be larger than 4 GiB", file_->path());
  }
  segment_->note_batch(header, segment_->size(), config_.index_interval_bytes);
  append_bytes(buffer_, batch);
  return buffer_.size() >= kWriteBytes ? write_buffer() : Status();
}

Status CleanedSegment::write_buffer() {
  NARU_TRY(file_->write_at(written_, buffer_));
  written_ += buffer_.size();
  buffer_.clear();
  return Status();
}

bool CleanedSegment::has_room_for(uint64_t bytes, Offset end_offset) const {
  const uint64_t interval = std::max<uint64_t>(config_.index_interval_bytes, 1);
  const uint64_t entries = segment_->indexed_batches() + bytes / interval + 1;
  return this->bytes() + bytes <= config_.segment_bytes &&
         end_offset - 1 - base_offset_ <= std::numeric_limits<int32_t>::max() &&
         entries * OffsetIndexEntry::kSize <= config_.segment_index_bytes;
}

Status CleanedSegment::write_index(std::string_view suffix, BytesView content) {
  NARU_TRY_ASSIGN(const auto file, open_files_->file_system().open(cleaned_path(suffix), OpenMode::create));
  NARU_TRY(file->truncate(0));
  NARU_TRY(file->write_at(0, content));
  return file->sync_data();
}

Status CleanedSegment::finish(WallTimeMs last_append) {
  NARU_TRY(write_filler());
  NARU_TRY(write_buffer());
  NARU_TRY(write_index(kOffsetIndexSuffix, segment_->offset_index_content()));
  NARU_TRY(write_index(kTimeIndexSuffix, segment_->time_index_content()));
  if (segment_->aborted_count() > 0) NARU_TRY(write_index(kAbortedIndexSuffix, segment_->aborted_index_content()));
  NARU_TRY(file_->set_modified_ms(last_append));
  segment_->set_last_append_ms(last_append);
  return file_->sync_data();
}

std::unique_ptr<Segment> CleanedSegment::take_segment() {
  segment_->pin_file(file_);
  return std::move(segment_);
}

void CleanedSegment::discard() {
  for (const std::string_view suffix : {kLogSuffix, kOffsetIndexSuffix, kTimeIndexSuffix, kAbortedIndexSuffix}) {
    ignore(open_files_->file_system().remove_file(cleaned_path(suffix)));  // else the next recovery does
  }
}

}  // namespace naru
