// What compaction makes of one batch: an I/O-free decision.
//
// Below the limit, a record survives if no later record below the limit has its key. Delete markers (records without a
// value) survive until the delete horizon that the first compaction to meet them writes into their batch: so a reader
// who begins before it passes learns of the deletion. Records without a key do not survive. At and above the limit
// nothing is decided, and everything stays. The last record of all that is compacted stays in any case: so readers
// always find one at the end, and do not have to move over emptiness to get there.
//
// Records of aborted transactions do not survive. The marker of a transaction stays as long as records of it are left,
// and then until a delete horizon, like a delete marker.
#pragma once

#include <cstdint>
#include <optional>

#include "foundation/bytes.h"
#include "foundation/ids.h"
#include "foundation/status.h"
#include "foundation/time.h"
#include "log_storage/offset_map.h"
#include "record_format/decompressor.h"
#include "record_format/record_batch.h"

namespace naru {

struct CompactionRules {
  Offset limit;        // the map knows the newest records up to here
  Offset last_offset;  // of what is compacted
  Offset drop_limit;   // markers at and behind it stay, whatever their horizon: a follower has yet to fetch them
  WallTimeMs now = 0;
  int64_t delete_retention_ms = 0;
  size_t max_decompressed_bytes = 0;
};

struct CompactedBatch {
  enum class Kind : uint8_t {
    unchanged,  // stays byte for byte
    rewritten,  // `bytes` takes its place
    emptied,    // likewise, without records: the sequence numbers of its producer still count
    removed,    // nothing is left but its offsets
  };
  Kind kind = Kind::unchanged;
  Bytes bytes;
  uint32_t removed_records = 0;
  // When the delete markers that are left in it may go.
  std::optional<WallTimeMs> delete_horizon;
  // Behind the last marker that goes because its horizon has passed; 0: none does.
  Offset dropped_end{0};
};

// What the log knows of a batch.
struct BatchStanding {
  bool known_of_producer = false;  // repetitions of it have to be recognised; a marker: it is the producer's last one
  bool aborted = false;            // its records belong to an aborted transaction
};

// unsupported_compression_type, invalid_record, message_too_large when its records cannot be read.
Result<CompactedBatch> compact_batch(const BatchHeader& header, BytesView whole_batch, const OffsetMap& newest,
                                     const CompactionRules& rules, const BatchStanding& standing,
                                     Decompressor& decompressor);

// The same for a control batch. `needed`: there are records of its transaction, or it is its producer's last one.
Result<CompactedBatch> compact_marker(const BatchHeader& header, BytesView whole_batch, const CompactionRules& rules,
                                      bool needed);

}  // namespace naru
