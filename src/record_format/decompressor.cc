#include "record_format/decompressor.h"

#include <lz4frame.h>
#include <snappy-c.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <string_view>

#include "foundation/assert.h"
#include "foundation/byte_reader.h"
#include "foundation/endian.h"
#include "record_format/compression.h"
#include "record_format/snappy_framing.h"

namespace naru {
namespace {

constexpr size_t kFirstCapacity = 64uz * 1024;
constexpr size_t kKeptCapacity = 1024uz * 1024;
constexpr size_t kMaxInput = std::numeric_limits<int32_t>::max();

std::unexpected<Status> malformed(Compression codec, std::string_view reason) {
  return failure(ErrorCode::invalid_record, "the batch's {} data is malformed: {}", compression_name(codec), reason);
}

std::unexpected<Status> too_large(Compression codec, size_t limit) {
  return failure(ErrorCode::message_too_large, "the batch's {} data expands to more than {} bytes",
                 compression_name(codec), limit);
}

// Uninitialised memory that grows while it is filled.
class Output {
 public:
  void clear() { size_ = 0; }
  BytesView view() const { return {memory_.get(), size_}; }
  size_t size() const { return size_; }
  std::byte* free_begin() { return memory_.get() + size_; }
  size_t free_size() const { return capacity_ - size_; }
  size_t capacity() const { return capacity_; }
  void advance(size_t written) { size_ += written; }

  void reserve(size_t capacity) {
    if (capacity <= capacity_) return;
    auto memory = std::make_unique_for_overwrite<std::byte[]>(capacity);
    if (size_ != 0) std::memcpy(memory.get(), memory_.get(), size_);
    memory_ = std::move(memory);
    capacity_ = capacity;
  }
  void trim() {
    if (capacity_ > kKeptCapacity) *this = Output{};
  }

 private:
  std::unique_ptr<std::byte[]> memory_;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

// Room for at least one more byte, and for one byte more than the limit at most: who fills that one has gone too far.
void make_room(Output& output, size_t limit) {
  if (output.free_size() > 0) return;
  output.reserve(std::min(limit + 1, std::max(kFirstCapacity, output.capacity() * 2)));
}

// Frames with a window of more than 128 MiB cannot be read by Java clients, nor by most others in their default
// settings. Byte 4 says whether there is a window descriptor, byte 5 is it: exponent and eighths of that power of two.
bool zstd_window_too_large(BytesView input) {
  constexpr auto kSingleSegment = std::byte{0x20};
  constexpr uint64_t kMaxWindow = 1ULL << 27;
  constexpr uint32_t kDataFrame = 0x28b52ffd;
  if (input.size() < 6 || load_big_endian<uint32_t>(input.data()) != kDataFrame) return false;
  if ((input[4] & kSingleSegment) != std::byte{0}) return false;
  const auto descriptor = std::to_integer<uint64_t>(input[5]);
  const uint64_t base = 1ULL << (10 + (descriptor >> 3));
  return base + base / 8 * (descriptor & 7) > kMaxWindow;
}

}  // namespace

class Decompressor::State {
 public:
  State() = default;
  ~State();
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  Result<BytesView> decompress(Compression codec, BytesView input, size_t limit);
  void trim() { output_.trim(); }

 private:
  Result<BytesView> decompress_gzip(BytesView input, size_t limit);
  Result<BytesView> decompress_snappy(BytesView input, size_t limit);
  Result<BytesView> decompress_lz4(BytesView input, size_t limit);
  Result<BytesView> decompress_zstd(BytesView input, size_t limit);
  void start_gzip();
  void start_lz4();
  Status append_snappy_block(BytesView block, size_t limit);

