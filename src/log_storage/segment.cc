#include "log_storage/segment.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "foundation/assert.h"
#include "foundation/crc32c.h"
#include "log_storage/partition_folder.h"
#include "log_storage/sync_work.h"

namespace naru {
namespace {

std::string path_of(const std::string& folder, Offset base_offset, std::string_view suffix) {
  return folder + "/" + segment_file_name(base_offset, suffix);
}

bool is_damage(const Status& status) {
  return status == ErrorCode::corrupt_data || status == ErrorCode::corrupt_message;
}

}  // namespace

Segment::Segment(OpenFiles& files, const std::string& folder, Offset base_offset)
    : files_(&files),
      folder_(folder),
      log_path_(path_of(folder, base_offset, kLogSuffix)),
      base_offset_(base_offset),
      end_offset_(base_offset),
      offset_index_(files, path_of(folder, base_offset, kOffsetIndexSuffix)),
      time_index_(files, path_of(folder, base_offset, kTimeIndexSuffix)),
      aborted_index_(files, path_of(folder, base_offset, kAbortedIndexSuffix)) {}

void Segment::use_indexes(OffsetIndex offset_index, TimeIndex time_index, std::optional<AbortedIndex> aborted_index) {
  offset_index_ = std::move(offset_index);
  time_index_ = std::move(time_index);
  if (aborted_index) aborted_index_ = std::move(*aborted_index);
  indexed_size_ = offset_index_.last() ? offset_index_.last()->position : 0;
}

Result<SegmentEnd> Segment::walk_to_end() {
  NARU_TRY_ASSIGN(const auto opened, file());
  NARU_TRY_ASSIGN(size_, opened->size());
  end_offset_ = Offset(std::numeric_limits<int64_t>::max());  // until set_end()
  return indexed_end_below(end_offset_);
}

void Segment::set_end(const SegmentEnd& end) {
  size_ = end.position;
  end_offset_ = end.offset;
  max_timestamp_ = end.max_timestamp;
}

void Segment::note_batch(const BatchHeader& header, uint64_t position, uint32_t index_interval_bytes) {
  NARU_ASSERT(position == size_, "a batch at {} behind {} bytes of {}", position, size_, log_path_);
  NARU_ASSERT(header.base_offset == end_offset_, "a batch of offset {} at the end {}", header.base_offset, end_offset_);
  max_timestamp_.include(header.max_timestamp, header.base_offset);
  if (position - indexed_size_ >= index_interval_bytes) {
    offset_index_.append({relative(header.base_offset), static_cast<uint32_t>(position)});
    indexed_size_ = position;
    note_time();
  }
  size_ += header.total_size;
  end_offset_ = header.next_offset();
}

// With every entry of the offset index: so the last entry of the time index holds for everything that is indexed.
void Segment::note_time() {
  if (max_timestamp_.batch_base_offset == kNoOffset) return;
  if (time_index_.last() && time_index_.last()->timestamp >= max_timestamp_.timestamp) return;
  time_index_.append({max_timestamp_.timestamp, relative(max_timestamp_.batch_base_offset)});
}

void Segment::note_aborted(const AbortedTransaction& aborted) {
  aborted_index_.append(aborted);
  offset_index_.note_aborted_count(aborted_index_.size());
}

void Segment::files_are_in_place() {
  pinned_file_ = nullptr;
  offset_index_.written_elsewhere();
  time_index_.written_elsewhere();
  if (aborted_index_.size() > 0) aborted_index_.written_elsewhere();
}

Status Segment::activate(OpenMode mode, WallTimeMs first_append_ms) {
  NARU_TRY_ASSIGN(const auto opened, files_->open(log_path_, mode));
  NARU_TRY_ASSIGN(const uint64_t size, opened->size());
  if (size != size_) {
    return error(ErrorCode::corrupt_data, "{} has {} bytes instead of {}", log_path_, size, size_);
  }
  active_ = true;
  first_append_ms_ = first_append_ms;
  return Status();
}

Status Segment::append(std::span<const BytesView> parts, const BatchHeader& header, const LogConfig& config,
                       WallTimeMs now) {
  if (offset_index_.flush_is_due() || time_index_.flush_is_due() || aborted_index_.flush_is_due()) {
    NARU_TRY(flush_indexes());
  }
  if (!unsynced_file_) {
    NARU_TRY_ASSIGN(unsynced_file_, files_->open(log_path_));
  }
  NARU_TRY(unsynced_file_->write_at(size_, parts));
  if (empty()) first_append_ms_ = now;
  last_append_ms_ = now;
  note_batch(header, size_, config.index_interval_bytes);
  return Status();
}

bool Segment::must_roll_for(const BatchHeader& header, const LogConfig& config, WallTimeMs now) const {
  if (empty()) return false;  // the next segment would have the same name
  return size_ + header.total_size > config.segment_bytes ||
         header.last_offset() - base_offset_ > std::numeric_limits<int32_t>::max() ||
         (offset_index_.size() + 1) * OffsetIndexEntry::kSize > config.segment_index_bytes ||
         is_due_to_roll(config, now);
}

bool Segment::is_due_to_roll(const LogConfig& config, WallTimeMs now) const {
  if (empty() || now <= first_append_ms_) return false;
  // The path stands for chance: it differs between segments, and a restart changes nothing.
  const int64_t jitter = std::min(config.segment_jitter_ms, config.segment_ms);
  const int64_t earlier = jitter > 0 ? static_cast<int64_t>(crc32c(as_bytes(log_path_))) % (jitter + 1) : 0;
  return now - first_append_ms_ >= config.segment_ms - earlier;
}

Status Segment::flush_indexes() {
  if (aborted_index_.size() > 0) NARU_TRY(aborted_index_.flush());
  NARU_TRY(offset_index_.flush());
  return time_index_.flush();
}

Status Segment::replace_index_files() {
  if (aborted_index_.size() > 0) NARU_TRY(aborted_index_.replace_file_in(folder_));
  NARU_TRY(offset_index_.replace_file_in(folder_));
  return time_index_.replace_file_in(folder_);
}

Result<std::vector<std::shared_ptr<File>>> Segment::unsynced_indexes() {
  std::vector<std::shared_ptr<File>> unsynced;
  if (offset_index_.unsynced()) {
    NARU_TRY_ASSIGN(unsynced.emplace_back(), offset_index_.file());
  }
  if (time_index_.unsynced()) {
    NARU_TRY_ASSIGN(unsynced.emplace_back(), time_index_.file());
  }
  if (aborted_index_.unsynced()) {
    NARU_TRY_ASSIGN(unsynced.emplace_back(), aborted_index_.file());
  }
  return unsynced;
}

Result<std::shared_ptr<File>> Segment::file() const {
  if (unsynced_file_) return unsynced_file_;
  if (pinned_file_) return pinned_file_;
  return files_->open(log_path_);
}

Result<BatchWalk> Segment::walk_at(uint64_t position, Offset offset) const {
  NARU_TRY_ASSIGN(auto opened, file());
  return BatchWalk(std::move(opened), position, offset, {size_, end_offset_});
}

Result<std::optional<BatchWalk>> Segment::walk_if_there(const OffsetIndexEntry& entry) const {
  if (entry.position >= size_) return std::nullopt;
  NARU_TRY_ASSIGN(BatchWalk walk, walk_at(entry.position, absolute(entry.relative_offset)));
  const auto header = walk.peek();
  if (header) return walk;
  if (is_damage(header.error())) return std::nullopt;
  return failure(header.error());
}

Result<BatchWalk> Segment::walk_near(Offset offset) {
  auto entry =
      offset_index_.last_where([&](const OffsetIndexEntry& e) { return absolute(e.relative_offset) <= offset; });
  if (!entry && !is_damage(entry.error())) return failure(std::move(entry).error());
  if (entry && *entry) {
    NARU_TRY_ASSIGN(auto walk, walk_if_there(**entry));
    if (walk) return std::move(*walk);
  }
  return walk_at(0, base_offset_);
}

Result<BatchWalk> Segment::walk_from(Offset offset) {
  NARU_ASSERT(offset >= base_offset_ && offset < end_offset_, "offset {} is not in the segment [{}, {})", offset,
              base_offset_, end_offset_);
  NARU_TRY_ASSIGN(auto walk, walk_near(offset));
  for (;;) {
    NARU_TRY_ASSIGN(const BatchHeader header, walk.peek());
    if (header.next_offset() > offset) return walk;
    NARU_TRY_ASSIGN(std::ignore, walk.next());
  }
}

Result<Segment::Stretch> Segment::stretch_from(BatchWalk& walk, uint64_t position, Offset limit) {
  NARU_TRY_ASSIGN(const BatchHeader first, walk.next());
  Stretch stretch{walk.position(), first.next_offset()};
  // The index leads over most of a long stretch, and its batch is compared; the rest is walked.
  auto entry = offset_index_.last_where(
      [&](const OffsetIndexEntry& e) { return e.position <= position && absolute(e.relative_offset) <= limit; });
  if (!entry && !is_damage(entry.error())) return failure(std::move(entry).error());
  if (entry && *entry && (*entry)->position > stretch.end_position) {
    NARU_TRY_ASSIGN(auto nearer, walk_if_there(**entry));
    if (nearer) {
      walk = std::move(*nearer);
      stretch = {(*entry)->position, absolute((*entry)->relative_offset)};
    }
  }
  while (!walk.at_end()) {
    const auto header = walk.next();
    // What comes before a damaged batch can be read; whoever reads on is told of the damage.
    if (!header || header->next_offset() > limit || walk.position() > position) break;
    stretch = {walk.position(), header->next_offset()};
  }
  return stretch;
}

Result<SegmentEnd> Segment::walk_on(BatchWalk walk, SegmentEnd end, Offset limit) const {
  while (!walk.at_end()) {
    NARU_TRY_ASSIGN(const BatchHeader header, walk.next());
    if (header.next_offset() > limit) break;
    end.position = walk.position();
    end.offset = header.next_offset();
    end.max_timestamp.include(header.max_timestamp, header.base_offset);
    end.last_epoch = header.leader_epoch;
  }
  return end;
}

Result<SegmentEnd> Segment::indexed_end_below(Offset limit) {
  NARU_TRY_ASSIGN(const auto start, offset_index_.last_where([&](const OffsetIndexEntry& e) {
    return absolute(e.relative_offset) < limit;
  }));
  if (!start) {
    NARU_TRY_ASSIGN(auto from_begin, walk_at(0, base_offset_));
    return walk_on(std::move(from_begin), {.offset = base_offset_}, limit);
  }
  NARU_TRY_ASSIGN(auto walk, walk_if_there(*start));
  if (!walk) return failure(ErrorCode::corrupt_data, "{} does not fit its log", offset_index_.path());
  SegmentEnd end{.position = start->position, .offset = absolute(start->relative_offset)};
  // The limit may cut the indexed batch itself. Then what the time index says of it is of no use here.
  NARU_TRY_ASSIGN(const BatchHeader first, walk->peek());
  if (first.next_offset() > limit) return indexed_end_below(end.offset);
  NARU_TRY_ASSIGN(const auto time, time_index_.last_where([&](const TimeIndexEntry& e) {
    return absolute(e.relative_offset) <= end.offset;
  }));
  if (time) end.max_timestamp = {time->timestamp, absolute(time->relative_offset)};
  return walk_on(std::move(*walk), end, limit);
}

Result<SegmentEnd> Segment::end_below(Offset limit) {
  auto end = indexed_end_below(limit);
  if (end || !is_damage(end.error())) return end;
  NARU_TRY_ASSIGN(auto from_begin, walk_at(0, base_offset_));
  return walk_on(std::move(from_begin), {.offset = base_offset_}, limit);
}

Result<BatchWalk> Segment::walk_to_timestamp(WallTimeMs timestamp) {
  auto entry = time_index_.last_where([&](const TimeIndexEntry& e) { return e.timestamp < timestamp; });
  if (!entry && !is_damage(entry.error())) return failure(std::move(entry).error());
  if (entry && *entry && absolute((*entry)->relative_offset) < end_offset_) {
    return walk_from(absolute((*entry)->relative_offset));
  }
  return walk_at(0, base_offset_);
}

Status Segment::truncate_to(const SegmentEnd& end, uint32_t index_interval_bytes) {
  NARU_TRY_ASSIGN(const auto opened, file());
  NARU_TRY(opened->truncate(end.position));
  NARU_TRY(final_if_sync_failed(opened->sync_data()));
  unsynced_file_ = nullptr;
  Status status =
      offset_index_.truncate([&](const OffsetIndexEntry& e) { return absolute(e.relative_offset) < end.offset; });
  if (status.ok()) {
    status = time_index_.truncate([&](const TimeIndexEntry& e) { return absolute(e.relative_offset) < end.offset; });
  }
  if (status.ok()) {
    status = aborted_index_.truncate([&](const AbortedTransaction& e) { return e.last_offset < end.offset; });
  }
  if (is_damage(status)) return rebuild_indexes(end, index_interval_bytes);
  NARU_TRY(std::move(status));
  offset_index_.note_aborted_count(aborted_index_.size());
  indexed_size_ = offset_index_.last() ? offset_index_.last()->position : 0;
  set_end(end);
  return Status();
}

Status Segment::rebuild_indexes(const SegmentEnd& end, uint32_t index_interval_bytes) {
  NARU_TRY_ASSIGN(auto opened, file());
  set_end({.offset = base_offset_});
  offset_index_ = OffsetIndex(*files_, offset_index_.path());
  time_index_ = TimeIndex(*files_, time_index_.path());
  aborted_index_ = AbortedIndex(*files_, aborted_index_.path());
  aborted_in_doubt_ = true;
  indexed_size_ = 0;
  for (BatchWalk walk(std::move(opened), 0, base_offset_, {end.position, end.offset}); !walk.at_end();) {
    const uint64_t position = walk.position();
    NARU_TRY_ASSIGN(const BatchHeader header, walk.next());
    note_batch(header, position, index_interval_bytes);
  }
  return Status();
}

Status Segment::remove_files(FileSystem& file_system, OpenFiles& files, const std::string& folder, Offset base_offset) {
  for (const std::string_view suffix : {kLogSuffix, kOffsetIndexSuffix, kTimeIndexSuffix, kAbortedIndexSuffix}) {
    const std::string path = path_of(folder, base_offset, suffix);
    files.forget(path);
    const Status status = file_system.remove_file(path);
    if (!status.ok() && status.code() != ErrorCode::not_found) return status;
  }
  return Status();
}

}  // namespace naru
