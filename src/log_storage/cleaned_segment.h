// The segment that a compaction writes, to take the place of one or several older ones.
//
// Its file is "<base>.log.cleaned" until finish() has made it durable; renames then make it "<base>.log.swap", and
// "<base>.log" at last (segment_swap.h). Its indexes wait in "<base>.offset-index.cleaned" and
// "<base>.time-index.cleaned", and "<base>.aborted-index.cleaned" where there is one.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "foundation/bytes.h"
#include "foundation/ids.h"
#include "foundation/status.h"
#include "foundation/time.h"
#include "log_storage/log_config.h"
#include "log_storage/open_files.h"
#include "log_storage/segment.h"

namespace naru {

// Thread: the worker that compacts, and whoever it hands the segment to.
class CleanedSegment {
 public:
  // Creates the file, over whatever an interrupted compaction has left there.
  static Result<CleanedSegment> create(OpenFiles& open_files, const std::string& folder, Offset base_offset,
                                       const LogConfig& config);

  // Batches and removed ranges come one directly behind the other. Removed ranges of one leader epoch become one filler
  // batch; they are kept apart by epoch, so that the epochs' starts can be read from the batches alone.
  Status append(BytesView batch);
  Status append_removed(Offset begin, Offset end, LeaderEpoch epoch);

  // The marker that was appended last ends this transaction.
  void note_aborted(const AbortedTransaction& aborted) { segment_->note_aborted(aborted); }

  // Whether a further segment can be taken in: within segment.bytes, the size of an index, and 2^31 offsets.
  bool has_room_for(uint64_t bytes, Offset end_offset) const;
  // Whether a removed range of this epoch would become part of the filler before it.
  bool ends_with_removed(LeaderEpoch epoch) const { return removed_ && removed_->epoch == epoch; }
  // Appended so far, but for a filler that may still grow.
  uint64_t bytes() const;
  // After finish().
  uint64_t bytes_written() const { return written_; }

  // Writes what waits, the indexes too, and syncs all. `last_append`: of the segments that it replaces.
  Status finish(WallTimeMs last_append);
  // After finish(): the segment as the log will know it. It reads through its open file until it has its name.
  std::unique_ptr<Segment> take_segment();
  // Removes the files again; nothing of it counts.
  void discard();

 private:
  CleanedSegment(OpenFiles& open_files, std::string folder, Offset base_offset, const LogConfig& config,
                 std::shared_ptr<File> file);

  struct Removed {
    Offset begin;
    Offset end;
    LeaderEpoch epoch;
  };
  Status write_filler();
  Status write_batch(BytesView batch);
  Status write_buffer();
  Status write_index(std::string_view suffix, BytesView content);
  std::string cleaned_path(std::string_view suffix) const;

  OpenFiles* open_files_;
  std::string folder_;
  Offset base_offset_;
  LogConfig config_;
  std::shared_ptr<File> file_;
  std::unique_ptr<Segment> segment_;
  Bytes buffer_;
  uint64_t written_ = 0;  // bytes in the file
  std::optional<Removed> removed_;
};

}  // namespace naru
