#include "log_storage/log_producers.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "foundation/assert.h"
#include "foundation/log.h"
#include "log_storage/control_batches.h"
#include "log_storage/producer_snapshot.h"
#include "log_storage/segment.h"

namespace naru {

LogProducers::LogProducers(FileSystem& file_system, std::string folder, std::vector<Offset> snapshots,
                           const ProducerRules& rules)
    : file_system_(&file_system),
      folder_(std::move(folder)),
      rules_(rules),
      files_(file_system, folder_, std::move(snapshots)),
      state_(rules.limits) {}

Status LogProducers::rebuild(Segments segments, WallTimeMs now) {
  const Offset begin = segments.front()->base_offset();
  const Offset end = segments.back()->end_offset();
  NARU_TRY(files_.remove_above(end));
  // One from before the first segment does not know what the removed ones held.
  NARU_TRY_ASSIGN(auto loaded, files_.load(begin, end, rules_.limits));
  state_ = std::move(loaded.state);
  bytes_behind_snapshot_ = 0;
  changes_ = stored_changes_ = 0;
  snapshot_due_ = false;
  NARU_TRY(replay(segments, std::max(loaded.offset, begin), now));
  state_.expire(now);
  account(state_.evicted());  // whoever had to go during the replay had gone before
  return Status();
}

Result<ProducerSnapshotFiles::Loaded> LogProducers::state_before(Offset begin, Offset end) {
  NARU_TRY_ASSIGN(auto loaded, files_.load(begin, end, rules_.limits));
  loaded.offset = std::max(loaded.offset, begin);
  return loaded;
}

Status LogProducers::replay(Segments segments, Offset from, WallTimeMs now) {
  for (const auto& segment : segments) {
    if (segment->empty() || segment->end_offset() <= from) continue;
    Status status = replay(*segment, std::max(from, segment->base_offset()), now);
    if (status == ErrorCode::corrupt_message) {
      return error(ErrorCode::corrupt_data, "cannot tell which producers wrote to {}: {}", folder_, status.message());
    }
    NARU_TRY(std::move(status));
  }
  return Status();
}

Status LogProducers::replay(Segment& segment, Offset from, WallTimeMs now) {
  NARU_TRY_ASSIGN(BatchWalk walk, segment.walk_from(from));
  NARU_TRY_ASSIGN(const std::shared_ptr<const File> file, segment.file());
  Offset reached = from;
  while (!walk.at_end()) {
    const uint64_t position = walk.position();
    NARU_TRY_ASSIGN(const BatchHeader header, walk.next());
    NARU_TRY_ASSIGN(const auto marker, read_marker(*file, position, header));
    state_.apply(header, now, marker);
    bytes_behind_snapshot_ += header.total_size;
    if (header.producer_id >= ProducerId(0)) ++changes_;
    reached = header.next_offset();
  }
  if (reached == segment.end_offset()) return Status();
  return error(ErrorCode::corrupt_message, "{} ends at offset {}", segment.log_path(), reached);
}

Status LogProducers::truncated(Segments segments) {
  return rebuild(segments, state_.newest_append_ms());
}

SequenceCheck LogProducers::check(const BatchHeader& header, const AppendTerms& terms) const {
  SequenceCheck result = state_.check(header, terms);
  if (rules_.accounting != nullptr) {
    if (!result.refused.ok()) rules_.accounting->refused.add();
    if (result.duplicate) rules_.accounting->duplicates.add();
  }
  return result;
}

std::optional<TransactionEnd> LogProducers::applied(const BatchHeader& stored, WallTimeMs now,
                                                    const std::optional<TransactionMarker>& marker) {
  bytes_behind_snapshot_ += stored.total_size;
  snapshot_due_ |= bytes_behind_snapshot_ >= kSnapshotBytes;
  if (stored.producer_id < ProducerId(0)) return std::nullopt;
  ++changes_;
  const uint64_t evicted_before = state_.evicted();
  const auto ended = state_.apply(stored, now, marker);
  state_.expire(now);
  account(evicted_before);
  return ended;
}

void LogProducers::expire(WallTimeMs now) {
  if (state_.expire(now) > 0) account(state_.evicted());
}

// Where memory is short, whoever is new takes the place of the producer that was idle for longest.
void LogProducers::account(uint64_t evicted_before) {
  if (rules_.accounting == nullptr) return;
  while (!rules_.accounting->hold(memory_, state_.size() * ProducerState::kBytesPerProducer)) {
    if (!state_.evict_longest_idle()) break;  // one is always remembered
  }
  if (state_.evicted() > evicted_before) rules_.accounting->evicted.add(state_.evicted() - evicted_before);
}

std::optional<ProducerSnapshotWork> LogProducers::begin_due_snapshot(Offset end) {
  if (!snapshot_due_) return std::nullopt;
  return begin_snapshot(end);
}

ProducerSnapshotWork LogProducers::begin_snapshot(Offset end) {
  // From here on, so that a failure is followed by another attempt after as much log again, not at once.
  snapshot_due_ = false;
  bytes_behind_snapshot_ = 0;
  return {.file_system = file_system_,
          .folder = folder_,
          .offset = end,
          .content = encode_producer_snapshot(state_, end),
          .producer_changes = changes_};
}

bool LogProducers::finish_snapshot(const ProducerSnapshotWork& work) {
  const Status status = work.written.ok() ? files_.adopt(work.offset) : work.written;
  if (status.ok()) {
    stored_changes_ = std::max(stored_changes_, work.producer_changes);
    return true;
  }
  files_.discard(work.offset);
  log_warn("log_storage", "cannot store the producers of {} as of offset {}, the next start reads more of the log: {}",
           folder_, work.offset, status.to_string());
  return false;
}

bool LogProducers::store_snapshot(Offset end) {
  if (files_.newest() == end || (!changed() && bytes_behind_snapshot_ <= kSmallTailBytes)) return false;
  ProducerSnapshotWork work = begin_snapshot(end);
  work.write_aside();
  return finish_snapshot(work);
}

Offset LogProducers::forgettable_end(Offset synced_end) const {
  if (state_.empty()) return Offset(std::numeric_limits<int64_t>::max());
  const auto behind = std::ranges::upper_bound(files_.offsets(), synced_end);
  return behind == files_.offsets().begin() ? Offset(0) : *std::prev(behind);
}

}  // namespace naru
