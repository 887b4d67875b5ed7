// One segment of a log: a file of batches without anything between them, and two indexes; a third one where
// transactions were aborted.
//
// The last segment of a log is active and appended to, the others are sealed. Files are opened through OpenFiles when
// they are needed. Only a file with bytes that were never synced is kept open: the system writes it back by itself, and
// tells nobody else when that fails.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "foundation/bytes.h"
#include "foundation/ids.h"
#include "foundation/status.h"
#include "foundation/time.h"
#include "log_storage/batch_walk.h"
#include "log_storage/index_file.h"
#include "log_storage/log_config.h"
#include "log_storage/open_files.h"
#include "record_format/record_batch.h"

namespace naru {

inline constexpr WallTimeMs kBeforeAllTimes = std::numeric_limits<WallTimeMs>::min();

// The largest timestamp in a part of a segment, and the first batch that has it.
struct MaxTimestamp {
  WallTimeMs timestamp = kBeforeAllTimes;
  Offset batch_base_offset = kNoOffset;

  void include(WallTimeMs other, Offset base_offset) {
    if (other > timestamp || batch_base_offset == kNoOffset) *this = {other, base_offset};
  }
  bool operator==(const MaxTimestamp&) const = default;
};

// Where a first part of a segment ends.
struct SegmentEnd {
  uint64_t position = 0;
  Offset offset;
  MaxTimestamp max_timestamp;
  LeaderEpoch last_epoch = kNoLeaderEpoch;  // of the last batch; kNoLeaderEpoch when there is none
};

// Thread: the partition's strand.
class Segment {
 public:
  // An empty segment in memory; the file may or may not exist. Recovery and rolling fill it.
  Segment(OpenFiles& files, const std::string& folder, Offset base_offset);

  // --- Making ------------------------------------------------------------------------------------------------------
  // Replaces the empty indexes by those of the files.
  void use_indexes(OffsetIndex offset_index, TimeIndex time_index, std::optional<AbortedIndex> aborted_index);
  // Believes in the indexes, and walks from their last entry to the end of the file. corrupt_message, corrupt_data
  // when that does not work out.
  Result<SegmentEnd> walk_to_end();
  // Recovery's findings: the segment ends here.
  void set_end(const SegmentEnd& end);
  // Takes a batch, that is already in the file, into account. In order, and behind everything taken before.
  void note_batch(const BatchHeader& header, uint64_t position, uint32_t index_interval_bytes);
  // A segment whose files do not have their names yet reads from `file` and keeps its indexes in memory, until
  // files_are_in_place(). For whoever writes them: what belongs into the indexes, none of which was flushed.
  void pin_file(std::shared_ptr<File> file) { pinned_file_ = std::move(file); }
  void files_are_in_place();
  Bytes offset_index_content() const { return offset_index_.whole_content(); }
  Bytes time_index_content() const { return time_index_.whole_content(); }
  Bytes aborted_index_content() const { return aborted_index_.whole_content(); }
  // Its marker is in this segment. In the order of the markers.
  void note_aborted(const AbortedTransaction& aborted);
  uint64_t aborted_count() const { return aborted_index_.size(); }
  // The indexes had to be built anew, and this one cannot be built from the segment alone: aborted_rebuild.h.
  bool aborted_in_doubt() const { return aborted_in_doubt_; }
  void doubt_aborted() { aborted_in_doubt_ = true; }
  void settle_aborted() { aborted_in_doubt_ = false; }
  uint64_t indexed_batches() const { return offset_index_.size(); }
  // Makes it the one to append to. The file is empty if it is new.
  Status activate(OpenMode mode, WallTimeMs first_append_ms);

  // --- Active segment ----------------------------------------------------------------------------------------------
  Status append(std::span<const BytesView> parts, const BatchHeader& header, const LogConfig& config, WallTimeMs now);
  // After a failed append: takes away whatever was written.
  Status cut_back() { return unsynced_file_ ? unsynced_file_->truncate(size_) : Status(); }
  bool must_roll_for(const BatchHeader& header, const LogConfig& config, WallTimeMs now) const;
  // Whether segment.ms has passed since its first append.
  bool is_due_to_roll(const LogConfig& config, WallTimeMs now) const;
  Status flush_indexes();
  // After a scan: puts the indexes that it has built into the place of whatever files there are, durably.
  Status replace_index_files();
  // Those of the indexes, which are flushed, that have to be synced.
  Result<std::vector<std::shared_ptr<File>>> unsynced_indexes();
  // Seals it: whoever asked for unsynced_file() and unsynced_indexes() sees to them.
  void seal() { active_ = false, unsynced_file_ = nullptr; }
  // The file with bytes that were not synced; nullptr when there are none.
  const std::shared_ptr<File>& unsynced_file() const { return unsynced_file_; }
  // That file was synced when the segment had `size` bytes, or nobody wants to know any more.
  void synced(uint64_t size) {
    if (size == size_) unsynced_file_ = nullptr;
  }
  // A sealed segment behind which everything was truncated becomes the active one; an active one stays it.
  Status reactivate() { return active_ ? Status() : activate(OpenMode::write, first_append_ms_); }