  Output output_;
  z_stream gzip_{};
  bool gzip_ready_ = false;
  LZ4F_dctx* lz4_ = nullptr;
  ZSTD_DCtx* zstd_ = nullptr;
};

Decompressor::State::~State() {
  if (gzip_ready_) inflateEnd(&gzip_);
  LZ4F_freeDecompressionContext(lz4_);
  ZSTD_freeDCtx(zstd_);
}

void Decompressor::State::start_gzip() {
  constexpr int kGzipWrapper = 16;
  const int started = gzip_ready_ ? inflateReset(&gzip_) : inflateInit2(&gzip_, MAX_WBITS + kGzipWrapper);
  NARU_ASSERT(started == Z_OK, "cannot start zlib: {}", started);
  gzip_ready_ = true;
}

// A gzip file may consist of several members, one after the other, and Java reads them all.
Result<BytesView> Decompressor::State::decompress_gzip(BytesView input, size_t limit) {
  start_gzip();
  // zlib reads through a pointer to non-const.
  gzip_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(input.data()));
  gzip_.avail_in = static_cast<uInt>(input.size());
  while (true) {
    make_room(output_, limit);
    const auto room = static_cast<uInt>(std::min<size_t>(output_.free_size(), std::numeric_limits<uInt>::max()));
    gzip_.next_out = reinterpret_cast<Bytef*>(output_.free_begin());
    gzip_.avail_out = room;
    const int result = inflate(&gzip_, Z_NO_FLUSH);
    output_.advance(room - gzip_.avail_out);
    if (output_.size() > limit) return too_large(Compression::gzip, limit);
    if (result == Z_STREAM_END) {
      if (gzip_.avail_in == 0) return output_.view();
      inflateReset(&gzip_);
    } else if (result != Z_OK) {
      return malformed(Compression::gzip, gzip_.msg != nullptr ? gzip_.msg : "it ends too early");
    }
  }
}

Status Decompressor::State::append_snappy_block(BytesView block, size_t limit) {
  size_t length = 0;
  const char* data = as_text(block).data();
  if (snappy_uncompressed_length(data, block.size(), &length) != SNAPPY_OK)
    return malformed(Compression::snappy, "block without a length").error();
  // A copy of 64 bytes takes 3: a block that claims to expand further is lying, and would make us allocate for it.
  constexpr size_t kMostExpansion = 22;
  if (length / kMostExpansion > block.size())
    return malformed(Compression::snappy, "block claims an impossible length").error();
  if (length > limit - output_.size()) return too_large(Compression::snappy, limit).error();
  if (length > output_.free_size())
    output_.reserve(std::max(output_.size() + length, std::min(limit, output_.capacity() * 2)));
  if (snappy_uncompress(data, block.size(), reinterpret_cast<char*>(output_.free_begin()), &length) != SNAPPY_OK)
    return malformed(Compression::snappy, "bad block").error();
  output_.advance(length);
  return {};
}

Result<BytesView> Decompressor::State::decompress_snappy(BytesView input, size_t limit) {
  output_.reserve(1);  // a block may be empty, and still needs a place to go to
  const bool framed = input.size() >= snappy_framing::kStreamHeaderSize &&
                      equal_bytes(input.first(snappy_framing::kMagic.size()), snappy_framing::kMagic);
  if (!framed) {
    NARU_TRY(append_snappy_block(input, limit));
    return output_.view();
  }
  ByteReader reader(input.subspan(snappy_framing::kStreamHeaderSize));
  while (!reader.at_end()) {
    // A negative length becomes one that reaches beyond the end.
    const BytesView block = reader.read_bytes(reader.read_int<uint32_t>());
    if (!reader.ok()) return malformed(Compression::snappy, reader.error());
    NARU_TRY(append_snappy_block(block, limit));
  }
  if (!reader.ok()) return malformed(Compression::snappy, reader.error());
  return output_.view();
}

void Decompressor::State::start_lz4() {
  if (lz4_ == nullptr) {
    const size_t created = LZ4F_createDecompressionContext(&lz4_, LZ4F_VERSION);
    NARU_ASSERT(!LZ4F_isError(created), "cannot create an lz4 context: {}", LZ4F_getErrorName(created));
  }
  LZ4F_resetDecompressionContext(lz4_);
}

// One frame of independent blocks, which is all that Java reads.
Result<BytesView> Decompressor::State::decompress_lz4(BytesView input, size_t limit) {
  start_lz4();
  LZ4F_frameInfo_t frame{};
  size_t consumed = input.size();
  size_t result = LZ4F_getFrameInfo(lz4_, &frame, input.data(), &consumed);
  if (LZ4F_isError(result)) return malformed(Compression::lz4, LZ4F_getErrorName(result));
  if (frame.frameType != LZ4F_frame) return malformed(Compression::lz4, "not a data frame");
  if (frame.blockMode != LZ4F_blockIndependent)
    return malformed(Compression::lz4, "linked blocks, which Java clients cannot read");
  input = input.subspan(consumed);
  while (result != 0) {
    make_room(output_, limit);
    size_t written = output_.free_size();
    consumed = input.size();
    result = LZ4F_decompress(lz4_, output_.free_begin(), &written, input.data(), &consumed, nullptr);
    if (LZ4F_isError(result)) return malformed(Compression::lz4, LZ4F_getErrorName(result));
    input = input.subspan(consumed);
    output_.advance(written);
    if (output_.size() > limit) return too_large(Compression::lz4, limit);
    if (result != 0 && consumed == 0 && written == 0) return malformed(Compression::lz4, "it ends too early");
  }
  if (!input.empty()) return malformed(Compression::lz4, "bytes behind the frame");
  return output_.view();
}

// In one piece, with the output as the window: streaming would allocate a window of the size that the input asks for.
// When the output turns out too small we begin again with a larger one; growing fourfold keeps the repeated work small.
Result<BytesView> Decompressor::State::decompress_zstd(BytesView input, size_t limit) {
  if (zstd_ == nullptr) zstd_ = ZSTD_createDCtx();
  NARU_ASSERT(zstd_ != nullptr, "cannot create a zstd context");
  if (zstd_window_too_large(input)) return malformed(Compression::zstd, "window larger than 128 MiB");
  output_.reserve(std::min(limit, std::max(kFirstCapacity, input.size() * 4)));
  while (true) {
    const size_t capacity = std::min(limit, output_.capacity());
    const size_t size = ZSTD_decompressDCtx(zstd_, output_.free_begin(), capacity, input.data(), input.size());
    if (!ZSTD_isError(size)) {
      output_.advance(size);
      return output_.view();
    }
    if (ZSTD_getErrorCode(size) != ZSTD_error_dstSize_tooSmall)
      return malformed(Compression::zstd, ZSTD_getErrorName(size));
    if (capacity == limit) return too_large(Compression::zstd, limit);
    output_.reserve(std::min(limit, capacity * 4));
  }
}

Result<BytesView> Decompressor::State::decompress(Compression codec, BytesView input, size_t limit) {
  output_.clear();
  switch (codec) {
    case Compression::none:
      if (input.size() > limit) return too_large(codec, limit);
      return input;
    case Compression::gzip:
      return decompress_gzip(input, limit);
    case Compression::snappy:
      return decompress_snappy(input, limit);
    case Compression::lz4:
      return decompress_lz4(input, limit);
    case Compression::zstd:
      return decompress_zstd(input, limit);
  }
  return failure(ErrorCode::unsupported_compression_type, "compression codec {} is unknown", static_cast<int>(codec));
}

Decompressor::Decompressor() : state_(std::make_unique<State>()) {}
Decompressor::~Decompressor() = default;

Decompressor& Decompressor::of_this_thread() {
  thread_local Decompressor decompressor;
  return decompressor;
}

void Decompressor::trim() {
  state_->trim();
}

Result<BytesView> Decompressor::decompress(Compression codec, BytesView input, size_t limit) {
  if (input.size() > kMaxInput) return malformed(codec, "more bytes than a batch can have");
  limit = std::min(limit, std::numeric_limits<size_t>::max() / 8);  // no overflow while we grow towards it
  Result<BytesView> result = state_->decompress(codec, input, limit);
  if (!result) trim();
  return result;
}

}  // namespace naru
