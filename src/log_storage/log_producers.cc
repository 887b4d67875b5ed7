#include "log_storage/log_producers.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "foundation/canary.h"
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

RunningTimeMs LogProducers::now() const {
  if (rules_.clock == nullptr) return 0;
  if (is_planted(Canary::producers_by_wall_clock)) return rules_.clock->wall_now_ms();
  return std::chrono::duration_cast<Milliseconds>(rules_.clock->now().time_since_epoch()).count();
}

Status LogProducers::rebuild(Segments segments) {
  const Offset begin = segments.front()->base_offset();
  const Offset end = segments.back()->end_offset();
  NARU_TRY(files_.remove_above(end));
  // One from before the first segment does not know what the removed ones held.
  NARU_TRY_ASSIGN(auto loaded, files_.load(begin, end, rules_.limits, now()));
  state_ = std::move(loaded.state);
  const bool from_snapshot = loaded.offset != kNoOffset;
  from_first_batch_ = !from_snapshot && begin == Offset(0);
  if (from_first_batch_) state_.set_complete_from(rules_.complete_from);
  missing_ = !from_snapshot && begin == end && begin > Offset(0);
  stored_at_ = now();
  bytes_behind_snapshot_ = 0;
  changes_ = stored_changes_ = 0;
  snapshot_due_ = false;
  NARU_TRY(replay(segments, std::max(loaded.offset, begin)));
  state_.expire(now());
  account(state_.evicted());  // whoever had to go during the replay had gone before
  return Status();
}

void LogProducers::learn_complete_from(ProducerId first) {
  rules_.complete_from = first;
  if (from_first_batch_) state_.learn_complete_from(first);
}

Result<ProducerSnapshotFiles::Loaded> LogProducers::state_before(Offset begin, Offset end) {
  NARU_TRY_ASSIGN(auto loaded, files_.load(begin, end, rules_.limits, now()));
  loaded.offset = std::max(loaded.offset, begin);
  return loaded;
}

Status LogProducers::replay(Segments segments, Offset from) {
  for (const auto& segment : segments) {
    if (segment->empty() || segment->end_offset() <= from) continue;
    Status status = replay(*segment, std::max(from, segment->base_offset()));
    if (status == ErrorCode::corrupt_message) {
      return error(ErrorCode::corrupt_data, "cannot tell which producers wrote to {}: {}", folder_, status.message());
    }
    NARU_TRY(std::move(status));
  }
  return Status();
}

Status LogProducers::replay(Segment& segment, Offset from) {
  NARU_TRY_ASSIGN(BatchWalk walk, segment.walk_from(from));
  NARU_TRY_ASSIGN(const std::shared_ptr<const File> file, segment.file());
  Offset reached = from;
  while (!walk.at_end()) {
    const uint64_t position = walk.position();
    NARU_TRY_ASSIGN(const BatchHeader header, walk.next());
    NARU_TRY_ASSIGN(const auto marker, read_marker(*file, position, header));
    state_.apply(header, now(), marker);
    bytes_behind_snapshot_ += header.total_size;
    if (header.producer_id >= ProducerId(0)) ++changes_;
    reached = header.next_offset();
  }
  if (reached == segment.end_offset()) return Status();
  return error(ErrorCode::corrupt_message, "{} ends at offset {}", segment.log_path(), reached);
}

Status LogProducers::begin_with(ProducerState state, Offset start) {
  state_ = std::move(state);
  from_first_batch_ = false;
  account(state_.evicted());
  NARU_TRY(store_durably(begin_snapshot(start)));
  stored_changes_ = changes_;
  missing_ = false;
  return Status();
}

// As of `begin`, not as of the end: from there on the log tells by itself, and a truncation leaves the snapshot alone.
Status LogProducers::store_before(Offset begin) {
  if (state_.empty() || files_.newest() >= begin || is_planted(Canary::removed_below_start)) return Status();
  return store_durably(
      {.file_system = file_system_, .folder = folder_, .offset = begin, .content = encode_as_of(begin)});
}

Status LogProducers::store_durably(ProducerSnapshotWork work) {
  work.write_aside();
  NARU_TRY(std::move(work.written));
  NARU_TRY(files_.adopt(work.offset));
  return files_.sync_names();
}

Bytes LogProducers::encode_as_of(Offset start) const {
  return encode_producer_snapshot(state_.as_of(start), start, now());
}

Result<ProducerState> LogProducers::decode(BytesView snapshot, Offset start) const {
  return decode_producer_snapshot(snapshot, start, rules_.limits, now());
}

SequenceCheck LogProducers::check(const BatchHeader& header, const AppendTerms& terms) const {
  SequenceCheck result = state_.check(header, terms);
  if (rules_.accounting != nullptr) {
    if (!result.refused.ok()) rules_.accounting->refused.add();
    if (result.duplicate) rules_.accounting->duplicates.add();
  }
  return result;
}

std::optional<TransactionEnd> LogProducers::applied(const BatchHeader& stored,
                                                    const std::optional<TransactionMarker>& marker) {
  bytes_behind_snapshot_ += stored.total_size;
  snapshot_due_ |= bytes_behind_snapshot_ >= kSnapshotBytes;
  missing_ = false;  // too late: what is appended next relies on what is here
  const uint64_t evicted_before = state_.evicted();
  const auto ended = state_.apply(stored, now(), marker);
  if (stored.producer_id < ProducerId(0)) return std::nullopt;
  ++changes_;
  state_.expire(now());
  account(evicted_before);
  return ended;
}

void LogProducers::expire() {
  if (state_.expire(now()) > 0) account(state_.evicted());
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
  stored_at_ = now();
  return {.file_system = file_system_,
          .folder = folder_,
          .offset = end,
          .content = encode_producer_snapshot(state_, end, now()),
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
  const bool nothing_new = files_.newest() == end || (!changed() && bytes_behind_snapshot_ <= kSmallTailBytes);
  if (nothing_new && !idle_times_are_old()) return false;
  ProducerSnapshotWork work = begin_snapshot(end);
  work.write_aside();
  return finish_snapshot(work);
}

// Otherwise a broker that is restarted often would remember idle producers for ever.
bool LogProducers::idle_times_are_old() const {
  return !state_.empty() && now() - stored_at_ >= rules_.limits.expiration_ms / kPartOfExpiration;
}

Offset LogProducers::forgettable_end(Offset synced_end) const {
  if (state_.empty()) return Offset(std::numeric_limits<int64_t>::max());
  const auto behind = std::ranges::upper_bound(files_.offsets(), synced_end);
  return behind == files_.offsets().begin() ? Offset(0) : *std::prev(behind);
}

}  // namespace naru