  // --- Reading -----------------------------------------------------------------------------------------------------
  Offset base_offset() const { return base_offset_; }
  Offset end_offset() const { return end_offset_; }
  uint64_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const MaxTimestamp& max_timestamp() const { return max_timestamp_; }
  WallTimeMs first_append_ms() const { return first_append_ms_; }
  // The time of the file; after a restart the only thing that remembers it.
  WallTimeMs last_append_ms() const { return last_append_ms_; }
  void set_last_append_ms(WallTimeMs time) { last_append_ms_ = time; }
  const std::string& log_path() const { return log_path_; }
  std::vector<std::string> paths() const {
    return {log_path_, offset_index_.path(), time_index_.path(), aborted_index_.path()};
  }

  Result<std::shared_ptr<File>> file() const;
  // A walk whose next batch is the one that holds `offset`, which lies inside of the segment.
  Result<BatchWalk> walk_from(Offset offset);
  // The end of the last batch that ends at or below `position` and at or below `limit`, behind the batch where `walk`
  // stands now, which has been checked to do so.
  struct Stretch {
    uint64_t end_position = 0;
    Offset end_offset;
  };
  Result<Stretch> stretch_from(BatchWalk& walk, uint64_t position, Offset limit);
  // The end of the last batch that ends at or below `limit`.
  Result<SegmentEnd> end_below(Offset limit);
  // A walk that has left out only batches in which every timestamp is below `timestamp`.
  Result<BatchWalk> walk_to_timestamp(WallTimeMs timestamp);

  // Visits the aborted transactions whose marker is here, at `from` or behind it, until `visit` returns false. True: it
  // never did.
  template <class Visit>
  Result<bool> visit_aborted(Offset from, Visit visit) {
    return aborted_index_.visit_from([from](const AbortedTransaction& e) { return e.last_offset < from; }, visit);
  }

  // --- Shrinking ---------------------------------------------------------------------------------------------------
  // Cuts file and indexes and syncs the file. A failure leaves them in between: recovery sorts it out.
  Status truncate_to(const SegmentEnd& end, uint32_t index_interval_bytes);
  // All of its files. Missing ones do not matter.
  static Status remove_files(FileSystem& file_system, OpenFiles& files, const std::string& folder, Offset base_offset);

 private:
  uint32_t relative(Offset offset) const { return static_cast<uint32_t>(offset - base_offset_); }
  Offset absolute(uint32_t relative_offset) const { return base_offset_ + relative_offset; }
  // From the last indexed batch at or before `offset`; from the begin where the index does not help.
  Result<BatchWalk> walk_near(Offset offset);
  Result<BatchWalk> walk_at(uint64_t position, Offset offset) const;
  // From an index entry's batch, if it is really there.
  Result<std::optional<BatchWalk>> walk_if_there(const OffsetIndexEntry& entry) const;
  Result<SegmentEnd> walk_on(BatchWalk walk, SegmentEnd end, Offset limit) const;
  Result<SegmentEnd> indexed_end_below(Offset limit);
  void note_time();
  Status rebuild_indexes(const SegmentEnd& end, uint32_t index_interval_bytes);

  OpenFiles* files_;
  std::string folder_;
  std::string log_path_;
  Offset base_offset_;
  Offset end_offset_;
  uint64_t size_ = 0;
  MaxTimestamp max_timestamp_;
  OffsetIndex offset_index_;
  TimeIndex time_index_;
  AbortedIndex aborted_index_;  // while the offset index does not speak of it, there may be no file
  bool aborted_in_doubt_ = false;
  uint64_t indexed_size_ = 0;       // where the last indexed batch begins; 0 without one
  WallTimeMs first_append_ms_ = 0;  // long ago, for segments that were sealed before this start
  WallTimeMs last_append_ms_ = 0;
  bool active_ = false;
  std::shared_ptr<File> unsynced_file_;
  std::shared_ptr<File> pinned_file_;
};

}  // namespace naru
