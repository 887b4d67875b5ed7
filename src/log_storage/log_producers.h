// The producers of one log: their state, its snapshots on disk, and the memory it takes.
//
// Snapshots are taken when a segment is sealed, after kSnapshotBytes of log, and when the log is closed, so that
// opening reads a bounded stretch of the log's end.
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
#include "log_storage/producer_accounting.h"
#include "log_storage/producer_snapshot_files.h"
#include "log_storage/producer_state.h"
#include "log_storage/sync_work.h"
#include "observability/memory_budget.h"
#include "platform/clock.h"
#include "record_format/record_batch.h"

namespace naru {

class Segment;

struct ProducerRules {
  ProducerLimits limits;
  const Clock* clock = nullptr;  // for how long a producer was idle; none: time stands still, as in tests
  // Of a log that begins at 0: see ProducerState. Producers with lower ids may continue what they sent to an earlier
  // topic of this name.
  ProducerId complete_from = kNoneComplete;
  ProducerAccounting* accounting = nullptr;  // none: not accounted, as in tests
};

// Thread: the partition's strand.
class LogProducers {
 public:
  // Log between two snapshots: what opening has to walk over, header by header, at the most.
  static constexpr uint64_t kSnapshotBytes = 64u << 20;
  // A log that nobody appends to is not worth a new one when it is closed, unless its producers were idle for this part
  // of their time.
  static constexpr int64_t kPartOfExpiration = 8;
  // Not worth a file when a log is closed, if no producer is behind it.
  static constexpr uint64_t kSmallTailBytes = 64u << 10;

  using Segments = std::span<const std::unique_ptr<Segment>>;

  // `snapshots`: the files that are there.
  LogProducers(FileSystem& file_system, std::string folder, std::vector<Offset> snapshots, const ProducerRules& rules);

  // Makes the state that of a log which consists of `segments`: the newest snapshot that holds, and the batches behind
  // it, which count as appended now. Removes snapshots of what is behind them. Blocks. corrupt_data when a batch that
  // has to be read is damaged.
  Status rebuild(Segments segments);

  // Where the topic's producers begin, of a log that was opened before that was known (ProducerRules::complete_from). A
  // snapshot that was made meanwhile says kNoneComplete, which is true of every log.
  void learn_complete_from(ProducerId first);

  const ProducerState& state() const { return state_; }

  // The log is empty and does not begin at 0, and what was known of producers there was never told: begin_with().
  bool missing() const { return missing_; }
  // The state of an empty log that begins at `start`. It is durable when this returns. Blocks.
  Status begin_with(ProducerState state, Offset start);
  // What lies below `begin`, where the first segment that stays begins, is about to be removed: stores durably what it
  // tells, unless a snapshot that stays tells it. Blocks.
  Status store_before(Offset begin);
  // Before the log begins anew at `start`: of what is removed, nothing may be taken for a part of what comes. Blocks.
  Status forget_snapshots_from(Offset start) { return files_.remove_above(start - 1); }

  // What begin_with() gets, as bytes and back.
  Bytes encode_as_of(Offset start) const;
  Result<ProducerState> decode(BytesView snapshot, Offset start) const;

  // The state of the log at some offset in [begin, end], as far as there is a snapshot; an empty one at `begin`
  // otherwise. Blocks.
  Result<ProducerSnapshotFiles::Loaded> state_before(Offset begin, Offset end);

  // Judges a client's batch, and counts what is refused or repeated.
  SequenceCheck check(const BatchHeader& header, const AppendTerms& terms) const;
  // Of a control batch, `marker` is what its record says. What it has ended.
  std::optional<TransactionEnd> applied(const BatchHeader& stored, const std::optional<TransactionMarker>& marker);
  void committed(Offset high_watermark) { state_.committed(high_watermark); }
  // For logs that nobody appends to.
  void expire();

  void segment_sealed() { snapshot_due_ |= changed(); }
  // A snapshot waits for the next sync.
  bool snapshot_due() const { return snapshot_due_; }
  // What a sync has to store; nothing when none is due.
  std::optional<ProducerSnapshotWork> begin_due_snapshot(Offset end);
  ProducerSnapshotWork begin_snapshot(Offset end);
  // Once it was written, unless the log was truncated meanwhile. True: the folder has a new name.
  bool finish_snapshot(const ProducerSnapshotWork& work);
  void discard_snapshot(const ProducerSnapshotWork& work) { files_.discard(work.offset); }
  // When the log is closed. Blocks. True: the folder has a new name.
  bool store_snapshot(Offset end);

  // Batches below may be removed from the log, and what is known of their producers outlives them even a power cut that
  // leaves nothing behind `synced_end`. (What a commit journal brings back comes too late: by then, snapshots of it
  // have been removed.)
  Offset forgettable_end(Offset synced_end) const;

 private:
  RunningTimeMs now() const;
  Status store_durably(ProducerSnapshotWork work);
  Status replay(Segments segments, Offset from);
  Status replay(Segment& segment, Offset from);
  bool idle_times_are_old() const;
  void account(uint64_t evicted_before);
  bool changed() const { return changes_ != stored_changes_; }

  FileSystem* file_system_;
  std::string folder_;
  ProducerRules rules_;
  ProducerSnapshotFiles files_;
  ProducerState state_;
  MemoryLease memory_;
  uint64_t bytes_behind_snapshot_ = 0;
  uint64_t changes_ = 0;         // batches that changed the state
  uint64_t stored_changes_ = 0;  // as many of them are in the newest snapshot
  bool snapshot_due_ = false;
  bool missing_ = false;
  bool from_first_batch_ = false;  // the state was made of the whole log, without a snapshot
  RunningTimeMs stored_at_ = 0;    // when the newest snapshot was made or read
};

}  // namespace naru
