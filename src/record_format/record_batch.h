// The record batch of Kafka's message format 2: what producers send, what the log stores and what consumers read.
// Here is its 61-byte header; the records behind it are read by record_reader.h and built by batch_builder.h.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "foundation/bytes.h"
#include "foundation/ids.h"
#include "foundation/status.h"
#include "foundation/time.h"

namespace naru {

inline constexpr size_t kBatchHeaderSize = 61;
inline constexpr int8_t kBatchMagic = 2;
// batchLength counts the bytes after itself: 12 fewer than the batch has.
inline constexpr size_t kBatchLengthOverhead = 12;
// A record without a timestamp.
inline constexpr WallTimeMs kNoTimestamp = -1;

namespace batch_field {
inline constexpr size_t kBaseOffset = 0;
inline constexpr size_t kBatchLength = 8;
inline constexpr size_t kLeaderEpoch = 12;
inline constexpr size_t kMagic = 16;
inline constexpr size_t kCrc = 17;
inline constexpr size_t kAttributes = 21;  // the first byte that the CRC covers
inline constexpr size_t kLastOffsetDelta = 23;
inline constexpr size_t kBaseTimestamp = 27;
inline constexpr size_t kMaxTimestamp = 35;
inline constexpr size_t kProducerId = 43;
inline constexpr size_t kProducerEpoch = 51;
inline constexpr size_t kBaseSequence = 53;
inline constexpr size_t kRecordsCount = 57;
}  // namespace batch_field

namespace batch_attribute {
inline constexpr int16_t kCompressionMask = 0x07;
inline constexpr int16_t kLogAppendTime = 0x08;
inline constexpr int16_t kTransactional = 0x10;
inline constexpr int16_t kControl = 0x20;
inline constexpr int16_t kDeleteHorizon = 0x40;
}  // namespace batch_attribute

// The numbers are those of the attributes on the wire.
enum class Compression : uint8_t { none = 0, gzip = 1, snappy = 2, lz4 = 3, zstd = 4 };
enum class TimestampType : uint8_t { create_time = 0, log_append_time = 1 };

struct BatchHeader {
  Offset base_offset;
  size_t total_size = 0;  // of the whole batch, this header included
  LeaderEpoch leader_epoch;
  int8_t magic = 0;
  uint32_t crc = 0;
  int16_t attributes = 0;
  int32_t last_offset_delta = 0;
  WallTimeMs base_timestamp = 0;  // the delete horizon when has_delete_horizon()
  WallTimeMs max_timestamp = 0;
  ProducerId producer_id;
  ProducerEpoch producer_epoch;
  int32_t base_sequence = 0;
  int32_t records_count = 0;  // fewer than the offsets the batch spans, even 0, after compaction

  // Empty for the codec numbers that nobody has given a meaning.
  std::optional<Compression> compression() const {
    const int codec = attributes & batch_attribute::kCompressionMask;
    if (codec > static_cast<int>(Compression::zstd)) return std::nullopt;
    return static_cast<Compression>(codec);
  }
  TimestampType timestamp_type() const {
    return has(batch_attribute::kLogAppendTime) ? TimestampType::log_append_time : TimestampType::create_time;
  }
  bool is_transactional() const { return has(batch_attribute::kTransactional); }
  bool is_control() const { return has(batch_attribute::kControl); }
  bool has_delete_horizon() const { return has(batch_attribute::kDeleteHorizon); }

  Offset last_offset() const { return base_offset + last_offset_delta; }
  Offset next_offset() const { return last_offset() + 1; }

 private:
  bool has(int16_t bit) const { return (attributes & bit) != 0; }
};

// The size of the batch that begins here, from its first 17 bytes. corrupt_message when there are fewer bytes than
// that, or the length is shorter than a header; invalid_record for an older or newer format than 2.
Result<size_t> parse_batch_size(BytesView bytes);

// Reads the header from the first 61 bytes; the rest of the batch need not be there. Errors as above, and
// invalid_record when the counts contradict each other or the offsets leave the range of an Offset.
// The CRC is not looked at: nothing in here can be trusted before batch_crc_matches() said so.
Result<BatchHeader> parse_batch_header(BytesView bytes);

// Whether the CRC in the header is that of the bytes it covers. The view is exactly one batch.
bool batch_crc_matches(BytesView whole_batch);

// The (still compressed) records of a whole batch.
inline BytesView batch_records(BytesView whole_batch) {
  return whole_batch.subspan(kBatchHeaderSize);
}

// Makes batchLength and CRC agree with the other bytes: the last step of building a batch.
void seal_batch(MutableBytesView whole_batch);

// A whole batch: `header`, whose length and CRC are computed here, and the compressed records.
Bytes assemble_batch(const BatchHeader& header, BytesView compressed_records);

// What a stored batch says about its time. With log append time every record has `max`.
struct BatchTimestamp {
  TimestampType type = TimestampType::create_time;
  WallTimeMs max = kNoTimestamp;

  bool operator==(const BatchTimestamp&) const = default;
};

// The first 61 bytes as the log stores them.
using StoredHeader = std::array<std::byte, kBatchHeaderSize>;

// The header that the leader writes in place of the one it received, so the memory of a request is never modified.
// Base offset and leader epoch lie outside of the CRC. Timestamp type and maximum lie inside: when they differ from
// what the batch says (log append time, or a producer that leaves the maximum unset) the CRC is computed anew.
StoredHeader make_stored_header(BytesView whole_batch, Offset base_offset, LeaderEpoch leader_epoch,
                                BatchTimestamp timestamp);

}  // namespace naru
