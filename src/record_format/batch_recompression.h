// A batch in another codec: for topics whose compression.type is not "producer".
#pragma once

#include "foundation/bytes.h"
#include "foundation/status.h"
#include "record_format/compression.h"

namespace naru {

// `records` are those of the batch, decompressed. All they say stays as it is, to the byte, and so does the header: its
// offsets, timestamps, producer and attributes besides the codec. Length and CRC are made anew.
// message_too_large when the result is more than a batch can be.
Result<Bytes> recompress_batch(BytesView whole_batch, BytesView records, CompressionChoice choice);

}  // namespace naru
