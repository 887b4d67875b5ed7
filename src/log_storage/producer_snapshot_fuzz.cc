// Decodes anything as a snapshot of producer state. What decodes must encode to the same bytes.
#include <cstdint>

#include "foundation/assert.h"
#include "foundation/crc32c.h"
#include "foundation/endian.h"
#include "log_storage/producer_snapshot.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace naru;
  if (size < 4) return 0;
  const auto* first = reinterpret_cast<const std::byte*>(data);
  Bytes bytes(first, first + size);
  // The right CRC, because no fuzzer guesses one; every other input keeps its own.
  if (data[0] % 2 == 0) store_big_endian(bytes.data() + size - 4, crc32c(BytesView(bytes).first(size - 4)));
  const Offset offset(size >= 24 ? load_big_endian<int64_t>(bytes.data() + 16) : 0);
  const auto state = decode_producer_snapshot(bytes, offset, {}, 0);
  if (state && state->evicted() == 0) {
    // Not the same bytes: the version may be older, and the order of what makes none in the state another one.
    const auto again = decode_producer_snapshot(encode_producer_snapshot(*state, offset, 0), offset, {}, 0);
    NARU_ASSERT(again.has_value() && *again == *state, "a snapshot of {} bytes changed", size);
    NARU_ASSERT(again->complete_from() == state->complete_from(), "a snapshot of {} bytes changed", size);
    NARU_ASSERT(again->ended().entries() == state->ended().entries(), "a snapshot of {} bytes changed", size);
  }
  return 0;
}
