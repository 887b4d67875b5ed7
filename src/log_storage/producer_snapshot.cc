#include "log_storage/producer_snapshot.h"

#include <algorithm>

#include "foundation/byte_reader.h"
#include "foundation/byte_writer.h"
#include "foundation/crc32c.h"

namespace naru {
namespace {

constexpr uint64_t kMagic = 0x6e6172752e706964;  // "naru.pid"
constexpr int32_t kVersion = 3;
constexpr int32_t kVersionWithWallTimes = 2;
constexpr int32_t kVersionWithoutTransactions = 1;
constexpr size_t kCrcBytes = 4;
constexpr int64_t kLongestIdleMs = int64_t{1} << 60;  // so that no difference of times overflows
constexpr size_t kHeaderBytes = 24, kCompleteFromBytes = 8, kProducerBytes = 47, kBatchBytes = 24, kEndedBytes = 16;

void write_producer(ByteWriter& writer, const Producer& producer, RunningTimeMs now) {
  writer.write_int(producer.id.value());
  writer.write_int(producer.epoch.value());
  writer.write_int(producer.last_timestamp);
  writer.write_int(std::max<int64_t>(now - producer.last_append_ms, 0));
  writer.write_int(producer.coordinator_epoch);
  writer.write_int(producer.last_marker.value());
  writer.write_int(producer.transaction_start.value());
  writer.write_int(producer.batch_count);
  for (size_t i = 0; i < producer.batch_count; ++i) {
    const ProducerBatch& batch = producer.batches[i];
    writer.write_int(batch.first_sequence);
    writer.write_int(batch.last_offset_delta);
    writer.write_int(batch.base_offset.value());
    writer.write_int(batch.log_append_time_ms);
  }
}

ProducerBatch read_batch(ByteReader& reader, Offset end) {
  const auto first_sequence = reader.read_int<int32_t>();
  const auto last_offset_delta = reader.read_int<int32_t>();
  const Offset base_offset(reader.read_int<int64_t>());
  const auto log_append_time_ms = reader.read_int<int64_t>();
  const bool inside =
      base_offset >= Offset(0) && last_offset_delta >= 0 && base_offset < end && last_offset_delta < end - base_offset;
  if (first_sequence < 0 || !inside) reader.fail("a batch that cannot be");
  return {first_sequence, last_offset_delta, base_offset, log_append_time_ms};
}

bool is_below(Offset offset, Offset end) {
  return offset >= Offset(0) && offset < end;
}

void read_transactions(ByteReader& reader, Offset end, Producer& producer) {
  producer.coordinator_epoch = reader.read_int<int32_t>();
  producer.last_marker = Offset(reader.read_int<int64_t>());
  producer.transaction_start = Offset(reader.read_int<int64_t>());
  const bool marker_fits =
      producer.last_marker == kNoOffset ? producer.coordinator_epoch == -1 : is_below(producer.last_marker, end);
  const bool start_fits = producer.transaction_start == kNoOffset || is_below(producer.transaction_start, end);
  if (!marker_fits || !start_fits) reader.fail("a transaction that cannot be");
}

// When it last appended. By the wall clock of then, in older versions: that says nothing now.
RunningTimeMs read_last_append(ByteReader& reader, int32_t version, RunningTimeMs now) {
  const auto stored = reader.read_int<int64_t>();
  if (stored < 0) reader.fail("a time that cannot be");
  return version <= kVersionWithWallTimes ? now : now - std::min(stored, kLongestIdleMs);
}

Producer read_producer(ByteReader& reader, Offset end, int32_t version, RunningTimeMs now) {
  Producer producer{.id = ProducerId(reader.read_int<int64_t>()),
                    .epoch = ProducerEpoch(reader.read_int<int16_t>()),
                    .batches = {},
                    .last_timestamp = reader.read_int<int64_t>(),
                    .last_append_ms = read_last_append(reader, version, now)};
  const bool with_transactions = version > kVersionWithoutTransactions;
  if (with_transactions) read_transactions(reader, end, producer);
  const auto count = reader.read_int<uint8_t>();
  if (producer.id < ProducerId(0) || producer.epoch < ProducerEpoch(0) || (count < 1 && !with_transactions) ||
      count > Producer::kWindow) {
    reader.fail("a producer that cannot be");
    return producer;
  }
  for (int i = 0; i < count; ++i) producer.add(read_batch(reader, end));
  return producer;
}

void read_ended(ByteReader& reader, Offset end, ProducerState& state) {
  const auto count = reader.read_int<int32_t>();
  Offset last_marker = kNoOffset;
  for (int32_t i = 0; i < count && reader.ok(); ++i) {
    const Offset first(reader.read_int<int64_t>());
    const Offset marker(reader.read_int<int64_t>());
    if (first < Offset(0) || first >= marker || marker <= last_marker || marker >= end) {
      reader.fail("a transaction that cannot have ended");
      return;
    }
    last_marker = marker;
    state.restore_ended({.first_offset = first, .marker_offset = marker});
  }
  if (count < 0) reader.fail("a negative number of transactions");
}

}  // namespace

Bytes encode_producer_snapshot(const ProducerState& state, Offset offset, RunningTimeMs now) {
  Bytes bytes;
  bytes.reserve(kHeaderBytes + kCompleteFromBytes + state.size() * (kProducerBytes + Producer::kWindow * kBatchBytes) +
                4 + state.ended().entries().size() * kEndedBytes + kCrcBytes);
  ByteWriter writer(bytes);
  writer.write_int(kMagic);
  writer.write_int(kVersion);
  writer.write_int(static_cast<int32_t>(state.size()));
  writer.write_int(offset.value());
  writer.write_int(state.complete_from().value());
  for (const Producer& producer : state.producers()) write_producer(writer, producer, now);
  writer.write_int(static_cast<int32_t>(state.ended().entries().size()));
  for (const EndedTransactions::Entry& ended : state.ended().entries()) {
    writer.write_int(ended.first_offset.value());
    writer.write_int(ended.marker_offset.value());
  }
  writer.write_int(crc32c(bytes));
  return bytes;
}

Result<ProducerState> decode_producer_snapshot(BytesView bytes, Offset offset, const ProducerLimits& limits,
                                               RunningTimeMs now) {
  if (bytes.size() < kHeaderBytes + kCrcBytes) return failure(ErrorCode::corrupt_data, "{} bytes", bytes.size());
  const BytesView content = bytes.first(bytes.size() - kCrcBytes);
  if (crc32c(content) != load_big_endian<uint32_t>(bytes.data() + content.size())) {
    return failure(ErrorCode::corrupt_data, "the CRC does not match");
  }
  ByteReader reader(content);
  if (reader.read_int<uint64_t>() != kMagic) return failure(ErrorCode::corrupt_data, "not a producer snapshot");
  const auto version = reader.read_int<int32_t>();
  if (version < kVersionWithoutTransactions || version > kVersion) {
    return failure(ErrorCode::unsupported_format, "version {}, this Naru knows {}", version, kVersion);
  }
  const auto count = reader.read_int<int32_t>();
  if (const Offset of(reader.read_int<int64_t>()); of != offset) {
    return failure(ErrorCode::corrupt_data, "it says that it is the one of offset {}", of);
  }
  ProducerState state(limits);
  if (version > kVersionWithWallTimes) {
    const ProducerId complete_from(reader.read_int<int64_t>());
    if (complete_from < ProducerId(0)) reader.fail("a producer id that cannot be");
    state.set_complete_from(complete_from);
  }
  for (int32_t i = 0; i < count && reader.ok(); ++i) {
    const Producer producer = read_producer(reader, offset, version, now);
    if (reader.ok() && !state.restore(producer)) reader.fail("a producer is there twice");
  }
  if (version > kVersionWithoutTransactions) read_ended(reader, offset, state);
  if (!reader.ok()) return failure(ErrorCode::corrupt_data, "byte {}: {}", reader.position(), reader.error());
  if (count < 0 || !reader.at_end()) return failure(ErrorCode::corrupt_data, "{} producers do not fill it", count);
  return state;
}

}  // namespace naru
