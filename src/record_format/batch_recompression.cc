#include "record_format/batch_recompression.h"

#include "foundation/assert.h"
#include "foundation/endian.h"
#include "record_format/record_batch.h"
#include "record_format/record_writer.h"

namespace naru {

Result<Bytes> recompress_batch(BytesView whole_batch, BytesView records, CompressionChoice choice) {
  NARU_ASSERT(whole_batch.size() >= kBatchHeaderSize, "{} bytes are not a whole batch", whole_batch.size());
  Bytes batch;
  append_bytes(batch, whole_batch.first(kBatchHeaderSize));
  std::byte* const attributes_field = batch.data() + batch_field::kAttributes;
  const auto attributes = load_big_endian<int16_t>(attributes_field);
  store_big_endian(attributes_field, static_cast<int16_t>((attributes & ~batch_attribute::kCompressionMask) |
                                                          static_cast<int16_t>(choice.codec)));
  NARU_TRY(append_compressed(choice, records, batch));
  if (batch.size() > kMaxBatchSize) {
    return failure(ErrorCode::message_too_large, "the batch would have {} bytes in {}", batch.size(),
                   compression_name(choice.codec));
  }
  seal_batch(batch);
  return batch;
}

}  // namespace naru
