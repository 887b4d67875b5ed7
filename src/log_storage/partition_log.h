// The log of one partition: a folder of segments, appended to at the end and read anywhere.
//
// Life: fill_new_partition_folder() once, then open() -> append, read, truncate ... -> close(). Opening is recovery:
// there is no other way to get something one can append to. What the files hold: docs/formats/log.md.
//
// Durability: append() puts bytes into the page cache. begin_sync() describes what has to be synced, a worker performs
// it, finish_sync() moves synced_end() and durable_end(). The file "checkpoint" remembers synced_end() as a promise to
// recovery: damage below it is never cut away but refused. A commit journal may make single batches durable before the
// log's own files are synced: journaled() moves durable_end() alone, and open() puts what the files lost back in place.
//
// Errors: disk_full and too_many_open_files leave the log as it was before the call, and usable; but if they come in
// the middle of truncate_to(), restart_at() or a swap of compacted segments, it is offline until it is opened again.
// Any other failed write and every failed sync is final: the log is offline until the broker is restarted. A log that
// is offline answers writes with log_offline, and goes on being readable.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "foundation/bytes.h"
#include "foundation/ids.h"
#include "foundation/status.h"
#include "foundation/time.h"
#include "foundation/uuid.h"
#include "log_storage/aborted_transaction.h"
#include "log_storage/durable_prefix.h"
#include "log_storage/epoch_history.h"
#include "log_storage/journal_replay.h"
#include "log_storage/log_compaction.h"
#include "log_storage/log_config.h"
#include "log_storage/log_producers.h"
#include "log_storage/log_verification.h"
#include "log_storage/open_files.h"
#include "log_storage/recovery_report.h"
#include "log_storage/removed_segments.h"
#include "log_storage/retention_plan.h"
#include "log_storage/sync_work.h"
#include "platform/file_system.h"
#include "record_format/batch_validator.h"
#include "record_format/record_batch.h"

namespace naru {

class CheckpointFile;
class PartitionLog;
class Segment;
struct RecoveredLog;

struct OpenOptions {
  Uuid topic_id;                // must be the one in the folder's partition.metadata
  bool clean_shutdown = false;  // every log of this data folder was closed: LogDirectory::was_clean_shutdown()
  WallTimeMs now = 0;
  std::span<const JournaledBatches> journaled;  // what commit journals hold of this log
  // Set: another replica has everything, and this log ends, durably, before the first damaged batch, or with this
  // offset if that comes before it, whatever was promised. kNoOffset: all of it is read to find the first one.
  std::optional<Offset> give_up_from = std::nullopt;
  ProducerRules producers;
};

struct OpenedLog {
  std::unique_ptr<PartitionLog> log;
  RecoveryReport report;
};

struct AppendOutcome {
  Offset base_offset;
  Offset last_offset;
  WallTimeMs log_append_time_ms = kNoTimestamp;  // kNoTimestamp with CreateTime
  uint32_t bytes = 0;
  StoredHeader header;  // as stored; the records behind it are those of the batch
};

// A batch that is on its way through a commit journal.
struct JournaledRange {
  Offset base_offset;
  Offset end_offset;
  uint64_t truncations = 0;
};

// A log start on its way into the checkpoint.
struct NotedStart {
  std::shared_ptr<File> checkpoint;
  uint64_t sequence = 0;
};

// Whole batches of one segment. Empty (no file) when there is nothing to read at or behind base_offset yet.
struct LogSlice {
  std::shared_ptr<const File> file;
  uint64_t position = 0;
  uint32_t bytes = 0;
  Offset base_offset;  // of the first batch: at or below the offset asked for, unless empty ones were skipped
  Offset next_offset;  // where the next read goes on

  bool empty() const { return bytes == 0; }
};

// What a read does with batches that compaction has emptied.
enum class EmptyBatches : uint8_t { keep, skip };

struct OffsetAndTimestamp {
  Offset offset;
  WallTimeMs timestamp = kNoTimestamp;
  LeaderEpoch leader_epoch = kNoLeaderEpoch;
  bool operator==(const OffsetAndTimestamp&) const = default;
};

// Thread: the partition's strand, except SyncWork::perform(). Calls block on the disk where the comments say so.
class PartitionLog {
 public:
  // Recovers the log in `folder`. Blocks: run it on a worker. corrupt_data when something that was promised to be
  // durable is missing or damaged; the message names file, position, offset and what can be done.
  static Result<OpenedLog> open(FileSystem& file_system, OpenFiles& open_files, std::string folder,
                                const LogConfig& config, const OpenOptions& options);
  ~PartitionLog();
  PartitionLog(const PartitionLog&) = delete;
  PartitionLog& operator=(const PartitionLog&) = delete;

