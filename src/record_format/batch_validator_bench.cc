// What validation costs per batch of 1,000 records of 100 bytes, by codec.
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

// The part of the above that nobody can avoid.
void crc_alone(benchmark::State& state) {
  const Bytes batch = thousand_records(Compression::none);
  for (auto _ : state) benchmark::DoNotOptimize(batch_crc_matches(batch));
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(batch.size()));
}
BENCHMARK(crc_alone);

}  // namespace
}  // namespace naru
