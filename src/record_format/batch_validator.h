// Checks a batch that a client wants to append. The one place where foreign bytes become part of a log: what passes
// here is stored as it came, replicated, and read by other clients.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "foundation/bytes.h"
#include "foundation/function.h"
#include "foundation/status.h"
#include "foundation/time.h"
#include "record_format/record_batch.h"

namespace naru {

// What the topic (and the version of the Produce request) demands.
struct ProduceRules {
  size_t max_message_bytes = 1'048'588;  // of the batch as sent, max.message.bytes
  TimestampType timestamp_type = TimestampType::create_time;
  int64_t timestamp_before_max_ms = std::numeric_limits<int64_t>::max();
  int64_t timestamp_after_max_ms = 3'600'000;
  bool key_required = false;                            // compacted topics
  size_t max_decompressed_bytes = 128uz * 1024 * 1024;  // of the records of one batch
  bool allow_zstd = true;                               // Produce version 7 and later
  bool sequence_required = true;                        // of batches with a producer; coordinators have none
};

struct ValidatedBatch {
  BatchHeader header;  // as the client sent it; the base offset in it means nothing yet
  // What the stored header has to say: for log append time `now`, otherwise the largest timestamp among the records.
  BatchTimestamp timestamp;
  int32_t max_timestamp_offset_delta = 0;  // of the first record with that timestamp
  size_t uncompressed_size = 0;            // of the records, without the batch header
};

// A record that is to blame for the refusal of its batch, so that its producer can tell it from the others.
struct RejectedRecord {
  int32_t index = 0;  // in the batch
  std::string reason;
};
// Of one batch; more are not named, because a small batch may expand to millions of them.
inline constexpr size_t kRejectedRecordsMax = 16'384;

// For who has a use for the records of a batch that is valid, decompressed: they are gone when this returns. May not
// decompress anything itself. What it returns is what the validation returns.
using UseOfRecords = UniqueFunction<Status(BytesView records)>;

// `records_field` is the records field of one partition in a Produce request. Errors carry a sentence for the client:
//   corrupt_message               sizes or CRC do not match the bytes
//   message_too_large             larger than max_message_bytes, or than max_decompressed_bytes once decompressed
//   unsupported_compression_type  unknown codec, or zstd where it is not allowed
//   invalid_timestamp             a record's time is out of bounds, or the producer claims log append time
//   invalid_record                everything else: not exactly one batch of format 2, control batches, counts and
//                                 offsets that disagree, malformed records, missing keys, half a producer identity
// `rejected` receives the records that are to blame, if the batch is refused for what single records are: times out of
// bounds, missing keys.
// Uncompressed records are checked where they are; compressed ones go through the thread's Decompressor.
Result<ValidatedBatch> validate_produced_batch(BytesView records_field, const ProduceRules& rules, WallTimeMs now,
                                               std::vector<RejectedRecord>* rejected = nullptr,
                                               UseOfRecords* use = nullptr);

}  // namespace naru