  // Assigns offsets and leader epoch and writes the batch, in one write. One that is larger than a segment has one for
  // itself. fenced_leader_epoch when the log already holds batches of a later epoch.
  Result<AppendOutcome> append(BytesView batch, const ValidatedBatch& validated, LeaderEpoch epoch, WallTimeMs now);
  // The follower's form: a batch as the leader stored it, whose CRC the caller has checked. It must begin at
  // end_offset(): logs have no gaps, compacted ones neither. Its producer is noted, not judged: the leader did that.
  Result<AppendOutcome> append_stored(BytesView batch, const BatchHeader& header, WallTimeMs now);

  // Whether a client may append this batch, as far as its producer is concerned. append() does not ask.
  SequenceCheck check_sequence(const BatchHeader& header, const AppendTerms& terms = {}) const {
    return producers_.check(header, terms);
  }
  const ProducerState& producers() const { return producers_.state(); }
  // Of a log that was opened before its topic was known: as ProducerRules::complete_from.
  void learn_complete_from(ProducerId first) { producers_.learn_complete_from(first); }
  // The log is empty, does not begin at 0, and was never told what was known of producers there: restart_with().
  bool producers_missing() const { return producers_.missing(); }
  // What a replica has to know of producers before it begins to copy this log from its start.
  Bytes producers_at_start() const { return producers_.encode_as_of(start_offset_); }

  // --- Transactions. Their markers are appended like other batches. --------------------------------------------------
  // Readers of committed transactions read to here; start_offset() at least, `high_watermark` at most.
  Offset last_stable_offset(Offset high_watermark) const;
  // What lies below is committed for good.
  void committed(Offset high_watermark) { producers_.committed(high_watermark); }
  // The aborted transactions with records or their marker in [from, end), by where they begin. For `end` up to the last
  // stable offset. corrupt_data when what is known of them is damaged.
  Result<std::vector<AbortedTransaction>> aborted_transactions(Offset from, Offset end);

  // The batches from the one that holds `from` on, as far as they lie below `end_limit` (exclusive) and fit into
  // `max_bytes`; the first one may be larger if `at_least_one_batch`. With EmptyBatches::skip they begin with the first
  // one that has records, if there is one below the limit: not every client moves on from an answer without records.
  // offset_out_of_range outside of [start_offset(), end_offset()]; corrupt_message where a batch's header is damaged,
  // never a premature end.
  Result<LogSlice> read(Offset from, Offset end_limit, uint32_t max_bytes, bool at_least_one_batch,
                        EmptyBatches empty = EmptyBatches::keep);

  // The first record below `end_limit` whose timestamp is `timestamp` or later.
  Result<std::optional<OffsetAndTimestamp>> find_first_at_or_after(WallTimeMs timestamp, Offset end_limit);
  // The first of the records below `end_limit` with the largest timestamp.
  Result<std::optional<OffsetAndTimestamp>> find_max_timestamp(Offset end_limit);

  Offset start_offset() const { return start_offset_; }
  Offset end_offset() const;
  // Everything below survives a power cut.
  Offset durable_end() const { return durable_.end(); }
  // The part of it that survives without a commit journal.
  Offset synced_end() const { return durable_.synced_end(); }
  // How often the log was truncated since it was created.
  uint64_t truncations() const { return truncations_; }

  LeaderEpoch latest_epoch() const { return epochs_.latest(); }
  const EpochHistory& epochs() const { return epochs_; }
  EpochEnd end_offset_for_epoch(LeaderEpoch epoch) const { return epochs_.end_offset_for(epoch, end_offset()); }

  // Removes everything at and behind `end`; a batch that reaches beyond it goes as a whole. Blocks on syncs. A crash
  // in between leaves the log truncated, not truncated, or truncated at some later batch. A failure takes it offline.
  Status truncate_to(Offset end);
  // Removes everything; the log is empty and begins at `start`, which may lie anywhere. For a follower whose leader has
  // nothing of it any more. Blocks on syncs. A crash in between leaves the log as it was, or empty at `start`, or with
  // its former records at and behind `start`. request_timed_out while it is being compacted. A failure takes it
  // offline.
  Status restart_at(Offset start, WallTimeMs now);
  // The same, and `producers` is what was known of producers there. Stored durably before anything can be appended: a
  // crash in between leaves an empty log whose producers_missing(), and so does a full disk.
  Status restart_with(Offset start, ProducerState producers, WallTimeMs now);
  // `producers`: the producers_at_start() of another replica that begins at `start`.
  Status restart_with(Offset start, BytesView producers, WallTimeMs now);

