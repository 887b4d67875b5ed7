#include "replication/replicated_batches.h"

#include "foundation/assert.h"

// Whatever a leader sends: no crash, and what is taken continues the log without a gap.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const naru::BytesView view(reinterpret_cast<const std::byte*>(data), size);
  const naru::SharedBytes bytes(naru::Bytes(view.begin(), view.end()));
  const auto batches = naru::check_replicated_batches(bytes, naru::Offset(3), naru::LeaderEpoch(7));
  if (!batches) return 0;
  naru::Offset expected(3);
  for (const naru::ReplicatedBatch& batch : *batches) {
    NARU_ASSERT(batch.header.base_offset == expected, "a gap before {}", batch.header.base_offset);
    expected = batch.header.next_offset();
  }
  return 0;
}
