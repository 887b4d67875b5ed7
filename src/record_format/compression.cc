#include "record_format/compression.h"

#include <lz4frame.h>
#include <snappy-c.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <limits>

#include "foundation/assert.h"
#include "foundation/byte_writer.h"
#include "record_format/decompressor.h"
#include "record_format/snappy_framing.h"

namespace naru {
namespace {

constexpr int kLz4FastLevel = 9;  // as it is called in Kafka

// Room for what a library writes behind what is there; the rest of it is taken back afterwards.
std::byte* add_room(Bytes& output, size_t bytes) {
  const size_t begin = output.size();
  output.resize(begin + bytes);
  return output.data() + begin;
}

// With valid arguments and a destination of the size that the library asked for, compression cannot fail.
void append_gzip(std::optional<int> level, BytesView input, Bytes& output) {
  constexpr int kGzipWrapper = 16;
  z_stream stream{};
  const int started = deflateInit2(&stream, level.value_or(Z_DEFAULT_COMPRESSION), Z_DEFLATED, MAX_WBITS + kGzipWrapper,
                                   MAX_MEM_LEVEL, Z_DEFAULT_STRATEGY);
  NARU_ASSERT(started == Z_OK, "deflateInit2 returned {} for level {}", started, level.value_or(-1));
  const size_t begin = output.size();
  const size_t room = deflateBound(&stream, input.size());
  // zlib reads through a pointer to non-const.
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(input.data()));
  stream.avail_in = static_cast<uInt>(input.size());
  stream.next_out = reinterpret_cast<Bytef*>(add_room(output, room));
  stream.avail_out = static_cast<uInt>(room);
  const int ended = deflate(&stream, Z_FINISH);
  NARU_ASSERT(ended == Z_STREAM_END, "deflate returned {}", ended);
  output.resize(begin + stream.total_out);
  deflateEnd(&stream);
}

void append_snappy(BytesView input, Bytes& output) {
  const size_t blocks = input.size() / snappy_framing::kBlockSize + 1;
  output.reserve(output.size() + snappy_framing::kStreamHeaderSize + snappy_max_compressed_length(input.size()) +
                 blocks * (sizeof(int32_t) + snappy_max_compressed_length(0)));
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
}

LZ4F_preferences_t lz4_preferences(std::optional<int> level) {
  LZ4F_preferences_t preferences = LZ4F_INIT_PREFERENCES;
  preferences.frameInfo.blockMode = LZ4F_blockIndependent;  // Java clients read nothing else
  preferences.compressionLevel = level.value_or(kLz4FastLevel) == kLz4FastLevel ? 0 : *level;
  return preferences;
}

void append_lz4(std::optional<int> level, BytesView input, Bytes& output) {
  const LZ4F_preferences_t preferences = lz4_preferences(level);
  const size_t begin = output.size();
  const size_t room = LZ4F_compressFrameBound(input.size(), &preferences);
  const size_t size = LZ4F_compressFrame(add_room(output, room), room, input.data(), input.size(), &preferences);
  NARU_ASSERT(!LZ4F_isError(size), "LZ4F_compressFrame: {}", LZ4F_getErrorName(size));
  output.resize(begin + size);
}

void append_zstd(std::optional<int> level, BytesView input, Bytes& output) {
  const size_t begin = output.size();
  const size_t room = ZSTD_compressBound(input.size());
  const size_t size =
      ZSTD_compress(add_room(output, room), room, input.data(), input.size(), level.value_or(ZSTD_CLEVEL_DEFAULT));
  NARU_ASSERT(!ZSTD_isError(size), "ZSTD_compress: {}", ZSTD_getErrorName(size));
  output.resize(begin + size);
}

// Of the compressor alone. zstd's tables grow with the input up to what the level asks for.
uint64_t zstd_memory(int level, size_t input_size) {
  constexpr uint64_t kMiB = 1 << 20;
  struct Most {
    int up_to_level;
    uint64_t bytes;
  };
  constexpr std::array<Most, 8> kMost{{{4, 3 * kMiB},
                                       {9, 16 * kMiB},
                                       {18, 72 * kMiB},
                                       {19, 96 * kMiB},
                                       {20, 192 * kMiB},
                                       {21, 384 * kMiB},
                                       {22, 704 * kMiB},
                                       {std::numeric_limits<int>::max(), 704 * kMiB}}};
  const auto most = std::ranges::find_if(kMost, [level](const Most& one) { return level <= one.up_to_level; });
  return std::min(most->bytes, kMiB + 32 * uint64_t{input_size});
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

Status append_compressed(CompressionChoice choice, BytesView input, Bytes& output) {
  if (input.size() > static_cast<size_t>(std::numeric_limits<int32_t>::max()))
    return error(ErrorCode::invalid_argument, "{} bytes are too many to compress in one go", input.size());
  switch (choice.codec) {
    case Compression::none:
      append_bytes(output, input);
      return Status();
    case Compression::gzip:
      append_gzip(choice.level, input, output);
      return Status();
    case Compression::snappy:
      append_snappy(input, output);
      return Status();
    case Compression::lz4:
      append_lz4(choice.level, input, output);
      return Status();
    case Compression::zstd:
      append_zstd(choice.level, input, output);
      return Status();
  }
  return error(ErrorCode::unsupported_compression_type, "compression codec {} is unknown",
               static_cast<int>(choice.codec));
}

Result<Bytes> compress(CompressionChoice choice, BytesView input) {
  Bytes output;
  NARU_TRY(append_compressed(choice, input, output));
  return output;
}

uint64_t compression_memory(CompressionChoice choice, size_t input_size) {
  constexpr uint64_t kSmallTables = 768 * 1024;
  // No codec makes more of its input than this, even if it cannot compress it at all.
  const uint64_t output = input_size + input_size / 5 + 1024;
  switch (choice.codec) {
    case Compression::none:
      return output;
    case Compression::zstd:
      return output + zstd_memory(choice.level.value_or(ZSTD_CLEVEL_DEFAULT), input_size);
    default:
      return output + kSmallTables;
  }
}

Result<Bytes> decompress(Compression codec, BytesView input, size_t limit) {
  Decompressor decompressor;
  NARU_TRY_ASSIGN(const BytesView output, decompressor.decompress(codec, input, limit));
  return Bytes(output.begin(), output.end());
}

}  // namespace naru
