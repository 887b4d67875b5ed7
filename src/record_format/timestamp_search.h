// Finds records by time inside one stored batch: the last step of ListOffsets.
#pragma once

#include <optional>

#include "foundation/bytes.h"
#include "foundation/ids.h"
#include "foundation/status.h"
#include "foundation/time.h"
#include "record_format/record_batch.h"

namespace naru {

struct TimestampedOffset {
  Offset offset;
  WallTimeMs timestamp = kNoTimestamp;

  bool operator==(const TimestampedOffset&) const = default;
};

// The first record whose timestamp is `target` or later, at or behind offset `from`; nothing if the batch has none.
// The caller has checked the batch's CRC; `max_decompressed_bytes` bounds the work on compressed batches. Errors are
// those of open_records() and RecordReader.
Result<std::optional<TimestampedOffset>> find_first_at_or_after(BytesView whole_batch, WallTimeMs target, Offset from,
                                                                size_t max_decompressed_bytes);

// The first of the records at or behind `from` with the largest timestamp; nothing if there are none.
Result<std::optional<TimestampedOffset>> find_max_timestamp(BytesView whole_batch, Offset from,
                                                            size_t max_decompressed_bytes);

}  // namespace naru
