// What validation costs per batch: of 1,000 records of 100 bytes, by codec; and by compressed size.
#include <benchmark/benchmark.h>

#include "foundation/assert.h"
#include "foundation/crc32c.h"
#include "record_format/batch_validator.h"
#include "record_format/test_batches.h"

namespace naru {
namespace {

Bytes thousand_records(Compression codec) {
  return test_batches::make_batch(1'000, 100, {.compression = codec});
}

void validate(benchmark::State& state) {
  const Bytes batch = thousand_records(static_cast<Compression>(state.range(0)));
  size_t bytes = 0;
  for (auto _ : state) {
    const auto validated = validate_produced_batch(batch, {}, test_batches::kNow);
    NARU_ASSERT(validated.has_value(), "{}", validated.error().to_string());
    bytes += validated->uncompressed_size;
  }
  state.SetBytesProcessed(static_cast<int64_t>(bytes));
  state.SetItemsProcessed(state.iterations() * 1'000);
}
BENCHMARK(validate)->ArgName("codec")->DenseRange(0, 4);

// Records like JSON, which codecs make three to six times smaller; just so many of them that the batch has at least the
// size. This is the work that a broker does on a worker above some size.
Bytes batch_of_size(Compression codec, size_t compressed_size) {
  for (int count = 8;; count += count / 8) {
    BatchBuilder builder({.compression = codec});
    uint32_t number = 1;
    for (int i = 0; i < count; ++i) {
      number = number * 1'664'525 + 1'013'904'223;
      builder.add(test_batches::kNow + i, fmt::format("customer-{}", number >> 20),
                  fmt::format(R"({{"order":{},"item":"article {}","price":{},"currency":"EUR","paid":true}})", i,
                              number >> 22, number >> 16));
    }
    Bytes batch = test_batches::build(builder);
    if (batch.size() >= compressed_size) return batch;
  }
}

void validate_by_compressed_size(benchmark::State& state) {
  const Bytes batch = batch_of_size(static_cast<Compression>(state.range(0)), static_cast<size_t>(state.range(1)));
  size_t expanded = 0;
  for (auto _ : state) {
    const auto validated = validate_produced_batch(batch, {}, test_batches::kNow);
    NARU_ASSERT(validated.has_value(), "{}", validated.error().to_string());
    expanded = validated->uncompressed_size;
  }
  state.counters["bytes"] = static_cast<double>(batch.size());
  state.counters["expanded"] = static_cast<double>(expanded);
}
BENCHMARK(validate_by_compressed_size)
    ->ArgNames({"codec", "size"})
    ->ArgsProduct({{1, 2, 3, 4}, {4 << 10, 16 << 10, 64 << 10}});

// The part of the above that nobody can avoid.
void crc_alone(benchmark::State& state) {
  const Bytes batch = thousand_records(Compression::none);
  for (auto _ : state) benchmark::DoNotOptimize(batch_crc_matches(batch));
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(batch.size()));
}
BENCHMARK(crc_alone);

}  // namespace
}  // namespace naru
