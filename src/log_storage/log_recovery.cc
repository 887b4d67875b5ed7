#include "log_storage/log_recovery.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "foundation/canary.h"
#include "foundation/log.h"
#include "foundation/sort_and_drop_doubles.h"
#include "log_storage/aborted_rebuild.h"
#include "log_storage/batch_walk.h"
#include "log_storage/journal_replay.h"
#include "log_storage/old_file_names.h"
#include "log_storage/partition_folder.h"
#include "log_storage/recovery_epochs.h"
#include "log_storage/recovery_table.h"
#include "log_storage/segment_examination.h"
#include "log_storage/segment_swap.h"

namespace naru {
namespace {

class LogRecovery {
 public:
  LogRecovery(FileSystem& file_system, OpenFiles& open_files, const std::string& folder, const LogConfig& config,
              const OpenOptions& options)
      : file_system_(file_system), open_files_(open_files), folder_(folder), config_(config), options_(options) {}

  Result<RecoveredLog> run();

 private:
  Status check_identity();
  void sort_files(const std::vector<DirectoryEntry>& entries);
  Status open_checkpoint();
  // Sets aside the segments that lie wholly below the log start: a crash has interrupted their removal.
  void leave_out_below_start();
  // Looks at the segments and decides about each, without changing anything.
  Status examine_segments();
  ExaminationRequest request_for(size_t number) const;
  Promise judge(Offset first_missing, Offset promised_end) const;
  // Whether all of the segment has to be read, to find the first batch that is given up.
  bool searches(size_t number) const;
  Status refusal(SegmentAction action, size_t number, const ExaminedSegment& found) const;
  Status remove_below_start();
  // Applies the decisions: from the end of the log to its begin, so that a prefix is whole at every moment.
  Status remove_dropped();
  void prepare_producers();
  Status settle_aborted();
  Status settle_segments();
  Status activate_last();
  Status settle_epochs();
  Status settle_checkpoint();
  Result<std::vector<std::unique_ptr<Segment>>> segments_below_start() const;
  Status mend_below_start();
  Status append_journaled(File& file, BatchScan& content, Offset limit) const;
  Status rebuild_with_below_start();
  Status settle_producers();

  FileSystem& file_system_;
  OpenFiles& open_files_;
  const std::string& folder_;
  const LogConfig& config_;
  const OpenOptions& options_;

