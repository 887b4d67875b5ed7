// The four codecs of record batches. Compressed bytes come from strangers: what comes out is bounded by the caller's
// limit and never by what the input claims about itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "foundation/bytes.h"
#include "foundation/status.h"
#include "record_format/record_batch.h"

namespace naru {

std::string_view compression_name(Compression codec);

// A codec and its level: gzip 1 to 9, lz4 1 to 17, zstd -131072 to 22; the others have none. Without a level, the
// codec's own default. As in Kafka, lz4 has a fast compressor, which is level 9 there, and a thorough one at all other
// levels; this library's is fast below 3, and does not become more thorough above 12.
struct CompressionChoice {
  Compression codec = Compression::none;
  std::optional<int> level = std::nullopt;
  bool operator==(const CompressionChoice&) const = default;
};

// In the form that every client can read (Java's is the pickiest).
// invalid_argument when the input has 2 GiB or more.
Result<Bytes> compress(CompressionChoice choice, BytesView input);
inline Result<Bytes> compress(Compression codec, BytesView input) {
  return compress(CompressionChoice{codec}, input);
}
// Likewise, behind what is there already.
Status append_compressed(CompressionChoice choice, BytesView input, Bytes& output);

// The most bytes that compressing so many takes, with the output: for whoever has to reserve them.
uint64_t compression_memory(CompressionChoice choice, size_t input_size);

// invalid_record: the input is not what the codec writes, or what Java clients could not read.
// message_too_large: more than `limit` bytes would come out.
// Allocates; the hot paths use a Decompressor.
Result<Bytes> decompress(Compression codec, BytesView input, size_t limit);

}  // namespace naru
