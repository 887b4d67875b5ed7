// The four codecs of record batches. Compressed bytes come from strangers: what comes out is bounded by the caller's
// limit and never by what the input claims about itself.
#pragma once

#include <cstddef>
#include <string_view>

#include "foundation/bytes.h"
#include "foundation/status.h"
#include "record_format/record_batch.h"

namespace naru {

std::string_view compression_name(Compression codec);

// Each codec at its default level, in the form that every client can read (Java's is the pickiest).
// invalid_argument when the input has 2 GiB or more.
Result<Bytes> compress(Compression codec, BytesView input);

// invalid_record: the input is not what the codec writes, or what Java clients could not read.
// message_too_large: more than `limit` bytes would come out.
// Allocates; the hot paths use a Decompressor.
Result<Bytes> decompress(Compression codec, BytesView input, size_t limit);

}  // namespace naru
