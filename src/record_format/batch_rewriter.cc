#include "record_format/batch_rewriter.h"

#include <algorithm>
#include <limits>

#include "foundation/assert.h"
#include "foundation/byte_writer.h"
#include "record_format/compression.h"
#include "record_format/record_writer.h"

namespace naru {
BatchRewriter::BatchRewriter(const BatchHeader& original, std::optional<WallTimeMs> delete_horizon)
    : original_(original),
      attributes_(original.attributes),
      base_timestamp_(original.base_timestamp),
      max_timestamp_(original.timestamp_type() == TimestampType::log_append_time
                         ? original.max_timestamp
                         : std::numeric_limits<WallTimeMs>::min()) {
  if (delete_horizon && !original.has_delete_horizon()) {
    attributes_ |= batch_attribute::kDeleteHorizon;
    base_timestamp_ = *delete_horizon;
  }
}

void BatchRewriter::keep(const RecordView& record) {
  int64_t timestamp_delta = 0;
  if (__builtin_sub_overflow(record.timestamp, base_timestamp_, &timestamp_delta)) {
    expressible_ = false;
    return;
  }
  max_timestamp_ = std::max(max_timestamp_, record.timestamp);

  body_.clear();
  ByteWriter body(body_);
  body.write_int<int8_t>(0);
  body.write_varlong(timestamp_delta);
  body.write_varint(record.offset_delta);
  write_nullable(body, record.key);
  write_nullable(body, record.value);
  body.write_varint(record.headers_count);
  body.write_bytes(record.headers_bytes);

  ByteWriter records(records_);
  records.write_varint(static_cast<int32_t>(body_.size()));
  records.write_bytes(body_);
  expressible_ = expressible_ && records_.size() <= kMaxBatchSize - kBatchHeaderSize;
  ++kept_;
}

Result<Bytes> BatchRewriter::build() const {
  NARU_ASSERT(kept_ > 0 || !expressible_, "a batch without records is made by make_emptied_batch()");
  const std::optional<Compression> codec = original_.compression();
  if (!expressible_ || !codec) return failure(ErrorCode::invalid_argument, "the records do not fit into the batch");
  NARU_TRY_ASSIGN(const Bytes payload, compress(*codec, records_));
  if (payload.size() > kMaxBatchSize - kBatchHeaderSize)
    return failure(ErrorCode::invalid_argument, "{} bytes of records do not fit into one batch", payload.size());
  BatchHeader header = original_;
  header.attributes = attributes_;
  header.base_timestamp = base_timestamp_;
  header.max_timestamp = max_timestamp_;
  header.records_count = kept_;
  return assemble_batch(header, payload);
}

Bytes make_emptied_batch(const BatchHeader& original) {
  BatchHeader header = original;
  // No bytes are not a frame of any codec: librdkafka never stops decompressing them, and aiokafka fails.
  header.attributes = static_cast<int16_t>(header.attributes & ~batch_attribute::kCompressionMask);
  header.records_count = 0;
  return assemble_batch(header, {});
}

Bytes make_filler_batch(Offset begin, Offset end, LeaderEpoch leader_epoch) {
  NARU_ASSERT(begin < end && end - begin <= int64_t{std::numeric_limits<int32_t>::max()} + 1,
              "no batch spans the offsets [{}, {})", begin, end);
  return assemble_batch({.base_offset = begin,
                         .leader_epoch = leader_epoch,
                         .last_offset_delta = static_cast<int32_t>(end - begin - 1),
                         .base_timestamp = kNoTimestamp,
                         .max_timestamp = kNoTimestamp,
                         .producer_id = kNoProducerId,
                         .producer_epoch = ProducerEpoch(-1),
                         .base_sequence = -1,
                         .records_count = 0},
                        {});
}

bool is_filler(const BatchHeader& header) {
  return header.records_count == 0 && header.producer_id == kNoProducerId && !header.is_control();
}

}  // namespace naru
