// What the tests, fuzzers and benchmarks of this folder share: fixed batches and ways to spoil them.
#pragma once

#include <cstdint>
#include <string_view>

#include "foundation/assert.h"
#include "foundation/byte_writer.h"
#include "foundation/bytes.h"
#include "record_format/batch_builder.h"
#include "record_format/record_batch.h"

namespace naru::test_batches {

inline constexpr Compression kAllCodecs[] = {Compression::none, Compression::gzip, Compression::snappy,
                                             Compression::lz4, Compression::zstd};

// Some moment, and the timestamp of most records here.
inline constexpr WallTimeMs kNow = 1'700'000'000'000;

// Hexadecimal digits, with spaces wherever they help to read.
inline Bytes from_hex(std::string_view text) {
  Bytes bytes;
  int high = -1;
  for (const char c : text) {
    if (c == ' ' || c == '\n') continue;
    const int digit = c <= '9' ? c - '0' : c - 'a' + 10;
    if (high >= 0) bytes.push_back(static_cast<std::byte>(high << 4 | digit));
    high = high >= 0 ? -1 : digit;
  }
  NARU_ASSERT(high == -1, "odd number of digits");
  return bytes;
}

// Two records: k=v; and 5 ms later no key, "hi", with the header h=null.
inline Bytes two_records_fixture() {
  return from_hex(
      "0000000000000000 00000046 00000000 02 3291c928 0000 00000001 0000018bcfe56800 0000018bcfe56805"
      "ffffffffffffffff ffff ffffffff 00000002"
      "10 00 00 00 02 6b 02 76 00"
      "16 00 0a 02 01 04 6869 02 02 68 01");
}

// The marker of a committed transaction.
inline Bytes commit_marker_fixture() {
  return from_hex(
      "000000000000002a 00000042 00000005 02 ce4cf28e 0030 00000000 0000018bcfe56800 0000018bcfe56800"
      "0000000000000fa0 0003 ffffffff 00000001"
      "20 00 00 00 08 00000001 0c 000000000007 00");
}

inline Bytes build(const BatchBuilder& builder) {
  Result<Bytes> batch = builder.build();
  NARU_ASSERT(batch.has_value(), "{}", batch.error().to_string());
  return std::move(*batch);
}

// `count` records, one millisecond apart, each with a key and a value of `value_size` bytes.
inline Bytes make_batch(int count, size_t value_size, BatchOptions options = {}) {
  BatchBuilder builder(options);
  const std::string value(value_size, 'v');
  for (int i = 0; i < count; ++i) builder.add(kNow + i, fmt::format("key-{}", i), value);
  return build(builder);
}

template <class T>
void set_field(Bytes& batch, size_t position, T value) {
  store_big_endian(batch.data() + position, value);
}

// The same batch with other bytes for records (compressed, if its attributes say so), sealed.
inline Bytes with_records(BytesView batch, BytesView records, int32_t count) {
  Bytes changed(batch.begin(), batch.begin() + kBatchHeaderSize);
  set_field(changed, batch_field::kRecordsCount, count);
  set_field(changed, batch_field::kLastOffsetDelta, count - 1);
  append_bytes(changed, records);
  seal_batch(changed);
  return changed;
}

}  // namespace naru::test_batches
