// The commit journal of a data folder: one sync makes small batches of all its logs durable.
//
//     append -> make_durable() -> pending round
//                                     |   one round is written at a time, what comes meanwhile goes into the next
//     worker: one write, one sync of the journal -> every log of the round is told, on the same thread
//
// The same bytes are in the logs' own files, in the page cache. A log's files are synced before the journal's space is
// used again, in the background; then the journal does not matter to that log any more. Large batches go past the
// journal: a sync of their log's files.
//
// The journal is an optimisation that can be left out at any moment. While its file is being made (at the first use),
// when it is full, and for the rest of the run after a failed write or sync, batches are made durable by syncs of their
// logs' files (naru_journal_fallbacks_total). What an earlier round has made durable stays so.
//
// Life: read() -> the logs are opened with what it returned -> begin() -> make_durable() ... -> every log is closed ->
// drain() -> leave_empty(). Outlives the logs' last events.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "async/one_shot.h"
#include "async/task.h"
#include "commit_journal/journal_file.h"
#include "commit_journal/journal_metrics.h"
#include "commit_journal/journal_round.h"
#include "commit_journal/journal_space.h"
#include "log_storage/file_sync_service.h"
#include "platform/clock.h"
#include "platform/file_system.h"
#include "platform/random.h"
#include "platform/scheduler.h"

namespace naru {

struct JournalSettings {
  bool enabled = true;
  uint64_t bytes = 128u << 20;
  uint32_t batch_max_bytes = 64u << 10;  // larger ones go past it
};

// Thread-safe. Calls from inside of strands hold a lock for a short time and never wait for a disk.
class CommitJournal final : public DurabilityService, private FileSyncObserver {
 public:
  struct Parts {
    Clock& clock;
    Random& random;
    FileSystem& files;
    Scheduler& scheduler;
  };
  CommitJournal(Parts parts, std::string folder, const JournalSettings& settings, MetricsRegistry& registry);
  ~CommitJournal() override;

  // What the last run has left. Blocks. Once, first. After a clean shutdown nothing is read. corrupt_data when
  // something is damaged that was durable.
  Result<std::map<LogId, JournaledBatches>> read(bool clean_shutdown);
  // The logs are open. `all_recovered`: nobody needs what read() returned any more; otherwise the journal is left as it
  // is, for the next start, and not used in this run. Blocks.
  void begin(bool all_recovered);

  void make_durable(std::shared_ptr<DurableLog> log, Offset up_to) override;
  void make_durable(std::shared_ptr<DurableLog> log, const StoredBatch& batch) override;
  bool sync_lazily(std::shared_ptr<DurableLog> log) override { return files_.sync_lazily(std::move(log)); }
  void closed(DurableLog& log) override;

  // Returns when nothing is running. Once, when nobody calls make_durable() any more.
  Task<void> drain();
  // After drain(), when every log was closed in order: their files hold everything. Blocks.
  void leave_empty();

 private:
  enum class Stage : uint8_t {
    not_begun,
    idle,       // nothing has been written in this run; the file may or may not exist
    preparing,  // a worker makes the file ready
    ready,
    out_of_use,  // for the rest of this run
  };
  enum class Outcome : uint8_t { durable, no_room, failed };

  bool add(const std::shared_ptr<DurableLog>& log, const StoredBatch& batch);
  JournalRound& round_with_room_for(uint64_t bytes);

  void prepare();
  Status prepare_file();

  void write_next_round();
  JournalRound take_round();
  Outcome write(JournalRound& round);
  Status write_at_place(JournalRound& round, const JournalSpace::Place& place);
  // True: the next round waits to be written.
  bool end_round(JournalRound& round, Outcome outcome);
  void fail(const Status& reason);
  void tell(const JournalRound& round, Outcome outcome);
  void tell_log(const std::shared_ptr<DurableLog>& log, const JournaledRange& range, Outcome outcome);

  void maybe_free_space();
  void free_next();
  std::shared_ptr<DurableLog> unpin_if_free(const JournalTrack& track);
  uint64_t file_sync_begins() override;
  void file_sync_ended(const std::shared_ptr<DurableLog>& log, uint64_t mark, bool well) override;

  void run_on_worker(UniqueFunction<void()> job);
  void hold() { running_.fetch_add(1, std::memory_order_relaxed); }
  void release();

  const Parts seams_;
  const std::string folder_;
  const bool enabled_;
  const uint64_t ring_bytes_;
  const uint64_t batch_max_bytes_;
  const uint64_t round_max_bytes_;
  const uint64_t pending_max_bytes_;
  JournalMetrics metrics_;
  FileSyncService files_;

  mutable std::mutex mutex_;  // guards what follows, down to the blank line, and the logs' JournalTrack
  Stage stage_ = Stage::not_begun;
  bool clean_shutdown_ = false;
  bool stopping_ = false;
  JournalSpace space_;
  std::deque<JournalRound> pending_;
  uint64_t pending_bytes_ = 0;
  uint64_t next_round_ = 1;
  bool writing_ = false;
  std::vector<JournalRound> spares_;                         // for their memory
  std::map<uint64_t, std::shared_ptr<DurableLog>> pinning_;  // by number: logs that the journal is kept for
  std::deque<std::shared_ptr<DurableLog>> to_free_;          // logs whose files are to be synced next
  size_t freeing_ = 0;                                       // syncs of them that are under way
  bool handing_out_ = false;                                 // somebody is inside free_next()
  uint64_t freed_at_ = 0;                                    // the head when freeing began last

  std::optional<JournalFile> file_;  // touched by one worker at a time: read, begin, prepare, write, leave_empty
  GaugeCallback used_gauge_;
  std::atomic<size_t> running_{1};  // the journal itself counts until drain()
  OneShot<> drained_;
};

}  // namespace naru
