#include "record_format/batch_validator.h"

#include <limits>

#include <fmt/core.h>

#include "record_format/decompressor.h"
#include "record_format/record_reader.h"

namespace naru {
namespace {

// The timestamps that a topic with create time accepts.
struct TimestampBounds {
  WallTimeMs earliest = std::numeric_limits<WallTimeMs>::min();
  WallTimeMs latest = std::numeric_limits<WallTimeMs>::max();

  TimestampBounds(const ProduceRules& rules, WallTimeMs now) {
    if (rules.timestamp_type == TimestampType::log_append_time) return;
    // What overflows is as far away as one can ask for: no bound.
    WallTimeMs bound = 0;
    if (!__builtin_sub_overflow(now, rules.timestamp_before_max_ms, &bound)) earliest = bound;
    if (!__builtin_add_overflow(now, rules.timestamp_after_max_ms, &bound)) latest = bound;
  }
  bool contains(WallTimeMs timestamp) const {
    return timestamp == kNoTimestamp || (timestamp >= earliest && timestamp <= latest);
  }
};

// Everything about sizes that can be known before the CRC, and the CRC.
Status check_bytes(BytesView records_field, const ProduceRules& rules) {
  if (records_field.empty()) return error(ErrorCode::invalid_record, "the request has no batch for this partition");
  NARU_TRY_ASSIGN(const size_t size, parse_batch_size(records_field));
  if (size > rules.max_message_bytes)
    return error(ErrorCode::message_too_large, "the batch has {} bytes, max.message.bytes is {}", size,
                 rules.max_message_bytes);
  if (size > records_field.size())
    return error(ErrorCode::corrupt_message, "the batch claims {} bytes, {} are there", size, records_field.size());
  if (size < records_field.size())
    return error(ErrorCode::invalid_record, "{} bytes follow the batch; a partition takes one batch per request",
                 records_field.size() - size);
  if (!batch_crc_matches(records_field))
    return error(ErrorCode::corrupt_message, "the batch's CRC is not that of its bytes");
  return {};
}

Status check_producer(const BatchHeader& header, const ProduceRules& rules) {
  if (header.producer_id < ProducerId{0}) {
    if (header.is_transactional())
      return error(ErrorCode::invalid_record, "the batch is transactional but has no producer id");
    return {};
  }
  if (header.producer_epoch < ProducerEpoch{0})
    return error(ErrorCode::invalid_record, "the batch has producer id {} but producer epoch {}", header.producer_id,
                 header.producer_epoch);
  if (header.base_sequence < 0 && rules.sequence_required)
    return error(ErrorCode::invalid_record, "the batch has producer id {} but base sequence {}", header.producer_id,
                 header.base_sequence);
  return {};
}

Status check_header(const BatchHeader& header, const ProduceRules& rules) {
  if (header.is_control()) return error(ErrorCode::invalid_record, "clients may not write control batches");
  if (header.has_delete_horizon()) return error(ErrorCode::invalid_record, "clients may not set a delete horizon");
  if (header.timestamp_type() == TimestampType::log_append_time)
    return error(ErrorCode::invalid_timestamp, "clients may not set the timestamp type to log append time");
  if (!header.compression())
    return error(ErrorCode::unsupported_compression_type, "compression codec {} is unknown",
                 header.attributes & batch_attribute::kCompressionMask);
  if (header.compression() == Compression::zstd && !rules.allow_zstd)
    return error(ErrorCode::unsupported_compression_type, "zstd needs version 7 of Produce requests or later");
  if (header.records_count < 1) return error(ErrorCode::invalid_record, "the batch has no records");
  if (header.records_count - 1 != header.last_offset_delta)
    return error(ErrorCode::invalid_record, "the batch's record count {} and last offset delta {} disagree",
                 header.records_count, header.last_offset_delta);
  return check_producer(header, rules);
}

// What single records are refused for. The batch is read to its end, so that all of them can be named.
class Rejections {
 public:
  Rejections(const TimestampBounds& bounds, std::vector<RejectedRecord>* named) : bounds_(bounds), named_(named) {}

  void add(const RecordView& record) {
    const bool in_time = bounds_.contains(record.timestamp);
    ++(in_time ? without_key_ : out_of_time_);
    if (named_ == nullptr || named_->size() >= kRejectedRecordsMax) return;
    named_->push_back({.index = record.offset_delta,
                       .reason = in_time ? "it has no key, which a compacted topic needs"
                                         : fmt::format("it has timestamp {}; this topic accepts {} to {}",
                                                       record.timestamp, bounds_.earliest, bounds_.latest)});
  }
  Status status() const {
    if (out_of_time_ > 0)
      return error(ErrorCode::invalid_timestamp,
                   "{} records have a timestamp that this topic does not accept: {} to {}", out_of_time_,
                   bounds_.earliest, bounds_.latest);
    if (without_key_ > 0)
      return error(ErrorCode::invalid_record, "{} records have no key, which a compacted topic needs", without_key_);
    return {};
  }

 private:
  const TimestampBounds& bounds_;
  std::vector<RejectedRecord>* const named_;
  int32_t without_key_ = 0;
  int32_t out_of_time_ = 0;
};

// The header's count is last offset delta + 1 and the reader makes deltas rise within the batch, so they are 0, 1, 2...
Status check_records(RecordReader& reader, const ProduceRules& rules, WallTimeMs now, ValidatedBatch& batch,
                     std::vector<RejectedRecord>* rejected) {
  const TimestampBounds bounds(rules, now);
  Rejections rejections(bounds, rejected);
  RecordView record;
  while (reader.next(record)) {
    if ((rules.key_required && !record.key) || !bounds.contains(record.timestamp)) rejections.add(record);
    if (record.timestamp > batch.timestamp.max || record.offset_delta == 0) {
      batch.timestamp.max = record.timestamp;
      batch.max_timestamp_offset_delta = record.offset_delta;
    }
  }
  if (reader.status().ok()) return rejections.status();
  if (rejected != nullptr) rejected->clear();
  return reader.status();
}

}  // namespace

Result<ValidatedBatch> validate_produced_batch(BytesView records_field, const ProduceRules& rules, WallTimeMs now,
                                               std::vector<RejectedRecord>* rejected, UseOfRecords* use) {
  NARU_TRY(check_bytes(records_field, rules));
  ValidatedBatch batch;
  NARU_TRY_ASSIGN(batch.header, parse_batch_header(records_field));
  NARU_TRY(check_header(batch.header, rules));
  Decompressor& decompressor = Decompressor::of_this_thread();
  NARU_TRY_ASSIGN(
      const BytesView records,
      decompressor.decompress(*batch.header.compression(), batch_records(records_field), rules.max_decompressed_bytes));
  RecordReader reader(batch.header, records);
  batch.uncompressed_size = records.size();
  Status status = check_records(reader, rules, now, batch, rejected);
  if (status.ok() && use != nullptr) status = (*use)(records);
  decompressor.trim();
  if (!status.ok()) return failure(status);
  if (rules.timestamp_type == TimestampType::log_append_time) {
    batch.timestamp = {TimestampType::log_append_time, now};
    batch.max_timestamp_offset_delta = 0;
  }
  return batch;
}

}  // namespace naru
