#include "log_storage/partition_log.h"

#include <algorithm>
#include <array>
#include <limits>
#include <tuple>
#include <utility>

#include "foundation/assert.h"
#include "foundation/log.h"
#include "foundation/shortage.h"
#include "log_storage/checkpoint_file.h"
#include "log_storage/compaction_progress_file.h"
#include "log_storage/control_batches.h"
#include "log_storage/log_recovery.h"
#include "log_storage/segment.h"

namespace naru {
namespace {

// The log is as it was, and the same call may succeed later.
bool is_temporary(const Status& status) {
  return is_shortage(status);
}

}  // namespace

Result<OpenedLog> PartitionLog::open(FileSystem& file_system, OpenFiles& open_files, std::string folder,
                                     const LogConfig& config, const OpenOptions& options) {
  NARU_TRY_ASSIGN(auto recovered, recover_log(file_system, open_files, folder, config, options));
  RecoveryReport report = recovered.report;
  std::unique_ptr<PartitionLog> log(
      new PartitionLog(file_system, open_files, std::move(folder), config, std::move(recovered)));
  NARU_TRY(log->replay(options, report));
  NARU_TRY(log->begin_at_start(options.now, report));
  NARU_TRY_ASSIGN(log->compaction_progress_, read_compaction_progress(file_system, log->folder(), log->truncations_));
  NARU_TRY(log->open_tombstone_horizon());
  if (report.remarkable()) log_warn("log_storage", "recovered {}: {}", log->folder(), report.to_string());
  return OpenedLog{std::move(log), std::move(report)};
}

PartitionLog::PartitionLog(FileSystem& file_system, OpenFiles& open_files, std::string folder, const LogConfig& config,
                           RecoveredLog recovered)
    : file_system_(file_system),
      open_files_(open_files),
      folder_(std::move(folder)),
      config_(config),
      segments_(std::move(recovered.segments)),
      epochs_(std::move(recovered.epochs)),
      producers_(std::move(*recovered.producers)),
      checkpoint_(std::move(recovered.checkpoint)),
      start_offset_(recovered.report.start_offset),
      noted_start_(recovered.report.start_offset),
      durable_(recovered.report.end_offset),
      checkpoint_unsynced_(!recovered.checkpoint_synced),
      truncations_(checkpoint_->value()->truncations) {
  NARU_ASSERT(!segments_.empty(), "recovery of {} left no segment", folder_);
  unsynced_.epochs = recovered.epochs_unsynced;
}

PartitionLog::~PartitionLog() {
  abandon();
}

void PartitionLog::abandon() {
  release_unsynced_files();
  for (const auto& segment : segments_) {
    for (const std::string& path : segment->paths()) open_files_.forget(path);
  }
}

Offset PartitionLog::end_offset() const {
  return active().end_offset();
}

uint64_t PartitionLog::size_bytes() const {
  uint64_t bytes = 0;
  for (const auto& segment : segments_) bytes += segment->size();
  return bytes;
}

size_t PartitionLog::segment_index(Offset offset) const {
  const auto behind = std::ranges::upper_bound(segments_, offset, {}, &Segment::base_offset);
  NARU_ASSERT(behind != segments_.begin(), "offset {} lies before the first segment of {}", offset, folder_);
  return static_cast<size_t>(behind - segments_.begin()) - 1;
}

// --- Appending -------------------------------------------------------------------------------------------------------

Result<AppendOutcome> PartitionLog::append(BytesView batch, const ValidatedBatch& validated, LeaderEpoch epoch,
                                           WallTimeMs now) {
  if (epoch < latest_epoch()) {
    return failure(ErrorCode::fenced_leader_epoch, "{} holds batches of leader epoch {}, later than {}", folder_,
                   latest_epoch(), epoch);
  }
  BatchHeader stored = validated.header;
  stored.base_offset = end_offset();
  stored.leader_epoch = epoch;
  stored.max_timestamp = validated.timestamp.max;
  if (validated.timestamp.type == TimestampType::log_append_time) stored.attributes |= batch_attribute::kLogAppendTime;
  NARU_TRY_ASSIGN(const auto marker, marker_of(stored, batch));
  const StoredHeader header = make_stored_header(batch, stored.base_offset, epoch, validated.timestamp);
  NARU_TRY_ASSIGN(AppendOutcome outcome, write_batch({header, batch_records(batch), stored, marker}, now));
  if (validated.timestamp.type == TimestampType::log_append_time) outcome.log_append_time_ms = stored.max_timestamp;
  return outcome;
}

Result<AppendOutcome> PartitionLog::append_stored(BytesView batch, const BatchHeader& header, WallTimeMs now) {
  if (header.base_offset != end_offset()) {
    return failure(ErrorCode::offset_out_of_range, "{} ends at offset {}, the batch begins at {}", folder_,
                   end_offset(), header.base_offset);
  }
  if (header.leader_epoch < LeaderEpoch(0) || header.leader_epoch < latest_epoch()) {
    return failure(ErrorCode::fenced_leader_epoch, "{} holds batches of leader epoch {}, the batch has {}", folder_,
                   latest_epoch(), header.leader_epoch);
  }
  NARU_TRY_ASSIGN(const auto marker, marker_of(header, batch));
  return write_batch({batch.first(kBatchHeaderSize), batch_records(batch), header, marker}, now);
}

Result<AppendOutcome> PartitionLog::write_batch(const BatchToWrite& batch, WallTimeMs now) {
  const auto& [header, records, stored, marker] = batch;
  NARU_ASSERT(header.size() + records.size() == stored.total_size, "a batch of {} bytes says it has {}",
              header.size() + records.size(), stored.total_size);
  NARU_ASSERT(stored.leader_epoch >= LeaderEpoch(0), "a batch without a leader epoch");
  NARU_TRY(check_writable());
  NARU_TRY(make_room(stored, now));
  const std::array parts{header, records};
  if (Status status = active().append(parts, stored, config_, now); !status.ok()) {
    const Status undone = active().cut_back();
    if (!undone.ok()) go_offline(undone);
    return failure(after_failed_write(std::move(status)));
  }
  if (epochs_.assign(stored.leader_epoch, stored.base_offset)) unsynced_.epochs = true;
  const auto ended = producers_.applied(stored, marker);
  if (ended && ended->result == TransactionResult::abort) note_aborted(*ended);
  AppendOutcome outcome{.base_offset = stored.base_offset,
                        .last_offset = stored.last_offset(),
                        .bytes = static_cast<uint32_t>(stored.total_size)};
  std::ranges::copy(header, outcome.header.begin());
  return outcome;
}

Status PartitionLog::make_room(const BatchHeader& stored, WallTimeMs now) {
  if (stored.last_offset_delta >= std::numeric_limits<int64_t>::max() - stored.base_offset.value()) {
    return error(ErrorCode::kafka_storage_error, "{} has no offsets left", folder_);
  }
  return active().must_roll_for(stored, config_, now) ? roll(now) : Status();
}

Status PartitionLog::maybe_roll_by_time(WallTimeMs now) {
  producers_.expire();
  NARU_TRY(check_writable());
  return active().is_due_to_roll(config_, now) ? roll(now) : Status();
}

Status PartitionLog::roll_active(WallTimeMs now) {
  NARU_TRY(check_writable());
  return active().empty() ? Status() : roll(now);
}

// Nothing changes before the last step that can fail. After a crash in between, the new file is not there, empty, or
// behind the end of the old one, and recovery knows what to do with each.
Status PartitionLog::roll(WallTimeMs now) {
  const auto prepare = [&]() -> Result<std::pair<std::unique_ptr<Segment>, std::vector<std::shared_ptr<File>>>> {
    NARU_TRY(active().flush_indexes());
    NARU_TRY_ASSIGN(auto sealed_files, active().unsynced_indexes());
    if (active().unsynced_file()) sealed_files.push_back(active().unsynced_file());
    auto next = std::make_unique<Segment>(open_files_, folder_, end_offset());
    NARU_TRY(next->activate(OpenMode::create, now));
    return std::pair(std::move(next), std::move(sealed_files));
  };
  auto prepared = prepare();
  if (!prepared) return after_failed_write(std::move(prepared).error());
  auto& [next, sealed_files] = *prepared;
  unsynced_.files.insert(unsynced_.files.end(), sealed_files.begin(), sealed_files.end());
  unsynced_.checkpoint = true;
  unsynced_.names = true;
  active().seal();
  segments_.push_back(std::move(next));
  producers_.segment_sealed();
  return Status();
}

Status PartitionLog::check_writable() const {
  if (!offline()) return Status();
  return error(ErrorCode::log_offline, "{} is offline: {}", folder_, offline_reason_.to_string());
}

Status PartitionLog::after_failed_write(Status status) {
  if (!is_temporary(status)) go_offline(status);
  return offline() ? check_writable() : status;
}

// A reason that is final replaces one that passes.
void PartitionLog::go_offline(const Status& reason) {
  if (offline() && (!may_be_reopened() || is_temporary(reason))) return;
  offline_reason_ = reason;
  if (!may_be_reopened()) release_unsynced_files();
  log_error("log_storage", "{} is offline until {}: {}", folder_,
            may_be_reopened() ? "it can be opened again" : "the broker is restarted", reason.to_string());
}

bool PartitionLog::may_be_reopened() const {
  return is_temporary(offline_reason_) || offline_reason_ == ErrorCode::corrupt_data;
}

// Through the Files that wrote: only these hear of what was lost before. From then on the log's own files hold all that
// was promised, so that recovery needs no commit journal.
Status PartitionLog::sync_before_reopening() {
  NARU_ASSERT(may_be_reopened() && !sync_running_, "{} is about to be opened twice", folder_);
  const auto sync_all = [this]() -> Status {
    for (const auto& file : unsynced_.files) NARU_TRY(final_if_sync_failed(file->sync_data()));
    if (const auto file = active().unsynced_file()) NARU_TRY(final_if_sync_failed(file->sync_data()));
    return final_if_sync_failed(file_system_.sync_directory(folder_));
  };
  const Status synced = sync_all();
  if (!synced.ok()) go_offline(synced);
  return synced;
}

// When there will be no sync any more.
void PartitionLog::release_unsynced_files() {
  unsynced_.files.clear();
  active().synced(active().size());
}

// --- Durability ------------------------------------------------------------------------------------------------------

SyncWork PartitionLog::begin_sync() {
  NARU_ASSERT(!sync_running_, "two syncs of {} at once", folder_);
  NARU_ASSERT(!offline(), "a sync of {}, which is offline", folder_);
  sync_running_ = true;
  SyncWork work;
  work.file_system_ = &file_system_;
  work.folder_ = folder_;
  work.active_ = active().unsynced_file();
  work.active_base_offset_ = active().base_offset();
  work.active_bytes_ = active().size();
  work.parts_ = std::exchange(unsynced_, {});
  files_in_sync_ = work.parts_.files.size();
  if (work.parts_.checkpoint) begin_checkpoint_sync(work);
  if (work.parts_.epochs) work.epochs_text_ = epochs_.to_text();
  work.snapshot_ = producers_.begin_due_snapshot(end_offset());
  work.end_offset_ = end_offset();
  work.truncations_ = truncations_;
  return work;
}

void PartitionLog::begin_checkpoint_sync(SyncWork& work) {
  auto written = checkpoint_->write_once_more(*checkpoint_->value());
  if (written) {
    work.checkpoint_ = std::move(*written);
    work.checkpoint_sequence_ = checkpoint_->sequence();
  } else if (is_temporary(written.error())) {
    unsynced_.checkpoint = true;  // with the next one: what was appended does not wait for it
  } else {
    work.failed_before_ = std::move(written).error();
  }
}

Status PartitionLog::finish_sync(SyncWork work, const Status& performed) {
  NARU_ASSERT(sync_running_, "a sync of {} ends that has not begun", folder_);
  sync_running_ = false;
  files_in_sync_ = 0;
  if (!performed.ok()) {
    if (is_temporary(performed)) {
      unsynced_.take_back(std::move(work.parts_));
    } else {
      go_offline(performed);
    }
  }
  NARU_TRY(check_writable());
  if (!performed.ok()) return performed;
  if (work.checkpoint_) checkpoint_->synced(work.checkpoint_sequence_);
  if (work.truncations_ != truncations_) {
    // The epochs that were written may be those from before the truncation.
    unsynced_.epochs |= work.parts_.epochs;
    if (work.snapshot_) producers_.discard_snapshot(*work.snapshot_);
    return Status();
  }
  if (work.active_base_offset_ == active().base_offset()) active().synced(work.active_bytes_);
  if (work.snapshot_) unsynced_.names |= producers_.finish_snapshot(*work.snapshot_);
  durable_.synced(work.end_offset_);
  const Checkpoint promise{synced_end(), noted_start_, truncations_};
  checkpoint_unsynced_ |= checkpoint_->value() != promise;
  const Status noted = checkpoint_->write(promise);
  if (noted.ok()) return Status();
  // The data is durable all the same; an older promise is only a weaker one.
  if (!is_temporary(noted)) return after_failed_write(noted);
  log_warn("log_storage", "cannot note that {} is durable up to offset {}: {}", folder_, synced_end(),
           noted.to_string());
  return Status();
}

size_t PartitionLog::unsynced_files() const {
  return (active().unsynced_file() ? 1 : 0) + unsynced_.files.size() + files_in_sync_;
}

bool PartitionLog::journaled(const JournaledRange& range) {
  if (range.truncations != truncations_) return false;
  durable_.journaled(range.base_offset, range.end_offset);
  return true;
}

// What is durable through a commit journal alone becomes so through the log's own files.
Status PartitionLog::sync_journaled_part() {
  // What was deleted before it was ever synced has no segment any more.
  const Offset from = std::max(synced_end(), segments_.front()->base_offset());
  for (size_t i = segment_index(from); i < segments_.size(); ++i) {
    NARU_TRY_ASSIGN(const auto file, segments_[i]->file());
    NARU_TRY(final_if_sync_failed(file->sync_data()));
  }
  // Sealed ones once more, through the Files that wrote them: only these hear of what was lost before.
  for (const auto& file : unsynced_.files) NARU_TRY(final_if_sync_failed(file->sync_data()));
  NARU_TRY(file_system_.sync_directory(folder_));
  durable_.synced(end_offset());
  return Status();
}

Status PartitionLog::close() {
  NARU_TRY(check_writable());
  unsynced_.names |= producers_.store_snapshot(end_offset());
  Status status = active().flush_indexes();
  auto indexes = status.ok() ? active().unsynced_indexes() : failure(std::move(status));
  if (!indexes) return after_failed_write(std::move(indexes).error());
  unsynced_.names |= !indexes->empty();
  unsynced_.files.insert(unsynced_.files.end(), indexes->begin(), indexes->end());
  // Most logs of a broker with many have nothing new, and then nothing is synced.
  if (unsynced_files() > 0 || unsynced_.names || unsynced_.epochs || synced_end() < end_offset()) {
    SyncWork work = begin_sync();
    const Status performed = work.perform();
    NARU_TRY(finish_sync(std::move(work), performed));
  }
  const Status synced = sync_checkpoint();
  return synced.ok() ? Status() : after_failed_write(synced);
}

Status PartitionLog::sync_checkpoint() {
  if (!checkpoint_unsynced_) return Status();
  NARU_TRY(checkpoint_->write_and_sync({synced_end(), noted_start_, truncations_}));
  checkpoint_unsynced_ = false;
  return Status();
}

// --- Reading ---------------------------------------------------------------------------------------------------------

Result<LogSlice> PartitionLog::read(Offset from, Offset end_limit, uint32_t max_bytes, bool at_least_one_batch,
                                    EmptyBatches empty) {
  if (from < start_offset_ || from > end_offset()) {
    return failure(ErrorCode::offset_out_of_range, "offset {} is outside of [{}, {}] of {}", from, start_offset_,
                   end_offset(), folder_);
  }
  LogSlice slice{.base_offset = from, .next_offset = from};
  const Offset limit = std::min(end_limit, end_offset());
  if (from >= limit) return slice;

  Segment& segment = *segments_[segment_index(from)];
  NARU_TRY_ASSIGN(BatchWalk walk, segment.walk_from(from));
  NARU_TRY_ASSIGN(const BatchHeader first, walk.peek());
  if (first.next_offset() > limit) {
    // Limits lie between batches. Before this one is held back, its neighbour has to confirm where it ends.
    NARU_TRY_ASSIGN(std::ignore, walk.next());
    if (walk.at_end()) return slice;
    NARU_TRY_ASSIGN(std::ignore, walk.peek());
    return slice;
  }
  if (first.records_count == 0 && empty == EmptyBatches::skip) {
    NARU_TRY_ASSIGN(const Offset behind, skip_empty_batches(from, limit));
    return read(behind, end_limit, max_bytes, at_least_one_batch, EmptyBatches::keep);
  }
  if (first.total_size > max_bytes && !at_least_one_batch) return slice;

  const uint64_t position = walk.position();
  NARU_TRY_ASSIGN(const Segment::Stretch stretch, segment.stretch_from(walk, position + max_bytes, limit));
  NARU_TRY_ASSIGN(slice.file, segment.file());
  slice.position = position;
  slice.bytes = static_cast<uint32_t>(stretch.end_position - position);
  slice.base_offset = first.base_offset;
  slice.next_offset = stretch.end_offset;
  NARU_TRY(keep_off_damage(segment, slice));
  return slice;
}

Status PartitionLog::keep_off_damage(const Segment& segment, LogSlice& slice) const {
  const LogDamage* damaged = damage();
  if (damaged == nullptr || !damaged->unreadable || damaged->segment != segment.base_offset()) return Status();
  if (damaged->position < slice.position || damaged->position >= slice.position + slice.bytes) return Status();
  if (damaged->position == slice.position) return Status(ErrorCode::corrupt_message, damaged->to_string());
  slice.bytes = static_cast<uint32_t>(damaged->position - slice.position);
  slice.next_offset = damaged->offset;
  return Status();
}

// --- Verification ----------------------------------------------------------------------------------------------------

Result<std::optional<WrittenSegment>> PartitionLog::written_segment(Offset from) {
  for (const auto& candidate : segments_) {
    const Segment& segment = *candidate;
    if (segment.end_offset() <= from) continue;
    NARU_TRY_ASSIGN(auto file, segment.file());
    return WrittenSegment{.file = std::move(file),
                          .base_offset = segment.base_offset(),
                          .end_offset = segment.end_offset(),
                          .active = candidate == segments_.back(),
                          .bytes = segment.size(),
                          .truncations = truncations_,
                          .epochs = epochs_};
  }
  return std::nullopt;
}

bool PartitionLog::holds(const WrittenSegment& segment) const {
  if (segment.truncations != truncations_) return false;
  const auto found = std::ranges::find(segments_, segment.base_offset, &Segment::base_offset);
  if (found == segments_.end()) return false;
  if (segment.active) return (*found)->size() >= segment.bytes;
  return (*found)->end_offset() == segment.end_offset && (*found)->size() == segment.bytes;
}

const LogDamage* PartitionLog::damage() const {
  if (!damage_ || damage_->offset >= end_offset()) return nullptr;
  const auto found = std::ranges::find(segments_, damage_->segment, &Segment::base_offset);
  return found == segments_.end() || damage_->position >= (*found)->size() ? nullptr : &*damage_;
}

}  // namespace naru
