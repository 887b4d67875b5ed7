#include "record_format/compression.h"

#include <gtest/gtest.h>
#include <lz4frame.h>
#include <snappy-c.h>
#include <sys/resource.h>

#include <random>
#include <string>

#include "foundation/byte_writer.h"
#include "foundation/sanitized_testing.h"
#include "record_format/decompressor.h"
#include "record_format/test_batches.h"

namespace naru {
namespace {

using namespace test_batches;

constexpr size_t kMiB = 1024 * 1024;

Bytes text_like(size_t size) {
  std::mt19937 random(7);
  Bytes bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>('a' + random() % 8);
  return bytes;
}

Bytes compressed(Compression codec, BytesView input) {
  Result<Bytes> output = compress(codec, input);
  EXPECT_TRUE(output) << output.error().to_string();
  return std::move(*output);
}

Bytes snappy_block(BytesView input) {
  Bytes output(snappy_max_compressed_length(input.size()));
  size_t size = output.size();
  EXPECT_EQ(snappy_compress(as_text(input).data(), input.size(), reinterpret_cast<char*>(output.data()), &size),
            SNAPPY_OK);
  output.resize(size);
  return output;
}

Bytes lz4_frame(BytesView input, LZ4F_preferences_t preferences) {
  Bytes output(LZ4F_compressFrameBound(input.size(), &preferences));
  output.resize(LZ4F_compressFrame(output.data(), output.size(), input.data(), input.size(), &preferences));
  return output;
}

TEST(Compression, RoundTripsEverySizeAndCodec) {
  Decompressor decompressor;
  for (const Compression codec : kAllCodecs) {
    for (const size_t size : {0uz, 1uz, 100uz, 32'767uz, 32'768uz, 32'769uz, 65'536uz, 70'000uz, kMiB, 3 * kMiB + 17}) {
      const Bytes input = text_like(size), packed = compressed(codec, input);
      const auto output = decompressor.decompress(codec, packed, size);
      ASSERT_TRUE(output) << compression_name(codec) << " " << size << ": " << output.error().to_string();
      EXPECT_TRUE(equal_bytes(*output, input)) << compression_name(codec) << " " << size;
      decompressor.trim();
    }
  }
}

TEST(Compression, StopsOneByteBeyondTheLimit) {
  for (const Compression codec : kAllCodecs) {
    for (const size_t size : {1uz, 100uz, 65'536uz, 65'537uz, 200'000uz}) {
      const Bytes input = text_like(size), packed = compressed(codec, input);
      EXPECT_TRUE(decompress(codec, packed, size)) << compression_name(codec) << " " << size;
      const auto output = decompress(codec, packed, size - 1);
      ASSERT_FALSE(output) << compression_name(codec) << " " << size;
      EXPECT_EQ(output.error().code(), ErrorCode::message_too_large) << output.error().to_string();
      EXPECT_NE(output.error().message().find(compression_name(codec)), std::string::npos);
    }
  }
}

TEST(Compression, RefusesEveryTruncation) {
  const Bytes input = text_like(1'000);
  for (const Compression codec : {Compression::gzip, Compression::lz4, Compression::zstd}) {
    const Bytes packed = compressed(codec, input);
    for (size_t size = 0; size < packed.size(); ++size) {
      const auto output = decompress(codec, BytesView(packed).first(size), kMiB);
      ASSERT_FALSE(output && !output->empty()) << compression_name(codec) << " cut to " << size;
    }
  }
  // Framed snappy has no end mark: a cut at a block's end is a shorter stream.
  const Bytes packed = compressed(Compression::snappy, input);
  for (size_t size = 17; size < packed.size(); ++size)
    EXPECT_EQ(decompress(Compression::snappy, BytesView(packed).first(size), kMiB).error().code(),
              ErrorCode::invalid_record);
}

TEST(Compression, RefusesBytesBehindTheEnd) {
  for (const Compression codec : {Compression::gzip, Compression::snappy, Compression::lz4, Compression::zstd}) {
    Bytes packed = compressed(codec, text_like(1'000));
    append_bytes(packed, as_bytes("junk"));
    EXPECT_EQ(decompress(codec, packed, kMiB).error().code(), ErrorCode::invalid_record) << compression_name(codec);
  }
}

TEST(Compression, RefusesNoiseAndOtherCodecsOutput) {
  for (const Compression codec : {Compression::gzip, Compression::lz4, Compression::zstd}) {
    EXPECT_EQ(decompress(codec, {}, kMiB).has_value(), codec == Compression::zstd) << "zstd: no frame, no content";
    EXPECT_FALSE(decompress(codec, as_bytes("not compressed at all, obviously"), kMiB));
    for (const Compression other : {Compression::gzip, Compression::snappy, Compression::lz4, Compression::zstd})
      if (other != codec) EXPECT_FALSE(decompress(codec, compressed(other, text_like(100)), kMiB));
  }
}

TEST(Compression, ADecompressorIsFineAfterAnError) {
  Decompressor decompressor;
  const Bytes input = text_like(100'000);
  for (const Compression codec : kAllCodecs) {
    const Bytes packed = compressed(codec, input);
    Bytes broken = packed;
    for (size_t i = packed.size() / 2; i < packed.size(); ++i) broken[i] = std::byte{0xff};
    if (codec != Compression::none) EXPECT_FALSE(decompressor.decompress(codec, broken, kMiB));
    EXPECT_FALSE(decompressor.decompress(codec, packed, 1'000));
    const auto output = decompressor.decompress(codec, packed, kMiB);
    ASSERT_TRUE(output) << output.error().to_string();
    EXPECT_TRUE(equal_bytes(*output, input));
  }
}

TEST(Gzip, ReadsSeveralMembersAsOne) {
  Bytes packed = compressed(Compression::gzip, as_bytes("hello "));
  append_bytes(packed, compressed(Compression::gzip, as_bytes("world")));
  EXPECT_EQ(as_text(*decompress(Compression::gzip, packed, 11)), "hello world");
  EXPECT_EQ(decompress(Compression::gzip, packed, 10).error().code(), ErrorCode::message_too_large);
}

TEST(Snappy, ReadsABareBlockToo) {
  const Bytes input = text_like(100'000);
  EXPECT_TRUE(equal_bytes(*decompress(Compression::snappy, snappy_block(input), kMiB), input));
  EXPECT_TRUE(decompress(Compression::snappy, snappy_block({}), kMiB)->empty());
}

TEST(Snappy, IgnoresTheVersionsInTheFraming) {
  Bytes packed = compressed(Compression::snappy, as_bytes("hello"));
  for (size_t i = 8; i < 16; ++i) packed[i] = std::byte{0xee};
  EXPECT_EQ(as_text(*decompress(Compression::snappy, packed, 5)), "hello");
}

TEST(Snappy, RefusesABlockLengthThatIsNegativeOrTooLong) {
  for (const int32_t length : {-1, INT32_MIN, INT32_MAX, 1'000}) {
    Bytes packed = compressed(Compression::snappy, as_bytes("hello"));
    store_big_endian(packed.data() + 16, length);
    EXPECT_EQ(decompress(Compression::snappy, packed, kMiB).error().code(), ErrorCode::invalid_record) << length;
  }
}

TEST(Lz4, ReadsFramesWithChecksumsSizesAndLargeBlocks) {
  const Bytes input = text_like(5 * kMiB);
  LZ4F_preferences_t preferences = LZ4F_INIT_PREFERENCES;
  preferences.frameInfo.blockMode = LZ4F_blockIndependent;
  preferences.frameInfo.blockSizeID = LZ4F_max4MB;
  preferences.frameInfo.contentChecksumFlag = LZ4F_contentChecksumEnabled;
  preferences.frameInfo.blockChecksumFlag = LZ4F_blockChecksumEnabled;
  preferences.frameInfo.contentSize = input.size();
  EXPECT_TRUE(equal_bytes(*decompress(Compression::lz4, lz4_frame(input, preferences), 5 * kMiB), input));
}

TEST(Lz4, RefusesWhatJavaClientsCannotRead) {
  LZ4F_preferences_t linked = LZ4F_INIT_PREFERENCES;
  linked.frameInfo.blockMode = LZ4F_blockLinked;
  linked.frameInfo.blockSizeID = LZ4F_max64KB;
  const auto output = decompress(Compression::lz4, lz4_frame(text_like(200'000), linked), kMiB);
  EXPECT_NE(output.error().message().find("linked blocks"), std::string::npos);

  Bytes two_frames = compressed(Compression::lz4, as_bytes("hello"));
  append_bytes(two_frames, compressed(Compression::lz4, as_bytes("world")));
  EXPECT_NE(decompress(Compression::lz4, two_frames, kMiB).error().message().find("behind the frame"),
            std::string::npos);
}

// Blocks of one repeated byte: 4 bytes for 128 KiB.
Bytes zstd_bomb(size_t blocks, uint8_t window_descriptor) {
  Bytes bytes = from_hex("28b52ffd 00");
  bytes.push_back(static_cast<std::byte>(window_descriptor));
  for (size_t i = 0; i < blocks; ++i) {
    const uint32_t header = (i + 1 == blocks ? 1u : 0u) | 1u << 1 | (128u * 1024u) << 3;
    for (const int shift : {0, 8, 16}) bytes.push_back(static_cast<std::byte>(header >> shift & 0xff));
    bytes.push_back(std::byte{0});
  }
  return bytes;
}

TEST(Zstd, RefusesWindowsLargerThan128MiB) {
  constexpr uint8_t k128MiB = 17 << 3, k144MiB = 17 << 3 | 1, k3968GiB = 0xff;
  EXPECT_TRUE(decompress(Compression::zstd, zstd_bomb(1, k128MiB), kMiB));
  for (const uint8_t window : {k144MiB, k3968GiB})
    EXPECT_NE(decompress(Compression::zstd, zstd_bomb(1, window), kMiB).error().message().find("window"),
              std::string::npos);
}

Bytes repeated(BytesView part, size_t times) {
  Bytes bytes;
  for (size_t i = 0; i < times; ++i) append_bytes(bytes, part);
  return bytes;
}

// As many equal members as fit into 1 MiB: 1 GiB.
Bytes gzip_bomb() {
  const Bytes member = compressed(Compression::gzip, Bytes(16 * kMiB));
  return repeated(member, kMiB / member.size());
}

// As many equal blocks of 4 MiB as fit into 1 MiB: 250 MiB.
Bytes lz4_bomb() {
  LZ4F_preferences_t preferences = LZ4F_INIT_PREFERENCES;
  preferences.frameInfo.blockMode = LZ4F_blockIndependent;
  preferences.frameInfo.blockSizeID = LZ4F_max4MB;
  const Bytes frame = lz4_frame(Bytes(4 * kMiB), preferences);
  constexpr size_t kHeader = 7, kEndMark = 4;
  const BytesView block = BytesView(frame).subspan(kHeader, frame.size() - kHeader - kEndMark);
  Bytes bytes(frame.begin(), frame.begin() + kHeader);
  append_bytes(bytes, repeated(block, kMiB / block.size()));
  append_bytes(bytes, BytesView(frame).last(kEndMark));
  return bytes;
}

Bytes snappy_bomb() {
  return compressed(Compression::snappy, Bytes(20 * kMiB));
}

size_t peak_memory() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<size_t>(usage.ru_maxrss) * 1024;
}

TEST(DecompressionBomb, EndsAtTheLimitInEachCodec) {
  const std::pair<Compression, Bytes> bombs[] = {
      {Compression::gzip, gzip_bomb()},
      {Compression::snappy, snappy_bomb()},
      {Compression::lz4, lz4_bomb()},
      {Compression::zstd, zstd_bomb(kMiB / 4, 17 << 3)},  // 32 GiB
  };
  const size_t before = peak_memory();
  for (const auto& [codec, bomb] : bombs) {
    EXPECT_LE(bomb.size(), kMiB + 6) << compression_name(codec);
    Decompressor decompressor;
    const auto output = decompressor.decompress(codec, bomb, 16 * kMiB);
    ASSERT_FALSE(output) << compression_name(codec);
    EXPECT_EQ(output.error().code(), ErrorCode::message_too_large) << output.error().to_string();
  }
  EXPECT_LE(peak_memory() - before, kSanitized ? 512 * kMiB : 64 * kMiB);
}

TEST(DecompressionBomb, ALieAboutTheSizeDoesNotAllocate) {
  constexpr size_t kHuge = size_t{1} << 40;
  const size_t before = peak_memory();
  // 4 GiB - 1 in five bytes of snappy, in a zstd frame and in an lz4 frame.
  EXPECT_EQ(decompress(Compression::snappy, from_hex("ffffffff0f 00 61"), kHuge).error().code(),
            ErrorCode::invalid_record);
  EXPECT_FALSE(decompress(Compression::zstd, from_hex("28b52ffd a0 ffffffff 09 00 00 61"), kHuge));
  EXPECT_FALSE(decompress(Compression::lz4, from_hex("04224d18 68 40 ffffffff00000000 00 00000000"), kHuge));
  EXPECT_LE(peak_memory() - before, 16 * kMiB);
}

}  // namespace
}  // namespace naru