  std::vector<Offset> base_offsets_;
  std::vector<Offset> orphaned_indexes_;
  std::vector<Offset> producer_snapshots_;
  std::vector<std::string> leftovers_;
  std::optional<Checkpoint> promise_;
  Offset required_end_{0};  // the durable end, unless everything up to there was deleted
  std::vector<ExaminedSegment> kept_;
  std::vector<Offset> dropped_;
  std::vector<Offset> below_start_;
  Offset end_;  // of what is kept
  bool names_changed_ = false;
  RecoveredLog log_;
};

Result<RecoveredLog> LogRecovery::run() {
  NARU_TRY(check_identity());
  NARU_TRY_ASSIGN(auto entries, file_system_.list(folder_));
  NARU_TRY(adopt_old_file_names(file_system_, folder_, entries));
  NARU_TRY(settle_swaps(file_system_, open_files_, folder_, entries));
  sort_files(entries);
  NARU_TRY(open_checkpoint());
  leave_out_below_start();
  NARU_TRY(examine_segments());
  NARU_TRY(remove_dropped());
  prepare_producers();
  NARU_TRY(settle_aborted());
  NARU_TRY(settle_segments());
  NARU_TRY(activate_last());
  NARU_TRY(settle_epochs());
  NARU_TRY(settle_checkpoint());
  NARU_TRY(settle_producers());
  NARU_TRY(remove_below_start());
  return std::move(log_);
}

Status LogRecovery::check_identity() {
  const auto topic_id = read_partition_topic_id(file_system_, folder_);
  if (!topic_id && topic_id.error() == ErrorCode::not_found) {
    return error(
        ErrorCode::corrupt_data,
        "{} has no {}, so it cannot be told which topic it belongs to: restore the file, or move the folder away",
        folder_, kMetadataFileName);
  }
  if (!topic_id) return topic_id.error();
  if (*topic_id == options_.topic_id) return Status();
  return error(ErrorCode::inconsistent_topic_id, "{} belongs to topic id {}, not to {}", folder_, topic_id->to_string(),
               options_.topic_id.to_string());
}

void LogRecovery::sort_files(const std::vector<DirectoryEntry>& entries) {
  std::vector<Offset> indexes;
  std::string unknown;
  for (const DirectoryEntry& entry : entries) {
    const std::string_view name = entry.name;
    if (const auto base = parse_segment_file_name(name, kLogSuffix)) {
      base_offsets_.push_back(*base);
    } else if (const auto indexed = parse_segment_file_name(name, kOffsetIndexSuffix).or_else([&] {
                 return parse_segment_file_name(name, kTimeIndexSuffix).or_else([&] {
                   return parse_segment_file_name(name, kAbortedIndexSuffix);
                 });
               })) {
      indexes.push_back(*indexed);
    } else if (const auto snapshot = parse_segment_file_name(name, kProducerSnapshotSuffix)) {
      producer_snapshots_.push_back(*snapshot);
    } else if (name.ends_with(kProducerSnapshotAsideSuffix)) {
      leftovers_.push_back(folder_ + "/" + entry.name);
    } else if (name != kEpochFileName && name != kMetadataFileName && name != kCheckpointFileName &&
               name != kCompactionFileName && name != kTombstoneFileName && !name.ends_with(".tmp")) {
      unknown += fmt::format("{}{}", unknown.empty() ? "" : ", ", name);
    }
  }
  std::ranges::sort(base_offsets_);
  sort_and_drop_doubles(indexes);
  std::ranges::set_difference(indexes, base_offsets_, std::back_inserter(orphaned_indexes_));
  if (!unknown.empty()) log_info("log_storage", "{} holds files that are not part of the log: {}", folder_, unknown);
}

Status LogRecovery::open_checkpoint() {
  NARU_TRY_ASSIGN(auto checkpoint, CheckpointFile::open(file_system_, folder_));
  log_.checkpoint = std::make_unique<CheckpointFile>(std::move(checkpoint));
  promise_ = log_.checkpoint->value();
  const Offset first = base_offsets_.empty() ? Offset(0) : base_offsets_.front();
  log_.report.start_offset = promise_ ? promise_->log_start_offset : first;
  if (promise_ && promise_->durable_end > promise_->log_start_offset) required_end_ = promise_->durable_end;
  log_.report.promised_end = promise_ ? promise_->durable_end : kNoOffset;
  end_ = log_.report.start_offset;
  return Status();
}

void LogRecovery::leave_out_below_start() {
  // The last segment that begins at or below the start may hold it; those before it may not.
  const auto behind = std::ranges::upper_bound(base_offsets_, log_.report.start_offset);
  if (behind == base_offsets_.begin()) return;
  below_start_.assign(base_offsets_.begin(), std::prev(behind));
  base_offsets_.erase(base_offsets_.begin(), std::prev(behind));
}

Promise LogRecovery::judge(Offset first_missing, Offset promised_end) const {
  if (options_.give_up_from) return Promise::kept;
  if (!promise_) return Promise::unknown;
  return first_missing >= promised_end ? Promise::kept : Promise::broken;
}

bool LogRecovery::searches(size_t number) const {
  if (!options_.give_up_from) return false;
  const bool last = number + 1 == base_offsets_.size();
  return last || *options_.give_up_from == kNoOffset || base_offsets_[number + 1] > *options_.give_up_from;
}

ExaminationRequest LogRecovery::request_for(size_t number) const {
  const bool last = number + 1 == base_offsets_.size();
  ExaminationRequest request{.base_offset = base_offsets_[number],
                             .epoch_before = kept_.empty() ? kNoLeaderEpoch : kept_.back().scanned_epoch,
                             .index_interval_bytes = config_.index_interval_bytes};
  request.outside.checkpoint_readable = promise_.has_value() && !searches(number);
  request.outside.clean_shutdown = options_.clean_shutdown;
  request.outside.last_segment = last;
  if (options_.give_up_from && *options_.give_up_from != kNoOffset) request.given_up_from = *options_.give_up_from;
  if (promise_) {
    request.promised_end = last ? required_end_ : std::min(required_end_, base_offsets_[number + 1]);
    request.expected_end = last ? promise_->durable_end : base_offsets_[number + 1];
    // At the durable end itself the segment may have been sealed since, with indexes that no sync has seen.
    request.outside.reaches_end_of_promise = request.expected_end >= promise_->durable_end;
  }
  return request;
}

Status LogRecovery::examine_segments() {
  SegmentInside inside;
  for (size_t number = 0; number < base_offsets_.size(); ++number) {
    const Offset base = base_offsets_[number];
    const ExaminationRequest request = request_for(number);
    const bool begins_early_enough = number == 0 && base <= end_;  // records below the log start need not be there
    inside.joint = base == end_ || begins_early_enough ? Joint::joined : base > end_ ? Joint::gap : Joint::overlap;
    inside.content = Content::tail_walked;
    inside.promise = judge(end_, required_end_);

    ExaminedSegment found;
    if (!inside.behind_a_cut && inside.joint == Joint::joined) {
      NARU_TRY_ASSIGN(found, examine_segment(open_files_, folder_, request));
      inside.content = found.content;
      inside.promise = judge(found.end.offset, request.promised_end);
    }
    const SegmentAction action = decide(inside);
    switch (action) {
      case SegmentAction::keep:
      case SegmentAction::keep_with_new_indexes:
        break;
      case SegmentAction::cut:
        inside.behind_a_cut = true;
        log_.report.why_cut = found.describe_problem();
        log_.report.dropped_bytes += found.file_bytes - found.end.position;
        break;
      case SegmentAction::drop:
        if (!inside.behind_a_cut) log_.report.why_cut = fmt::format("offset {} is missing in {}", end_, folder_);
        inside.behind_a_cut = true;
        dropped_.push_back(base);
        continue;
      case SegmentAction::refuse_bad_batch:
      case SegmentAction::refuse_missing_end:
      case SegmentAction::refuse_gap:
      case SegmentAction::refuse_overlap:
        return refusal(action, number, found);
    }
    end_ = found.end.offset;
    log_.report.scanned_bytes += found.scanned() ? found.file_bytes : 0;
    log_.report.damaged_indexes += found.index_damage_unexplained ? 1 : 0;
    kept_.push_back(std::move(found));
  }
  if (end_ < required_end_ && !options_.give_up_from) {
    return error(ErrorCode::corrupt_data,
                 "{}: the log ends at offset {}, but offsets up to {} were promised to be durable: segment files are "
                 "missing. Restore them; or, to accept the loss, remove the file '{}' and start again",
                 folder_, end_, promise_->durable_end, kCheckpointFileName);
  }
  return Status();
}

Status LogRecovery::remove_below_start() {
  for (const Offset base : below_start_) NARU_TRY(Segment::remove_files(file_system_, open_files_, folder_, base));
  return Status();
}

Status LogRecovery::refusal(SegmentAction action, size_t number, const ExaminedSegment& found) const {
  const std::string path = folder_ + "/" + segment_file_name(base_offsets_[number], kLogSuffix);
  const std::string promised =
      promise_ ? fmt::format("offsets up to {} were promised to be durable", promise_->durable_end)
               : fmt::format("'{}' is missing or damaged, so it is not known what was promised", kCheckpointFileName);
  const auto way_out = [](Offset from) {
    return fmt::format("Restore the file; or, to give up everything from offset {} on, ", from);
  };
  switch (action) {
    case SegmentAction::refuse_bad_batch:
      return error(ErrorCode::corrupt_data,
                   "{}, and {}. {}cut the file to {} bytes, remove later segments and the file '{}', and start again",
                   found.describe_problem(), promised, way_out(found.end.offset), found.end.position,
                   kCheckpointFileName);
    case SegmentAction::refuse_missing_end:
      return error(
          ErrorCode::corrupt_data,
          "{} ends after {} bytes at offset {}, but {}. {}remove later segments and the file '{}', and start again",
          path, found.end.position, found.end.offset, promised, way_out(found.end.offset), kCheckpointFileName);
    case SegmentAction::refuse_overlap:
      return error(ErrorCode::corrupt_data,
                   "{} begins at position 0 with offset {}, but the segment before it ends at {}: one of them does not "
                   "belong here. Move that one away",
                   path, base_offsets_[number], end_);
    default:
      return error(ErrorCode::corrupt_data,
                   "{} begins at position 0 with offset {}, but offset {} comes before it and is missing, and {}. "
                   "{}remove this and later segments and the file '{}', and start again",
                   path, base_offsets_[number], end_, promised, way_out(end_), kCheckpointFileName);
  }
}

Status LogRecovery::remove_dropped() {
  for (const Offset base : dropped_) {
    const std::string path = folder_ + "/" + segment_file_name(base, kLogSuffix);
    NARU_TRY_ASSIGN(const auto file, open_files_.open(path));
    NARU_TRY_ASSIGN(const uint64_t bytes, file->size());
    log_.report.dropped_bytes += bytes;
    ++log_.report.dropped_segments;
  }
  std::ranges::reverse(dropped_);
  dropped_.insert(dropped_.end(), orphaned_indexes_.begin(), orphaned_indexes_.end());
  for (const Offset base : dropped_) NARU_TRY(Segment::remove_files(file_system_, open_files_, folder_, base));
  names_changed_ |= !dropped_.empty();
  return Status();
}

void LogRecovery::prepare_producers() {
  log_.producers.emplace(file_system_, folder_, std::move(producer_snapshots_), options_.producers);
}

// Before the indexes of scanned segments are written. What lies behind the end was not decided about yet, but it is no
// part of the segments any more.
Status LogRecovery::settle_aborted() {
  std::vector<Segment*> segments;
  for (const ExaminedSegment& found : kept_) {
    if (found.has_markers) found.segment->doubt_aborted();
    segments.push_back(found.segment.get());
  }
  return rebuild_aborted(segments, *log_.producers);
}

Status LogRecovery::settle_segments() {
  for (size_t number = kept_.size(); number-- > 0;) {
    const bool last = number + 1 == kept_.size();
    NARU_TRY(settle_examined_segment(kept_[number], last));
  }
  return Status();
}

Status LogRecovery::activate_last() {
  OpenMode mode = OpenMode::write;
  if (kept_.empty()) {
    ExaminedSegment first;
    first.segment = std::make_unique<Segment>(open_files_, folder_, end_);
    first.end.offset = end_;
    kept_.push_back(std::move(first));
    names_changed_ = true;
    mode = OpenMode::create;
  }
  Segment& last = *kept_.back().segment;
  WallTimeMs first_append = options_.now;
  if (!last.empty()) {
    NARU_TRY_ASSIGN(auto walk, last.walk_from(last.base_offset()));
    NARU_TRY_ASSIGN(const BatchHeader header, walk.peek());
    // When the first batch was appended is not stored; its timestamp is the best guess for segment.ms.
    first_append = std::clamp<WallTimeMs>(header.max_timestamp, 0, std::max<WallTimeMs>(options_.now, 0));
  }
  NARU_TRY(last.activate(mode, first_append));
  // Before anything is appended: a dropped segment that came back after a power cut would continue a log it does not
  // belong to. After an unclean shutdown always: names found in the page cache may not be on the disk yet.
  if (names_changed_ || !options_.clean_shutdown) NARU_TRY(file_system_.sync_directory(folder_));
  return Status();
}

Status LogRecovery::settle_epochs() {
  const bool something_promised = !promise_ || promise_->durable_end > promise_->log_start_offset;
  NARU_TRY_ASSIGN(auto settled,
                  settle_epoch_history(file_system_, folder_, std::min(log_.report.start_offset, end_), kept_));
  log_.epochs = std::move(settled.history);
  // The last segment is scanned until a sync says that it need not be, and the sync writes the file first. So it is not
  // written here for the many logs that have no other segment.
  log_.epochs_unsynced = settled.file_is_behind && promise_ && kept_.size() == 1;
  if (settled.file_is_behind && !log_.epochs_unsynced) {
    NARU_TRY(replace_file(file_system_, folder_, std::string(kEpochFileName), as_bytes(log_.epochs.to_text())));
  }
  log_.report.epochs_rebuilt = settled.rebuilt && something_promised;
  return Status();
}

Status LogRecovery::settle_checkpoint() {
  log_.report.end_offset = end_;
  log_.report.checkpoint_rebuilt = !promise_;
  for (ExaminedSegment& found : kept_) log_.segments.push_back(std::move(found.segment));
  // Without a checkpoint nobody knows which journaled batches are void: then all are, as a person has decided who
  // accepted a loss by removing the file.
  uint64_t truncations = promise_ ? promise_->truncations : truncations_beyond(options_.journaled);
  // Like any other truncation below what was durable: no journal brings it back, and nobody misses it.
  if (options_.give_up_from && promise_ && end_ < promise_->durable_end) ++truncations;
  const Checkpoint value{.durable_end = end_, .log_start_offset = log_.report.start_offset, .truncations = truncations};
  if (promise_ == value) {
    log_.checkpoint_synced = options_.clean_shutdown;  // otherwise it may have been in the page cache alone
    return Status();
  }
  if (!promise_ || value.durable_end < promise_->durable_end) {
    log_.checkpoint_synced = true;
    return log_.checkpoint->write_both_and_sync(value);
  }
  return log_.checkpoint->write(value);  // without a sync: an older promise is only a weaker one
}

// The segments that are about to be removed, as far as they join those that are kept.
Result<std::vector<std::unique_ptr<Segment>>> LogRecovery::segments_below_start() const {
  std::vector<std::unique_ptr<Segment>> segments;
  for (size_t i = 0; i < below_start_.size(); ++i) {
    auto segment = std::make_unique<Segment>(open_files_, folder_, below_start_[i]);
    NARU_TRY_ASSIGN(const auto file, segment->file());
    NARU_TRY_ASSIGN(const uint64_t size, file->size());
    const Offset end = i + 1 < below_start_.size() ? below_start_[i + 1] : log_.segments.front()->base_offset();
    segment->set_end({.position = size, .offset = end});
    segments.push_back(std::move(segment));
  }
  return segments;
}

// A power cut may have taken from them what only a commit journal holds durably. Nothing is put back behind the log's
// end, so they get it back here, for as long as they are needed.
Status LogRecovery::mend_below_start() {
  NARU_TRY_ASSIGN(const auto segments, segments_below_start());
  for (const auto& segment : segments) {
    NARU_TRY_ASSIGN(const auto file, segment->file());
    NARU_TRY_ASSIGN(BatchScan content, scan_batches(file, segment->base_offset(), kNoLeaderEpoch,
                                                    [](const BatchHeader& /*header*/, uint64_t /*position*/) {}));
    NARU_TRY(file->truncate(content.valid_bytes));
    NARU_TRY(append_journaled(*file, content, segment->end_offset()));
  }
  return Status();
}

Status LogRecovery::append_journaled(File& file, BatchScan& content, Offset limit) const {
  for (const JournaledBatches& journaled : options_.journaled) {
    for (const JournaledBatch& batch : journaled.batches) {
      const ReplayTarget target{content.valid_end, content.last_epoch, promise_->truncations};
      if (batch.end_offset > limit || decide(target, batch) != ReplayAction::append) continue;
      Bytes bytes(batch.bytes);
      NARU_TRY_ASSIGN(const size_t got, journaled.file->read_at(batch.position, bytes));
      NARU_TRY(file.write_at(content.valid_bytes, BytesView(bytes).first(got)));
      content.valid_bytes += got;
      content.valid_end = batch.end_offset;
      content.last_epoch = batch.leader_epoch;
    }
  }
  return Status();
}

Status LogRecovery::rebuild_with_below_start() {
  NARU_TRY_ASSIGN(auto segments, segments_below_start());
  const size_t below = segments.size();
  std::ranges::move(log_.segments, std::back_inserter(segments));
  Status status = log_.producers->rebuild(segments);
  log_.segments.clear();
  std::ranges::move(std::span(segments).subspan(below), std::back_inserter(log_.segments));
  return status;
}

// Last, because the batches are the truth, and now it is decided which ones there are.
Status LogRecovery::settle_producers() {
  for (const std::string& path : leftovers_) NARU_TRY(file_system_.remove_file(path));
  LogProducers& producers = *log_.producers;
  if (!below_start_.empty() && !is_planted(Canary::producers_below_start)) {
    // They may hold the last batches of a producer that no snapshot knows, and so may the journal, which is done with
    // them when the log is open.
    Status status = rebuild_with_below_start();
    if (status.code() == ErrorCode::corrupt_data && !is_planted(Canary::journal_void_below_start)) {
      NARU_TRY(mend_below_start());
      status = rebuild_with_below_start();
    }
    if (status.ok()) return producers.store_before(log_.segments.front()->base_offset());
    if (status.code() != ErrorCode::corrupt_data) return status;
  }
  return producers.rebuild(log_.segments);
}

}  // namespace

Result<RecoveredLog> recover_log(FileSystem& file_system, OpenFiles& open_files, const std::string& folder,
                                 const LogConfig& config, const OpenOptions& options) {
  auto recovered = LogRecovery(file_system, open_files, folder, config, options).run();
  // There is no log that would let go of them, and another one may be made under this name.
  if (!recovered) open_files.forget_folder(folder);
  return recovered;
}

}  // namespace naru
