// Builds record batches: for the client, the command line and tests.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "foundation/bytes.h"
#include "foundation/ids.h"
#include "foundation/status.h"
#include "foundation/time.h"
#include "record_format/record_batch.h"
#include "record_format/record_reader.h"

namespace naru {

struct BatchOptions {
  Offset base_offset{0};
  LeaderEpoch leader_epoch = kNoLeaderEpoch;
  Compression compression = Compression::none;
  TimestampType timestamp_type = TimestampType::create_time;
  bool transactional = false;
  bool control = false;
  ProducerId producer_id = kNoProducerId;
  ProducerEpoch producer_epoch{-1};
  int32_t base_sequence = -1;
};

// A record to be written. No key and an empty key are different things, and so are values.
struct NewRecord {
  WallTimeMs timestamp = kNoTimestamp;
  std::optional<BytesView> key;
  std::optional<BytesView> value;
  std::vector<RecordHeader> headers;
};

// Collects records and seals them into one batch. Copies what it is given. Used once, by one thread.
class BatchBuilder {
 public:
  explicit BatchBuilder(BatchOptions options = {}) : options_(options) {}

  void add(const NewRecord& record);
  // For the common case.
  void add(WallTimeMs timestamp, std::optional<std::string_view> key, std::optional<std::string_view> value);

  int32_t records_count() const { return records_count_; }
  // Of the records, before compression.
  size_t records_size() const { return records_.size(); }

  // The finished batch: base offset, epoch and CRC filled in. invalid_argument when a batch cannot express it (more
  // than 2 GiB, timestamps further apart than 64 bits tell).
  Result<Bytes> build() const;

 private:
  BatchOptions options_;
  Bytes records_;
  Bytes body_;  // of the record being added: its length comes first
  int32_t records_count_ = 0;
  WallTimeMs base_timestamp_ = kNoTimestamp;
  WallTimeMs max_timestamp_ = kNoTimestamp;
  bool expressible_ = true;
};

}  // namespace naru
