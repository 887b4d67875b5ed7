// One compaction of a log, step by step. The log's strand and a worker take turns:
//
//     strand  PartitionLog::begin_compaction()
//     worker  read_keys()
//     worker  clean_next()                        until it says that nothing is left:
//     strand    PartitionLog::begin_swap()            are the segments still what they were?
//     worker    store_horizon()                       that markers are missing, before they are
//     worker    commit_swap()                         from here on the new segment counts
//     strand    PartitionLog::adopt_swap()            readers get it
//     worker    finish_swap()
//     strand    PartitionLog::end_swap()
//     worker  write_progress()
//     strand  PartitionLog::end_compaction()
//
// Appends and reads go on meanwhile. Segments are replaced from the oldest on: a record goes only after, or together
// with, the older ones of its key. Whoever stops in between leaves a log that is compacted in part.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "async/cancellation.h"
#include "async/task.h"
#include "foundation/ids.h"
#include "foundation/status.h"
#include "foundation/time.h"
#include "log_storage/batch_compaction.h"
#include "log_storage/cleaned_segment.h"
#include "log_storage/compacted_transactions.h"
#include "log_storage/compaction_plan.h"
#include "log_storage/compaction_throttle.h"
#include "log_storage/log_config.h"
#include "log_storage/offset_map.h"
#include "log_storage/open_files.h"
#include "log_storage/tombstone_horizon.h"
#include "record_format/decompressor.h"

namespace naru {

// A segment as it was when the compaction began.
struct CompactedInput {
  Offset base_offset;
  Offset end_offset;
  uint64_t bytes = 0;
  WallTimeMs last_append = 0;
  std::string path;
};

struct CompactionSettings {
  WallTimeMs now = 0;
  int64_t delete_retention_ms = 0;
  uint64_t map_bytes = 0;  // log.cleaner.dedupe.buffer.size
  SipKey hash_key;
  CancelToken cancelled;
  CompactionThrottle* throttle = nullptr;                  // none: as fast as it goes
  Offset drop_limit{std::numeric_limits<int64_t>::max()};  // CompactionRules::drop_limit
};

struct CompactionStatistics {
  uint64_t read_bytes = 0;     // of segments that were gone over
  uint64_t written_bytes = 0;  // of what took their places
  uint64_t replaced_bytes = 0;
  uint64_t replaced_segments = 0;
  uint64_t new_segments = 0;
  uint64_t removed_records = 0;
};

class LogCompaction {
 public:
  struct Source {
    FileSystem* file_system;
    OpenFiles* open_files;
    std::string folder;
    LogConfig config;
    Offset start_offset;
    uint64_t truncations;
    CompactionProgress progress;
    std::vector<CompactedInput> segments;
    // The batches by which repetitions are recognised, and the last markers: base offsets, ascending. They stay, if
    // need be without records, so that what is known of the producers can be read from the log alone.
    std::vector<Offset> batches_of_producers;
    // Transactions that have records in the segments. All that begin in them have ended.
    std::vector<AbortedTransaction> aborted;
  };
  LogCompaction(Source source, CompactionSettings settings);

  // Begin and end on a worker, which they block but for the waits of the throttle.
  // Learns the newest offset of each key in the dirty part, as far as memory allows: the rest is left to the next
  // compaction.
  Task<Status> read_keys();
  // Writes the next segment that is to take the place of others. False: none is left.
  // cancelled; disk_full and whatever reading and writing may fail with: the log is as it was.
  Task<Result<bool>> clean_next();

  // What clean_next() has made stands for these, which follow each other.
  const std::vector<Offset>& replaced() const { return replaced_; }
  Offset replaced_end() const { return replaced_end_; }
  // Behind the last marker that it lacks because its delete horizon has passed; 0: there is none.
  Offset dropped_end() const { return dropped_end_; }
  // What store_horizon() makes durable; nothing: no markers were dropped.
  void set_horizon(const TombstoneHorizon& horizon) { horizon_ = horizon; }
  const std::optional<TombstoneHorizon>& horizon() const { return horizon_; }
  std::unique_ptr<Segment> take_segment() { return cleaned_->take_segment(); }
  // Gives up what clean_next() has made.
  void discard();

  // Blocks. If it fails, nothing has happened: PartitionLog::give_up_swap().
  Status store_horizon() const;
  // Block. After a failure the folder is in between, and only recovery can go on.
  Status commit_swap();
  Status finish_swap();

  // Where the next compaction goes on.
  CompactionProgress progress() const;
  Status write_progress() const;
  const CompactionStatistics& statistics() const { return statistics_; }

 private:
  // False: there is no room for more keys.
  Task<Result<bool>> read_keys_of(const CompactedInput& segment, CompactedTransactions& transactions);
  // False: there is no room for another key.
  Result<bool> put_keys(const struct StreamedBatch& batch);
  Task<Status> clean_segment(const CompactedInput& segment);
  Status clean_batch(const struct StreamedBatch& batch);
  Result<CompactedBatch> compact(const struct StreamedBatch& batch, CompactedTransactions::End& ended);
  Status take_over(const struct StreamedBatch& batch, const CompactedBatch& result);
  Status check_cancelled() const;
  // After so many bytes that were read and written: whether to wait for the throttle.
  bool is_ahead(uint64_t bytes) const;
  bool is_known_of_producer(const BatchHeader& header) const;

  const Source source_;
  const CompactionSettings settings_;
  OffsetMap newest_;
  CompactionRules rules_;
  Decompressor decompressor_;
  CompactedTransactions transactions_;

  size_t next_ = 0;  // of source_.segments
  std::optional<CleanedSegment> cleaned_;
  bool changed_ = false;
  std::vector<Offset> replaced_;
  Offset replaced_end_;
  Offset dropped_end_{0};
  std::optional<TombstoneHorizon> horizon_;
  uint64_t replaced_bytes_ = 0;
  WallTimeMs next_delete_horizon_ = kNeverByClock;
  CompactionStatistics statistics_;
};

}  // namespace naru
