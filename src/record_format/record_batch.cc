#include "record_format/record_batch.h"

#include <algorithm>
#include <limits>

#include "foundation/assert.h"
#include "foundation/byte_writer.h"
#include "foundation/crc32c.h"
#include "foundation/endian.h"

namespace naru {
namespace {

constexpr size_t kSizePrefix = batch_field::kMagic + sizeof(int8_t);

template <class T>
T field(BytesView batch, size_t position) {
  return load_big_endian<T>(batch.data() + position);
}

Status check_counts(const BatchHeader& header) {
  if (header.last_offset_delta < 0)
    return error(ErrorCode::invalid_record, "the batch's last offset delta is {}", header.last_offset_delta);
  if (header.records_count < 0)
    return error(ErrorCode::invalid_record, "the batch's record count is {}", header.records_count);
  if (header.records_count - 1 > header.last_offset_delta)
    return error(ErrorCode::invalid_record, "the batch's {} records do not fit into its last offset delta {}",
                 header.records_count, header.last_offset_delta);
  constexpr int64_t kMaxOffset = std::numeric_limits<int64_t>::max();
  if (header.base_offset < Offset{0} || header.base_offset.value() >= kMaxOffset - header.last_offset_delta)
    return error(ErrorCode::invalid_record, "the batch's base offset {} is out of range", header.base_offset);
  return {};
}

}  // namespace

Result<size_t> parse_batch_size(BytesView bytes) {
  if (bytes.size() < kSizePrefix)
    return failure(ErrorCode::corrupt_message, "{} bytes are fewer than a batch header has", bytes.size());
  const auto magic = field<int8_t>(bytes, batch_field::kMagic);
  if (magic != kBatchMagic)
    return failure(ErrorCode::invalid_record, "message format {} is not supported, only format {}", magic, kBatchMagic);
  const auto length = field<int32_t>(bytes, batch_field::kBatchLength);
  constexpr auto kShortest = static_cast<int32_t>(kBatchHeaderSize - kBatchLengthOverhead);
  if (length < kShortest)
    return failure(ErrorCode::corrupt_message, "batch length {} is less than {}, that of an empty batch", length,
                   kShortest);
  return static_cast<size_t>(length) + kBatchLengthOverhead;
}

Result<BatchHeader> parse_batch_header(BytesView bytes) {
  NARU_TRY_ASSIGN(const size_t total_size, parse_batch_size(bytes));
  if (bytes.size() < kBatchHeaderSize)
    return failure(ErrorCode::corrupt_message, "{} bytes are fewer than a batch header has", bytes.size());
  const BatchHeader header{
      .base_offset = Offset{field<int64_t>(bytes, batch_field::kBaseOffset)},
      .total_size = total_size,
      .leader_epoch = LeaderEpoch{field<int32_t>(bytes, batch_field::kLeaderEpoch)},
      .magic = kBatchMagic,
      .crc = field<uint32_t>(bytes, batch_field::kCrc),
      .attributes = field<int16_t>(bytes, batch_field::kAttributes),
      .last_offset_delta = field<int32_t>(bytes, batch_field::kLastOffsetDelta),
      .base_timestamp = field<int64_t>(bytes, batch_field::kBaseTimestamp),
      .max_timestamp = field<int64_t>(bytes, batch_field::kMaxTimestamp),
      .producer_id = ProducerId{field<int64_t>(bytes, batch_field::kProducerId)},
      .producer_epoch = ProducerEpoch{field<int16_t>(bytes, batch_field::kProducerEpoch)},
      .base_sequence = field<int32_t>(bytes, batch_field::kBaseSequence),
      .records_count = field<int32_t>(bytes, batch_field::kRecordsCount),
  };
  NARU_TRY(check_counts(header));
  return header;
}

bool batch_crc_matches(BytesView whole_batch) {
  if (whole_batch.size() < kBatchHeaderSize) return false;
  return field<uint32_t>(whole_batch, batch_field::kCrc) == crc32c(whole_batch.subspan(batch_field::kAttributes));
}

void seal_batch(MutableBytesView whole_batch) {
  NARU_ASSERT(whole_batch.size() >= kBatchHeaderSize, "{} bytes are not a whole batch", whole_batch.size());
  const size_t length = whole_batch.size() - kBatchLengthOverhead;
  NARU_ASSERT(length <= static_cast<size_t>(std::numeric_limits<int32_t>::max()), "batch of {} bytes", length);
  store_big_endian(whole_batch.data() + batch_field::kBatchLength, static_cast<int32_t>(length));
  store_big_endian(whole_batch.data() + batch_field::kCrc, crc32c(whole_batch.subspan(batch_field::kAttributes)));
}

Bytes assemble_batch(const BatchHeader& header, BytesView compressed_records) {
  Bytes batch;
  batch.reserve(kBatchHeaderSize + compressed_records.size());
  ByteWriter writer(batch);
  writer.write_int(header.base_offset.value());
  writer.write_int<int32_t>(0);  // length, known to seal_batch
  writer.write_int(header.leader_epoch.value());
  writer.write_int(kBatchMagic);
  writer.write_int<uint32_t>(0);  // CRC, likewise
  writer.write_int(header.attributes);
  writer.write_int(header.last_offset_delta);
  writer.write_int(header.base_timestamp);
  writer.write_int(header.max_timestamp);
  writer.write_int(header.producer_id.value());
  writer.write_int(header.producer_epoch.value());
  writer.write_int(header.base_sequence);
  writer.write_int(header.records_count);
  writer.write_bytes(compressed_records);
  seal_batch(batch);
  return batch;
}

StoredHeader make_stored_header(BytesView whole_batch, Offset base_offset, LeaderEpoch leader_epoch,
                                BatchTimestamp timestamp) {
  NARU_ASSERT(whole_batch.size() >= kBatchHeaderSize, "{} bytes are not a whole batch", whole_batch.size());
  StoredHeader header;
  std::ranges::copy(whole_batch.first(kBatchHeaderSize), header.begin());
  store_big_endian(header.data() + batch_field::kBaseOffset, base_offset.value());
  store_big_endian(header.data() + batch_field::kLeaderEpoch, leader_epoch.value());

  const auto old_attributes = field<int16_t>(whole_batch, batch_field::kAttributes);
  auto attributes = static_cast<int16_t>(old_attributes & ~batch_attribute::kLogAppendTime);
  if (timestamp.type == TimestampType::log_append_time) attributes |= batch_attribute::kLogAppendTime;
  if (attributes == old_attributes && timestamp.max == field<int64_t>(whole_batch, batch_field::kMaxTimestamp))
    return header;

  store_big_endian(header.data() + batch_field::kAttributes, attributes);
  store_big_endian(header.data() + batch_field::kMaxTimestamp, timestamp.max);
  const uint32_t crc = crc32c(BytesView(header).subspan(batch_field::kAttributes));
  store_big_endian(header.data() + batch_field::kCrc, crc32c_extend(crc, batch_records(whole_batch)));
  return header;
}

}  // namespace naru
