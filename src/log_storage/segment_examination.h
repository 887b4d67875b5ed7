// Recovery's look at one segment, and putting it in order once it was decided to keep it.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>

#include "foundation/ids.h"
#include "foundation/status.h"
#include "log_storage/epoch_history.h"
#include "log_storage/open_files.h"
#include "log_storage/recovery_table.h"
#include "log_storage/segment.h"

namespace naru {

struct ExaminationRequest {
  Offset base_offset;
  SegmentOutside outside;  // its index states are found out here
  LeaderEpoch epoch_before = kNoLeaderEpoch;
  uint32_t index_interval_bytes = 0;
  Offset promised_end{0};                                     // below it, data must be there and whole
  Offset expected_end = kNoOffset;                            // where the segment ends if nothing happened
  Offset given_up_from{std::numeric_limits<int64_t>::max()};  // what lies there counts as damaged
};

struct ExaminedSegment {
  std::unique_ptr<Segment> segment;  // holds the good batches
  Content content = Content::tail_walked;
  SegmentEnd end;  // of the good batches
  uint64_t file_bytes = 0;
  std::string problem;                         // with the batch at `end`
  EpochHistory scanned_epochs;                 // of the batches scanned
  LeaderEpoch scanned_epoch = kNoLeaderEpoch;  // of the last of them, or of a segment scanned before
  uint64_t promised_bytes = 0;                 // how far the promise reaches into the file
  bool index_damage_unexplained = false;
  bool has_markers = false;    // if it was scanned: then its aborted transactions are still to be noted
  WallTimeMs modified_ms = 0;  // of the file, when it was found

  bool scanned() const { return content != Content::tail_walked; }
  // File, position, offset and reason.
  std::string describe_problem() const;
};

// Reads only.
Result<ExaminedSegment> examine_segment(OpenFiles& files, const std::string& folder, const ExaminationRequest& request);

// Cuts what is bad, makes the rest durable, and writes new indexes where they were built anew (`last`: they stay in
// memory, the segment will be appended to).
Status settle_examined_segment(ExaminedSegment& examined, bool last);

}  // namespace naru
