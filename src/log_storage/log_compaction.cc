#include "log_storage/log_compaction.h"

#include <algorithm>
#include <utility>

#include "foundation/assert.h"
#include "foundation/canary.h"
#include "log_storage/batch_stream.h"
#include "log_storage/compaction_progress_file.h"
#include "log_storage/segment_swap.h"
#include "record_format/batch_rewriter.h"
#include "record_format/record_reader.h"

namespace naru {
namespace {

Offset end_of(const std::vector<CompactedInput>& segments) {
  return segments.empty() ? Offset(0) : segments.back().end_offset;
}

// One for each dirty offset, unless memory is short.
uint64_t keys_expected(const LogCompaction::Source& source) {
  const Offset from = std::max(source.progress.first_dirty, source.start_offset);
  return static_cast<uint64_t>(std::max<int64_t>(0, end_of(source.segments) - from));
}

Result<BatchStream> open_stream(FileSystem& file_system, const CompactedInput& segment) {
  NARU_TRY_ASSIGN(auto file, file_system.open(segment.path, OpenMode::read));
  return BatchStream(std::move(file), segment.base_offset, segment.bytes);
}

}  // namespace

LogCompaction::LogCompaction(Source source, CompactionSettings settings)
    : source_(std::move(source)),
      settings_(std::move(settings)),
      newest_(settings_.hash_key, settings_.map_bytes, keys_expected(source_)),
      rules_{.limit = end_of(source_.segments),
             .last_offset = end_of(source_.segments) - 1,
             .drop_limit = settings_.drop_limit,
             .now = settings_.now,
             .delete_retention_ms = settings_.delete_retention_ms,
             .max_decompressed_bytes = source_.config.max_decompressed_bytes},
      transactions_(source_.aborted) {}

Status LogCompaction::check_cancelled() const {
  return settings_.cancelled.cancelled() ? Status(ErrorCode::cancelled) : Status();
}

bool LogCompaction::is_ahead(uint64_t bytes) const {
  return settings_.throttle != nullptr && settings_.throttle->spend(bytes);
}

Task<Status> LogCompaction::read_keys() {
  CompactedTransactions transactions(source_.aborted);
  for (const CompactedInput& segment : source_.segments) {
    if (segment.end_offset <= source_.progress.first_dirty || segment.end_offset <= source_.start_offset) continue;
    NARU_CO_TRY_ASSIGN(const bool all, co_await read_keys_of(segment, transactions));
    if (!all) break;
  }
  co_return Status();
}

Task<Result<bool>> LogCompaction::read_keys_of(const CompactedInput& segment, CompactedTransactions& transactions) {
  NARU_CO_TRY_ASSIGN(BatchStream stream, open_stream(*source_.file_system, segment));
  for (;;) {
    NARU_CO_TRY(check_cancelled());
    NARU_CO_TRY_ASSIGN(const auto batch, stream.next());
    if (!batch) co_return true;
    if (is_ahead(batch->bytes.size())) NARU_CO_TRY(co_await settings_.throttle->wait(settings_.cancelled));
    if (batch->header.is_control() || batch->header.last_offset() < source_.progress.first_dirty) continue;
    if (transactions.is_aborted(batch->header)) continue;  // they make nothing superfluous
    NARU_CO_TRY_ASSIGN(const bool room, put_keys(*batch));
    if (!room) co_return false;
  }
}

Result<bool> LogCompaction::put_keys(const StreamedBatch& batch) {
  NARU_TRY_ASSIGN(RecordReader reader,
                  open_records(batch.header, batch.bytes, decompressor_, rules_.max_decompressed_bytes));
  for (RecordView record; reader.next(record);) {
    if (!record.key || record.offset < source_.progress.first_dirty || record.offset < source_.start_offset) continue;
    if (newest_.put(*record.key, record.offset)) continue;
    rules_.limit = record.offset;
    return false;
  }
  NARU_TRY(reader.status());
  return true;
}

Task<Result<bool>> LogCompaction::clean_next() {
  const auto& segments = source_.segments;
  const auto is_left = [&] { return next_ < segments.size() && segments[next_].base_offset < rules_.limit; };
  while (is_left()) {
    const size_t first = next_;
    WallTimeMs last_append = segments[first].last_append;
    changed_ = false;
    dropped_end_ = Offset(0);
    horizon_.reset();
    NARU_CO_TRY_ASSIGN(cleaned_, CleanedSegment::create(*source_.open_files, source_.folder,
                                                        segments[first].base_offset, source_.config));
    do {
      last_append = std::max(last_append, segments[next_].last_append);
      if (Status status = co_await clean_segment(segments[next_]); !status.ok()) {
        discard();
        co_return failure(std::move(status));
      }
      ++next_;
    } while (is_left() && cleaned_->has_room_for(segments[next_].bytes, segments[next_].end_offset));

    if (!changed_ && next_ == first + 1) {
      discard();
      continue;
    }
    if (Status status = cleaned_->finish(last_append); !status.ok()) {
      discard();
      co_return failure(std::move(status));
    }
    replaced_.clear();
    replaced_bytes_ = 0;
    for (size_t i = first; i < next_; ++i) {
      replaced_.push_back(segments[i].base_offset);
      replaced_bytes_ += segments[i].bytes;
    }
    replaced_end_ = segments[next_ - 1].end_offset;
    co_return true;
  }
  co_return false;
}

Task<Status> LogCompaction::clean_segment(const CompactedInput& segment) {
  NARU_CO_TRY_ASSIGN(BatchStream stream, open_stream(*source_.file_system, segment));
  for (;;) {
    NARU_CO_TRY(check_cancelled());
    NARU_CO_TRY_ASSIGN(const auto batch, stream.next());
    if (!batch) break;
    const uint64_t before = cleaned_->bytes();
    NARU_CO_TRY(clean_batch(*batch));
    const uint64_t used = batch->bytes.size() + cleaned_->bytes() - before;
    if (is_ahead(used)) NARU_CO_TRY(co_await settings_.throttle->wait(settings_.cancelled));
  }
  statistics_.read_bytes += segment.bytes;
  co_return Status();
}

Status LogCompaction::clean_batch(const StreamedBatch& batch) {
  CompactedTransactions::End ended;
  NARU_TRY_ASSIGN(const CompactedBatch result, compact(batch, ended));
  statistics_.removed_records += result.removed_records;
  if (result.delete_horizon) next_delete_horizon_ = std::min(next_delete_horizon_, *result.delete_horizon);
  dropped_end_ = std::max(dropped_end_, result.dropped_end);
  NARU_TRY(take_over(batch, result));
  // Without its marker, readers would take everything that follows for aborted.
  if (ended.aborted && result.kind != CompactedBatch::Kind::removed) cleaned_->note_aborted(*ended.aborted);
  return Status();
}

Result<CompactedBatch> LogCompaction::compact(const StreamedBatch& batch, CompactedTransactions::End& ended) {
  const BatchHeader& header = batch.header;
  if (header.is_control()) {
    ended = transactions_.end(header);
    return compact_marker(header, batch.bytes, rules_, ended.has_records || is_known_of_producer(header));
  }
  const BatchStanding standing{.known_of_producer = is_known_of_producer(header),
                               .aborted = transactions_.is_aborted(header)};
  NARU_TRY_ASSIGN(CompactedBatch result, compact_batch(header, batch.bytes, newest_, rules_, standing, decompressor_));
  const bool has_records = header.records_count > 0 && (result.kind == CompactedBatch::Kind::unchanged ||
                                                        result.kind == CompactedBatch::Kind::rewritten);
  if (header.is_transactional() && has_records) transactions_.stays(header);
  return result;
}

Status LogCompaction::take_over(const StreamedBatch& batch, const CompactedBatch& result) {
  const BatchHeader& header = batch.header;
  switch (result.kind) {
    case CompactedBatch::Kind::unchanged:
      return cleaned_->append(batch.bytes);
    case CompactedBatch::Kind::rewritten:
    case CompactedBatch::Kind::emptied:
      changed_ = true;
      return cleaned_->append(result.bytes);
    case CompactedBatch::Kind::removed:
      // A filler that stays one is no change; one that grows is.
      changed_ |= !is_filler(header) || cleaned_->ends_with_removed(header.leader_epoch);
      return cleaned_->append_removed(header.base_offset, header.next_offset(), header.leader_epoch);
  }
  return Status();
}

bool LogCompaction::is_known_of_producer(const BatchHeader& header) const {
  return header.producer_id != kNoProducerId &&
         std::ranges::binary_search(source_.batches_of_producers, header.base_offset);
}

void LogCompaction::discard() {
  cleaned_->discard();
  cleaned_ = std::nullopt;
}

Status LogCompaction::store_horizon() const {
  if (!horizon_ || is_planted(Canary::horizon_not_stored)) return Status();
  return write_tombstone_horizon(*source_.file_system, source_.folder, *horizon_);
}

Status LogCompaction::commit_swap() {
  return naru::commit_swap(*source_.file_system, source_.folder, replaced_.front());
}

Status LogCompaction::finish_swap() {
  statistics_.written_bytes += cleaned_->bytes_written();
  statistics_.replaced_bytes += replaced_bytes_;
  statistics_.replaced_segments += replaced_.size();
  ++statistics_.new_segments;
  cleaned_ = std::nullopt;
  return naru::finish_swap(*source_.file_system, *source_.open_files, source_.folder, replaced_);
}

CompactionProgress LogCompaction::progress() const {
  return {.first_dirty = std::max(rules_.limit, source_.progress.first_dirty),
          .next_delete_horizon = next_delete_horizon_};
}

Status LogCompaction::write_progress() const {
  return write_compaction_progress(*source_.file_system, source_.folder, progress(), source_.truncations);
}

}  // namespace naru
