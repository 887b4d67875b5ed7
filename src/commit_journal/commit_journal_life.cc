// The parts of the commit journal that are not on the way of an append: beginning, ending, and freeing space.
#include <utility>

#include "commit_journal/commit_journal.h"
#include "commit_journal/journal_reader.h"
#include "foundation/log.h"
#include "log_storage/partition_log.h"

namespace naru {
namespace {

// Syncs of logs for the journal's sake that run at the same time: the workers have more urgent things to do.
constexpr size_t kFreeingAtOnce = 4;

void warn_of_use_without(const std::string& folder, const Status& why) {
  log_warn("journal", "{} is used without its commit journal until the next start, each log syncs its own files: {}",
           folder, why.to_string());
}

}  // namespace

// --- Begin and end ---------------------------------------------------------------------------------------------------

Result<std::map<LogId, JournaledBatches>> CommitJournal::read(bool clean_shutdown) {
  clean_shutdown_ = clean_shutdown;
  // Then the logs' own files hold everything.
  if (clean_shutdown) return std::map<LogId, JournaledBatches>();
  auto opened = JournalFile::open(seams_.files, folder_);
  if (!opened && opened.error() == ErrorCode::not_found) return std::map<LogId, JournaledBatches>();
  if (!opened) return failure(std::move(opened).error());
  NARU_TRY_ASSIGN(JournalContents contents, read_journal(opened->file()));
  log_info("journal", "{} holds {} rounds with batches of {} logs{}", opened->file()->path(), contents.rounds,
           contents.logs.size(), contents.torn_round ? ", and one that is incomplete and was promised to nobody" : "");
  return std::move(contents.logs);
}

void CommitJournal::begin(bool all_recovered) {
  const auto settle = [&]() -> Result<Stage> {
    if (!all_recovered) {
      return failure(ErrorCode::corrupt_data, "it holds batches of logs that could not be opened, or that are unknown");
    }
    auto opened = JournalFile::open(seams_.files, folder_);
    // After a clean shutdown nobody has read it: a damaged one is replaced like a missing one.
    const bool missing =
        !opened && (opened.error() == ErrorCode::not_found || opened.error() == ErrorCode::corrupt_data);
    if (!opened && !missing) return failure(std::move(opened).error());
    if (opened && (!enabled_ || opened->slot().ring_bytes != ring_bytes_)) {
      NARU_TRY(JournalFile::remove(seams_.files, folder_));
    } else if (opened) {
      if (!clean_shutdown_) NARU_TRY(opened->make_empty(seams_.random));
      file_ = std::move(*opened);
    }
    return file_ && !clean_shutdown_ ? Stage::ready : Stage::idle;
  };
  const auto settled = settle();
  if (!settled) warn_of_use_without(folder_, settled.error());
  const std::scoped_lock lock(mutex_);
  stage_ = settled ? *settled : Stage::out_of_use;
}

void CommitJournal::prepare() {
  const Status prepared = prepare_file();
  if (!prepared.ok()) warn_of_use_without(folder_, prepared);
  const std::scoped_lock lock(mutex_);
  stage_ = prepared.ok() ? Stage::ready : Stage::out_of_use;
}

Status CommitJournal::prepare_file() {
  if (file_) return file_->make_empty(seams_.random);
  NARU_TRY_ASSIGN(file_, JournalFile::create(seams_.files, folder_, ring_bytes_, seams_.random));
  return Status();
}

Task<void> CommitJournal::drain() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
    to_free_.clear();
  }
  release();
  co_await drained_;
  co_await files_.drain();
}

void CommitJournal::leave_empty() {
  if (stage_ != Stage::ready) return;
  const Status emptied = file_->make_empty(seams_.random);
  // The next start does not read it after a clean shutdown, and empties it before it is used.
  if (!emptied.ok()) log_warn("journal", "{}: could not be emptied: {}", folder_, emptied.to_string());
}

void CommitJournal::run_on_worker(UniqueFunction<void()> job) {
  hold();
  seams_.scheduler.run_blocking([this, job = std::move(job)]() mutable {
    job();
    release();
  });
}

void CommitJournal::release() {
  if (running_.fetch_sub(1, std::memory_order_acq_rel) == 1) drained_.set();
}

// --- Freeing space ---------------------------------------------------------------------------------------------------

// Called with the lock held. Begins when half of the ring is needed, and goes up to the logs that pin its older half of
// that; not again before the journal has grown a bit, so that logs that cannot be synced do not keep the disk busy.
void CommitJournal::maybe_free_space() {
  if (stopping_ || freeing_ > 0 || !to_free_.empty()) return;
  uint64_t pinned_before = kNoJournalPosition;
  if (stage_ == Stage::ready) {
    if (space_.used() < ring_bytes_ / 2 || space_.head() - freed_at_ < ring_bytes_ / 16) return;
    pinned_before = space_.head() - ring_bytes_ / 4;
  }
  freed_at_ = space_.head();
  for (const uint64_t number : space_.pinning_before(pinned_before)) to_free_.push_back(pinning_.at(number));
  if (!to_free_.empty()) run_on_worker([this] { free_next(); });
}

void CommitJournal::free_next() {
  std::unique_lock lock(mutex_);
  if (std::exchange(handing_out_, true)) return;
  while (freeing_ < kFreeingAtOnce && !to_free_.empty()) {
    const std::shared_ptr<DurableLog> log = std::move(to_free_.front());
    to_free_.pop_front();
    log->journal_track_.being_freed = true;
    ++freeing_;
    lock.unlock();
    hold();
    log->run_in_strand([this, log] {
      if (files_.sync_lazily(log)) {
        metrics_.freeing_syncs.add();
      } else {
        file_sync_ended(log, 0, true);
      }
      release();
    });
    lock.lock();
  }
  handing_out_ = false;
}

uint64_t CommitJournal::file_sync_begins() {
  const std::scoped_lock lock(mutex_);
  return space_.sync_begins();
}

void CommitJournal::file_sync_ended(const std::shared_ptr<DurableLog>& log, uint64_t mark, bool well) {
  std::shared_ptr<DurableLog> unpinned;  // dropped after the lock
  const std::scoped_lock lock(mutex_);
  JournalTrack& track = log->journal_track_;
  if (well) space_.synced(track, mark, log->log().synced_end(), log->log().truncations());
  unpinned = unpin_if_free(track);
  if (!std::exchange(track.being_freed, false)) return;
  --freeing_;
  // Not from here: this thread is inside the log's strand.
  if (!stopping_ && !to_free_.empty()) run_on_worker([this] { free_next(); });
}

void CommitJournal::closed(DurableLog& log) {
  std::shared_ptr<DurableLog> unpinned;
  const std::scoped_lock lock(mutex_);
  space_.forget(log.journal_track_);
  unpinned = unpin_if_free(log.journal_track_);
}

std::shared_ptr<DurableLog> CommitJournal::unpin_if_free(const JournalTrack& track) {
  const auto found = pinning_.find(track.number);
  if (track.tracked || found == pinning_.end()) return nullptr;
  auto log = std::move(found->second);
  pinning_.erase(found);
  return log;
}

}  // namespace naru