  // What has to be done so that everything appended so far is durable. One at a time: finish_sync() comes before the
  // next begin_sync(), truncation and appends may come in between. Not on an offline log.
  SyncWork begin_sync();
  // `performed` is what work.perform() returned. Advances durable_end(), or takes the log offline. Returns the reason
  // why what the work covered is not durable; ok, but without progress, when the log was truncated meanwhile.
  Status finish_sync(SyncWork work, const Status& performed);

  bool sync_running() const { return sync_running_; }

  // A commit journal holds the batch durably. False when the log was truncated since: then it says nothing.
  bool journaled(const JournaledRange& range);

  // How many files are kept open until they are synced. A log with none costs no descriptor.
  size_t unsynced_files() const;

  // Something waits for a sync that no acknowledgement may ever ask for: sealed segments, which retention and
  // compaction leave alone until they are durable, or a snapshot of producers.
  bool wants_sync() const { return !unsynced_.files.empty() || producers_.snapshot_due(); }

  // Starts a new segment when the present one is older than segment.ms, and forgets producers that have expired; for
  // partitions that nobody writes to.
  Status maybe_roll_by_time(WallTimeMs now);
  // Starts a new segment unless the present one is empty.
  Status roll_active(WallTimeMs now);

  // --- The start of the log: partition_log_start.cc. -----------------------------------------------------------------
  // Moves the start to `start`, at most end_offset(): note_start(), sync the file on a worker, start_synced() with what
  // the sync said; all that once more, so that no older start is left in the checkpoint, and again until
  // start_is_safe(), because somebody else may have written to the checkpoint meanwhile; then adopt_start(). Until then
  // readers see the old one. Several may be under way at once; the start never goes back. A failed sync is final.
  // offset_out_of_range behind the end, or when restart_at() came in between.
  static constexpr int kStartNotes = 2;
  Result<NotedStart> note_start(Offset start);
  Status start_synced(const NotedStart& noted, const Status& synced);
  // It survives a power cut at any moment.
  bool start_is_safe(Offset start) const;
  Status adopt_start(Offset start);
  // Before segments below the start can be removed, what they say of their producers has to be stored: if there is
  // such a thing, write it on a worker and give it back.
  std::optional<ProducerSnapshotWork> begin_producer_snapshot();
  void finish_producer_snapshot(const ProducerSnapshotWork& work, uint64_t truncations_before);
  // Forgets the segments that lie wholly below the start, except the active one and those whose producers are not
  // stored durably. Their files are removed by RemovedSegments::remove_files(); until then, and after a crash, they do
  // no harm.
  RemovedSegments take_segments_below_start();
  // What retention and compaction need to know; the last one is active.
  std::vector<SegmentFacts> segment_facts() const;

  // --- Compaction: partition_log_compaction.cc. The order of the calls: log_compaction.h. ----------------------------
  const CompactionProgress& compaction_progress() const { return compaction_progress_; }
  // Of the first `segments`, all of them sealed and below the last stable offset. Blocks on the index of aborted
  // transactions; corrupt_data when that is damaged.
  Result<std::unique_ptr<LogCompaction>> begin_compaction(size_t segments, const CompactionSettings& settings);
  // False: the log was truncated since, what clean_next() has made is void. True: until end_swap(), nothing that is
  // being replaced can be truncated.
  bool begin_swap(LogCompaction& compaction);
  // Instead of commit_swap(), when store_horizon() has failed: nothing has happened.
  void give_up_swap();
  // `committed`: what commit_swap() and finish_swap() said. A failure takes the log offline.
  Status adopt_swap(LogCompaction& compaction, const Status& committed);
  Status end_swap(const LogCompaction& compaction, const Status& finished);
  // Its progress counts unless the log was truncated since: what has been written there in between is not compacted.
  void end_compaction(const LogCompaction& compaction);

  // Where delete markers are missing. Above the end of the log while a copy of a log that lacks them is being made.
  const TombstoneHorizon& tombstone_horizon() const { return tombstones_; }
  // Markers are missing below `end` in what is going to be appended, because they are in the log that it comes from.
  // Blocks on syncs; request_timed_out while the log is being compacted.
  Status raise_tombstone_horizon(Offset end);
  // What is going to be appended lacks none.
  void limit_tombstone_horizon();

  // --- Verification: log_verification.h.
  // ------------------------------------------------------------------------------ The first segment that ends behind
  // `from`; nothing: there is none.
  Result<std::optional<WrittenSegment>> written_segment(Offset from);
  // What was in it is still there.
  bool holds(const WrittenSegment& segment) const;
  // Readers get corrupt_message for the batch from now on, until it is gone; nothing: all is whole.
  void note_damage(std::optional<LogDamage> damage) { damage_ = std::move(damage); }
  // What was noted, unless it is gone.
  const LogDamage* damage() const;
  // Because of the damage, until it is repaired: nothing is written any more.
  void give_up_damaged(const Status& reason) { go_offline(reason); }

