// Feeds the validator batches whose magic, length and CRC fit, so that the fuzzer gets behind those checks.
// The first byte chooses the rules, whether the rest is compressed first, to get behind the codecs, too, and the codec
// that a valid batch is put into.
#include "record_format/batch_validator.h"

#include <cstddef>
#include <cstdint>
#include <limits>

#include "foundation/assert.h"
#include "foundation/endian.h"
#include "record_format/batch_recompression.h"
#include "record_format/compression.h"
#include "record_format/record_reader.h"

namespace naru {
namespace {

constexpr size_t kLimit = 1 << 20;

Bytes make_batch(BytesView input, bool compress_first) {
  Bytes batch(input.begin(), input.end());
  if (batch.size() < kBatchHeaderSize) batch.resize(kBatchHeaderSize);
  store_big_endian(batch.data() + batch_field::kMagic, kBatchMagic);
  if (compress_first) {
    const auto codec = static_cast<Compression>(std::to_integer<int>(batch[batch_field::kAttributes + 1]) & 7);
    if (const auto packed = compress(codec, batch_records(batch))) {
      batch.resize(kBatchHeaderSize);
      append_bytes(batch, *packed);
    }
  }
  seal_batch(batch);
  return batch;
}

void check_accepted(BytesView batch, const ValidatedBatch& validated) {
  Decompressor decompressor;
  auto reader = open_records(validated.header, batch, decompressor, kLimit);
  NARU_ASSERT(reader.has_value(), "accepted, but: {}", reader.error().to_string());
  RecordView record;
  int32_t count = 0;
  for (; reader->next(record); ++count) {
    NARU_ASSERT(record.offset_delta == count, "offset delta {} of record {}", record.offset_delta, count);
    RecordHeaders headers = record.headers();
    while (headers.next()) {
    }
  }
  NARU_ASSERT(reader->status().ok(), "accepted, but: {}", reader->status().to_string());
  NARU_ASSERT(count == validated.header.records_count, "{} records", count);
}

// What a topic with a codec of its own does with a batch that is valid: the records stay the same.
void check_recompression(BytesView batch, const ProduceRules& rules, Compression codec) {
  UseOfRecords use = [&](BytesView records) {
    const auto recompressed = recompress_batch(batch, records, {codec});
    NARU_ASSERT(recompressed.has_value(), "{}", recompressed.error().to_string());
    const BatchHeader header = parse_batch_header(*recompressed).value();
    NARU_ASSERT(batch_crc_matches(*recompressed) && header.compression() == codec, "not sealed");
    const auto unpacked = decompress(codec, batch_records(*recompressed), kLimit);
    NARU_ASSERT(unpacked.has_value() && equal_bytes(*unpacked, records), "other records");
    NARU_ASSERT(recompressed->size() <= kBatchHeaderSize + compression_memory({codec}, records.size()), "too large");
    return Status();
  };
  if (const auto validated = validate_produced_batch(batch, rules, 0, nullptr, &use)) check_accepted(batch, *validated);
}

}  // namespace
}  // namespace naru

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace naru;
  if (size == 0) return 0;
  const unsigned choice = data[0];
  const BytesView input{reinterpret_cast<const std::byte*>(data) + 1, size - 1};
  const ProduceRules rules{
      .timestamp_type = (choice & 1) != 0 ? TimestampType::log_append_time : TimestampType::create_time,
      .timestamp_after_max_ms = std::numeric_limits<int64_t>::max(),
      .key_required = (choice & 2) != 0,
      .max_decompressed_bytes = kLimit,
  };
  [[maybe_unused]] const auto unsealed = validate_produced_batch(input, rules, 0);
  const Bytes batch = make_batch(input, (choice & 4) != 0);
  check_recompression(batch, rules, static_cast<Compression>((choice >> 3) % 5));
  return 0;
}
