// Batches as compaction leaves them: with fewer records, or none, and still spanning the same offsets.
#pragma once

#include <cstdint>
#include <optional>

#include "foundation/bytes.h"
#include "foundation/ids.h"
#include "foundation/status.h"
#include "foundation/time.h"
#include "record_format/record_batch.h"
#include "record_format/record_reader.h"

namespace naru {

// Builds a batch that replaces `original`: the same offsets, leader epoch, producer and codec, and those of its records
// that are kept, with their offsets, timestamps, keys, values and headers. Used once, by one thread.
class BatchRewriter {
 public:
  // `delete_horizon`: when delete markers in it may go. Stored in the place of the base timestamp, as in Kafka. One
  // that the batch has already stays what it is.
  BatchRewriter(const BatchHeader& original, std::optional<WallTimeMs> delete_horizon);

  // In the order of the batch.
  void keep(const RecordView& record);
  int32_t kept() const { return kept_; }

  // invalid_argument when the result cannot be expressed (a timestamp further from the delete horizon than 64 bits
  // tell): then the original has to stay.
  Result<Bytes> build() const;

 private:
  const BatchHeader original_;
  int16_t attributes_;
  WallTimeMs base_timestamp_;
  WallTimeMs max_timestamp_;
  Bytes records_;
  Bytes body_;  // of the record being added: its length comes first
  int32_t kept_ = 0;
  bool expressible_ = true;
};

// The batch without its records: what is left of the last batch of a producer, whose sequence numbers still count.
Bytes make_emptied_batch(const BatchHeader& original);

// A batch without records and without a producer in the place of removed ones: [begin, end), at most 2^31 offsets, all
// of one leader epoch. Logs stay without gaps that way.
Bytes make_filler_batch(Offset begin, Offset end, LeaderEpoch leader_epoch);
// Whether a batch says no more than that its offsets are gone.
bool is_filler(const BatchHeader& header);

}  // namespace naru
