#include "record_format/batch_builder.h"

#include <algorithm>

#include "foundation/assert.h"
#include "foundation/byte_writer.h"
#include "record_format/compression.h"
#include "record_format/record_writer.h"

namespace naru {
namespace {

int16_t make_attributes(const BatchOptions& options) {
  auto attributes = static_cast<int16_t>(options.compression);
  if (options.timestamp_type == TimestampType::log_append_time) attributes |= batch_attribute::kLogAppendTime;
  if (options.transactional) attributes |= batch_attribute::kTransactional;
  if (options.control) attributes |= batch_attribute::kControl;
  return attributes;
}

// Lengths are 32-bit numbers in the format.
bool lengths_fit(const NewRecord& record) {
  size_t total = record.key.value_or(BytesView{}).size();
  const auto add = [&total](size_t size) { return size <= kMaxBatchSize && (total += size) <= kMaxBatchSize; };
  if (total > kMaxBatchSize || !add(record.value.value_or(BytesView{}).size())) return false;
  return std::ranges::all_of(record.headers, [&add](const RecordHeader& header) {
    return add(header.key.size()) && add(header.value.value_or(BytesView{}).size());
  });
}

}  // namespace

void BatchBuilder::add(WallTimeMs timestamp, std::optional<std::string_view> key,
                       std::optional<std::string_view> value) {
  add(NewRecord{.timestamp = timestamp, .key = key.transform(as_bytes), .value = value.transform(as_bytes)});
}

void BatchBuilder::add(const NewRecord& record) {
  if (records_count_ == 0) base_timestamp_ = max_timestamp_ = record.timestamp;
  max_timestamp_ = std::max(max_timestamp_, record.timestamp);
  int64_t timestamp_delta = 0;
  if (__builtin_sub_overflow(record.timestamp, base_timestamp_, &timestamp_delta) || !lengths_fit(record)) {
    expressible_ = false;
    return;
  }

  body_.clear();
  ByteWriter body(body_);
  body.write_int<int8_t>(0);
  body.write_varlong(timestamp_delta);
  body.write_varint(records_count_);
  write_nullable(body, record.key);
  write_nullable(body, record.value);
  body.write_varint(static_cast<int32_t>(record.headers.size()));
  for (const RecordHeader& header : record.headers) {
    write_nullable(body, as_bytes(header.key));
    write_nullable(body, header.value);
  }

  ByteWriter records(records_);
  records.write_varint(static_cast<int32_t>(body_.size()));
  records.write_bytes(body_);
  expressible_ = expressible_ && records_.size() <= kMaxBatchSize;
  ++records_count_;
}

Result<Bytes> BatchBuilder::build() const {
  if (!expressible_) return failure(ErrorCode::invalid_argument, "the records do not fit into one batch");
  NARU_ASSERT(records_count_ > 0, "a batch without records");
  NARU_TRY_ASSIGN(const Bytes payload, compress(options_.compression, records_));
  if (payload.size() > kMaxBatchSize - kBatchHeaderSize)
    return failure(ErrorCode::invalid_argument, "{} bytes of records do not fit into one batch", payload.size());

  return assemble_batch({.base_offset = options_.base_offset,
                         .leader_epoch = options_.leader_epoch,
                         .attributes = make_attributes(options_),
                         .last_offset_delta = records_count_ - 1,
                         .base_timestamp = base_timestamp_,
                         .max_timestamp = max_timestamp_,
                         .producer_id = options_.producer_id,
                         .producer_epoch = options_.producer_epoch,
                         .base_sequence = options_.base_sequence,
                         .records_count = records_count_},
                        payload);
}

}  // namespace naru
