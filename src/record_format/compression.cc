#include "record_format/compression.h"

#include <lz4frame.h>
#include <snappy-c.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <limits>

#include "foundation/assert.h"
#include "foundation/byte_writer.h"
#include "record_format/decompressor.h"
#include "record_format/snappy_framing.h"

namespace naru {
namespace {

// With valid arguments and a destination of the size that the library asked for, compression cannot fail.
Bytes compress_gzip(BytesView input) {
  constexpr int kGzipWrapper = 16;
  z_stream stream{};
  const int started = deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + kGzipWrapper, MAX_MEM_LEVEL,
                                   Z_DEFAULT_STRATEGY);
  NARU_ASSERT(started == Z_OK, "deflateInit2 returned {}", started);
  Bytes output(deflateBound(&stream, input.size()));
  // zlib reads through a pointer to non-const.
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(input.data()));
  stream.avail_in = static_cast<uInt>(input.size());
  stream.next_out = reinterpret_cast<Bytef*>(output.data());
  stream.avail_out = static_cast<uInt>(output.size());
  const int ended = deflate(&stream, Z_FINISH);
  NARU_ASSERT(ended == Z_STREAM_END, "deflate returned {}", ended);
  output.resize(stream.total_out);
  deflateEnd(&stream);
  return output;
}

Bytes compress_snappy(BytesView input) {
  Bytes output;
  ByteWriter writer(output);
  writer.write_bytes(snappy_framing::kMagic);
  writer.write_int<int32_t>(1);  // version
  writer.write_int<int32_t>(1);  // oldest version that can read it
  while (!input.empty()) {
    const BytesView block = input.first(std::min(input.size(), snappy_framing::kBlockSize));
    input = input.subspan(block.size());
    const size_t length_position = output.size();
    writer.write_int<int32_t>(0);
    const size_t block_position = output.size();
    size_t length = snappy_max_compressed_length(block.size());
    output.resize(block_position + length);
    const snappy_status status = snappy_compress(as_text(block).data(), block.size(),
                                                 reinterpret_cast<char*>(output.data() + block_position), &length);
    NARU_ASSERT(status == SNAPPY_OK, "snappy_compress returned {}", static_cast<int>(status));
    output.resize(block_position + length);
    writer.patch_int(length_position, static_cast<int32_t>(length));
  }
  return output;
}

Bytes compress_lz4(BytesView input) {
  LZ4F_preferences_t preferences = LZ4F_INIT_PREFERENCES;
  preferences.frameInfo.blockMode = LZ4F_blockIndependent;  // Java clients read nothing else
  Bytes output(LZ4F_compressFrameBound(input.size(), &preferences));
  const size_t size = LZ4F_compressFrame(output.data(), output.size(), input.data(), input.size(), &preferences);
  NARU_ASSERT(!LZ4F_isError(size), "LZ4F_compressFrame: {}", LZ4F_getErrorName(size));
  output.resize(size);
  return output;
}

Bytes compress_zstd(BytesView input) {
  Bytes output(ZSTD_compressBound(input.size()));
  const size_t size = ZSTD_compress(output.data(), output.size(), input.data(), input.size(), ZSTD_CLEVEL_DEFAULT);
  NARU_ASSERT(!ZSTD_isError(size), "ZSTD_compress: {}", ZSTD_getErrorName(size));
  output.resize(size);
  return output;
}

}  // namespace

std::string_view compression_name(Compression codec) {
  switch (codec) {
    case Compression::none:
      return "none";
    case Compression::gzip:
      return "gzip";
    case Compression::snappy:
      return "snappy";
    case Compression::lz4:
      return "lz4";
    case Compression::zstd:
      return "zstd";
  }
  return "unknown";
}

Result<Bytes> compress(Compression codec, BytesView input) {
  if (input.size() > static_cast<size_t>(std::numeric_limits<int32_t>::max()))
    return failure(ErrorCode::invalid_argument, "{} bytes are too many to compress in one go", input.size());
  switch (codec) {
    case Compression::none:
      return Bytes(input.begin(), input.end());
    case Compression::gzip:
      return compress_gzip(input);
    case Compression::snappy:
      return compress_snappy(input);
    case Compression::lz4:
      return compress_lz4(input);
    case Compression::zstd:
      return compress_zstd(input);
  }
  return failure(ErrorCode::unsupported_compression_type, "compression codec {} is unknown", static_cast<int>(codec));
}

Result<Bytes> decompress(Compression codec, BytesView input, size_t limit) {
  Decompressor decompressor;
  NARU_TRY_ASSIGN(const BytesView output, decompressor.decompress(codec, input, limit));
  return Bytes(output.begin(), output.end());
}

}  // namespace naru
