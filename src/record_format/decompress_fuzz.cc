// The first byte chooses the codec, the rest is its input. What comes out must fit the limit and survive a round trip.
#include <cstddef>
#include <cstdint>

#include "foundation/assert.h"
#include "record_format/compression.h"
#include "record_format/decompressor.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace naru;
  if (size == 0) return 0;
  constexpr size_t kLimit = 256 * 1024;
  const auto codec = static_cast<Compression>(data[0] % 5);
  const BytesView input{reinterpret_cast<const std::byte*>(data) + 1, size - 1};
  const auto output = Decompressor::of_this_thread().decompress(codec, input, kLimit);
  if (!output) return 0;
  NARU_ASSERT(output->size() <= kLimit, "{} bytes", output->size());
  const Result<Bytes> packed = compress(codec, *output);
  NARU_ASSERT(packed.has_value(), "{}", packed.error().to_string());
  const Result<Bytes> again = decompress(codec, *packed, kLimit);
  NARU_ASSERT(again.has_value() && equal_bytes(*again, *output), "the round trip changed {} bytes", output->size());
  return 0;
}