  bool offline() const { return !offline_reason_.ok(); }
  const Status& offline_reason() const { return offline_reason_; }
  // It is offline because something ran out, or because it is damaged: open() brings it back once that has passed, or
  // others have what is damaged. Before that,
  // sync_before_reopening() and abandon(). Blocks; if it fails, that is final. Not while a sync is running.
  bool may_be_reopened() const;
  Status sync_before_reopening();

  void set_config(const LogConfig& config) { config_ = config; }
  uint64_t size_bytes() const;
  size_t segment_count() const { return segments_.size(); }
  const std::string& folder() const { return folder_; }

  // Makes everything durable, so that a clean start need not read the log. Blocks. Not while a sync is running, and no
  // use afterwards.
  Status close();
  // Lets go of every file, synced or not: after close(), or because the folder is about to be renamed and removed. No
  // use afterwards, not even for those who read.
  void abandon();

 private:
  PartitionLog(FileSystem& file_system, OpenFiles& open_files, std::string folder, const LogConfig& config,
               RecoveredLog recovered);

  Segment& active() { return *segments_.back(); }
  const Segment& active() const { return *segments_.back(); }
  size_t segment_index(Offset offset) const;

  struct BatchToWrite {
    BytesView header;
    BytesView records;
    BatchHeader stored;
    std::optional<TransactionMarker> marker;
  };
  Result<AppendOutcome> write_batch(const BatchToWrite& batch, WallTimeMs now);
  void note_aborted(const TransactionEnd& ended);
  Status make_room(const BatchHeader& stored, WallTimeMs now);
  Status roll(WallTimeMs now);
  Status replay(const OpenOptions& options, RecoveryReport& report);
  Status replay_batch(const File& file, const JournaledBatch& batch, WallTimeMs now);
  Status sync_journaled_part();
  Status sync_checkpoint();
  void begin_checkpoint_sync(SyncWork& work);
  // With the loose rule records may be deleted before they are durable, and a power cut may take them first: then the
  // log is empty and begins where it was told to. Their offsets are not given to others.
  Status begin_at_start(WallTimeMs now, RecoveryReport& report);
  Status begin_empty_at(Offset start, WallTimeMs now);
  Status remove_segments_behind(size_t last_kept);
  Status truncate_segments(Offset end);
  Result<std::optional<OffsetAndTimestamp>> find_max_in_batch(Segment& segment, uint64_t position,
                                                              const BatchHeader& header);
  Result<std::optional<OffsetAndTimestamp>> find_max_in_segment(Segment& segment, Offset end_limit);
  Result<std::optional<OffsetAndTimestamp>> find_in_segment(Segment& segment, WallTimeMs timestamp, Offset end_limit);
  // The first offset at or behind `from`, below `limit`, in a batch with records; `from` when there is none.
  Result<Offset> skip_empty_batches(Offset from, Offset limit);
  Status open_tombstone_horizon();
  Status store_tombstone_horizon(const TombstoneHorizon& horizon);
  Status store_lower_horizon();
  // What of the slice comes before noted damage; corrupt_message if that is nothing.
  Status keep_off_damage(const Segment& segment, LogSlice& slice) const;
  Status check_writable() const;
  // Decides what a failed write means, and returns what the caller is told.
  Status after_failed_write(Status status);
  void go_offline(const Status& reason);
  void release_unsynced_files();

  FileSystem& file_system_;
  OpenFiles& open_files_;
  const std::string folder_;
  LogConfig config_;
  std::vector<std::unique_ptr<Segment>> segments_;  // by base offset; the last one is active; never empty
  EpochHistory epochs_;
  LogProducers producers_;
  std::unique_ptr<CheckpointFile> checkpoint_;
  Offset start_offset_;
  Offset noted_start_;  // in the checkpoint; start_offset_ follows when that is durable
  DurablePrefix durable_;
  Status offline_reason_;
  std::optional<LogDamage> damage_;

  CompactionProgress compaction_progress_;
  TombstoneHorizon tombstones_;
  std::optional<TombstoneHorizon> stored_tombstones_;  // as the file says; nothing: there is none, or it is not known
  std::optional<Offset> swap_end_;                     // set while segments below are being replaced
  std::optional<uint64_t> compacting_at_;              // truncations_ when the running compaction began

  // What the next SyncWork has to cover besides the active segment.
  UnsyncedParts unsynced_;
  bool checkpoint_unsynced_;
  bool sync_running_ = false;
  size_t files_in_sync_ = 0;  // of UnsyncedParts, while it is running
  uint64_t truncations_;
};

}  // namespace naru
