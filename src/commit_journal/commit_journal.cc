#include "commit_journal/commit_journal.h"

#include <algorithm>
#include <utility>

#include "foundation/log.h"
#include "log_storage/partition_log.h"

namespace naru {
namespace {

constexpr uint64_t kRoundMaxBytes = 4u << 20;
// While one round is filled, one is written, and the logs of a third one are told.
constexpr size_t kRoundsAtOnce = 3;

}  // namespace

CommitJournal::CommitJournal(Parts parts, std::string folder, const JournalSettings& settings,
                             MetricsRegistry& registry)
    : seams_(parts),
      folder_(std::move(folder)),
      enabled_(settings.enabled),
      ring_bytes_(settings.bytes / kJournalBlock * kJournalBlock),
      batch_max_bytes_(settings.batch_max_bytes),
      round_max_bytes_(std::min(kRoundMaxBytes, ring_bytes_ / 8)),
      pending_max_bytes_(ring_bytes_ / 4),
      metrics_(registry, folder_),
      files_(parts.scheduler, this),
      space_(ring_bytes_) {
  used_gauge_ = registry.computed_gauge("naru_journal_used_bytes", "Bytes of the journal that are needed",
                                        {{"folder", folder_}}, [this] {
                                          const std::scoped_lock lock(mutex_);
                                          return static_cast<double>(space_.used());
                                        });
}

CommitJournal::~CommitJournal() = default;

// --- Appends ---------------------------------------------------------------------------------------------------------

void CommitJournal::make_durable(std::shared_ptr<DurableLog> log, Offset up_to) {
  files_.make_durable(std::move(log), up_to);
}

void CommitJournal::make_durable(std::shared_ptr<DurableLog> log, const StoredBatch& batch) {
  const bool small =
      batch.size() <= batch_max_bytes_ && kJournalRoundHeaderBytes + journal_entry_bytes(batch) <= round_max_bytes_;
  if (enabled_ && small && add(log, batch)) return;
  files_.make_durable(std::move(log), batch.end_offset);
}

bool CommitJournal::add(const std::shared_ptr<DurableLog>& log, const StoredBatch& batch) {
  const PartitionLog& partition_log = log->log();
  std::unique_lock lock(mutex_);
  if (stage_ != Stage::ready) {
    metrics_.fallbacks_not_ready.add();
    if (stage_ == Stage::idle && !stopping_) {
      stage_ = Stage::preparing;
      lock.unlock();
      run_on_worker([this] { prepare(); });
    }
    return false;
  }
  if (pending_bytes_ + journal_entry_bytes(batch) > pending_max_bytes_) {
    metrics_.fallbacks_busy.add();
    return false;
  }
  JournalTrack& track = log->journal_track_;
  const bool pins_already = track.tracked;
  space_.added(track, batch.end_offset, partition_log.truncations());
  if (!pins_already) pinning_.try_emplace(track.number, log);
  round_with_room_for(journal_entry_bytes(batch))
      .add(log, track, batch, partition_log.truncations(), partition_log.durable_end());
  pending_bytes_ += journal_entry_bytes(batch);
  if (std::exchange(writing_, true)) return true;
  lock.unlock();
  run_on_worker([this] { write_next_round(); });
  return true;
}

JournalRound& CommitJournal::round_with_room_for(uint64_t bytes) {
  if (pending_.empty() || pending_.back().bytes() + bytes > round_max_bytes_) {
    if (spares_.empty()) spares_.emplace_back(0);
    spares_.back().restart(next_round_++);
    pending_.push_back(std::move(spares_.back()));
    spares_.pop_back();
  }
  return pending_.back();
}

// --- Rounds ----------------------------------------------------------------------------------------------------------

void CommitJournal::write_next_round() {
  JournalRound round = take_round();
  const Outcome outcome = write(round);
  // The next round is written by another worker while this one tells the logs of the present one.
  if (end_round(round, outcome)) run_on_worker([this] { write_next_round(); });
  tell(round, outcome);
  round.restart(0);  // outside of the lock: it lets go of the logs and of the requests' memory
  const std::scoped_lock lock(mutex_);
  if (spares_.size() < kRoundsAtOnce) spares_.push_back(std::move(round));
}

JournalRound CommitJournal::take_round() {
  const std::scoped_lock lock(mutex_);
  JournalRound round = std::move(pending_.front());
  pending_.pop_front();
  pending_bytes_ -= round.bytes() - kJournalRoundHeaderBytes;
  return round;
}

CommitJournal::Outcome CommitJournal::write(JournalRound& round) {
  for (;;) {
    std::optional<JournalSpace::Place> place;
    bool mark = false;
    {
      const std::scoped_lock lock(mutex_);
      if (stage_ != Stage::ready) return Outcome::failed;
      place = space_.place(round.bytes());
      mark = !place && space_.mark_would_help(round.bytes());
      if (mark) place = space_.place_of_mark();
    }
    if (!place) return Outcome::no_room;
    JournalRound empty(0);
    const Status written = write_at_place(mark ? empty : round, *place);
    if (!written.ok()) {
      fail(written);
      return Outcome::failed;
    }
    if (!mark) return Outcome::durable;
  }
}

Status CommitJournal::write_at_place(JournalRound& round, const JournalSpace::Place& place) {
  round.seal({.journal_id = file_->slot().journal_id,
              .sequence = place.sequence,
              .position = place.position,
              .previous_position = place.previous_position,
              .tail = place.tail});
  const MonotonicTime begun = seams_.clock.now();
  NARU_TRY(file_->write_round(place.position, round.parts()));
  metrics_.sync_seconds.record(seams_.clock.now() - begun);
  metrics_.round_entries.record(round.entries());
  metrics_.bytes.add(round.bytes());
  const std::scoped_lock lock(mutex_);
  space_.committed(place, round.bytes());
  return Status();
}

bool CommitJournal::end_round(JournalRound& round, Outcome outcome) {
  if (outcome == Outcome::no_room) metrics_.fallbacks_full.add(round.entries());
  if (outcome == Outcome::failed) metrics_.fallbacks_failed.add(round.entries());
  const std::scoped_lock lock(mutex_);
  maybe_free_space();
  writing_ = !pending_.empty();
  return writing_;
}

void CommitJournal::fail(const Status& reason) {
  log_error("journal",
            "{}/{} is out of use until the broker is restarted, each log syncs its own files from now on: {}", folder_,
            kJournalFileName, reason.to_string());
  const std::scoped_lock lock(mutex_);
  stage_ = Stage::out_of_use;
}

void CommitJournal::tell(const JournalRound& round, Outcome outcome) {
  for (const JournalRound::Completion& completion : round.completions()) {
    hold();
    completion.log->run_in_strand([this, log = completion.log, range = completion.range, outcome] {
      tell_log(log, range, outcome);
      release();
    });
  }
}

void CommitJournal::tell_log(const std::shared_ptr<DurableLog>& log, const JournaledRange& range, Outcome outcome) {
  PartitionLog& partition_log = log->log();
  if (partition_log.offline()) return;  // whoever waited has been told
  if (outcome == Outcome::durable && partition_log.journaled(range)) {
    log->on_durable(partition_log.durable_end());
  } else {
    // Not written; or truncated since, and what is left of the range has somebody who waits for it.
    files_.make_durable(log, std::min(range.end_offset, partition_log.end_offset()));
  }
}

}  // namespace naru
