#include "network/frame_reader.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "foundation/assert.h"
#include "foundation/endian.h"

namespace naru {
namespace {
constexpr size_t kSizeField = sizeof(int32_t);
}

MutableBytesView FrameReader::space() {
  if (!block_) {
    block_ = std::make_shared<Block>(kBlockSize);
    begin_ = end_ = 0;
  }
  if (const auto pending = pending_frame_bytes()) {
    make_room_for(kSizeField + *pending);
  } else if (end_ == block_->capacity) {
    make_room_for(kSizeField);
  }
  return {block_->bytes.get() + end_, block_->capacity - end_};
}

void FrameReader::received(size_t bytes) {
  NARU_ASSERT(block_ && end_ + bytes <= block_->capacity, "received {} bytes into less space", bytes);
  end_ += bytes;
}

FrameReader::Next FrameReader::next() {
  if (unread() < kSizeField) {
    if (unread() == 0) block_.reset();
    return {};
  }
  const auto size = load_big_endian<int32_t>(block_->bytes.get() + begin_);
  if (size < 0 || static_cast<size_t>(size) > max_frame_bytes_) {
    return {.error =
                error(ErrorCode::malformed_request, "a frame of {} bytes; the limit is {}", size, max_frame_bytes_)};
  }
  const size_t total = kSizeField + static_cast<size_t>(size);
  if (unread() < total) return {};
  SharedBytes frame(block_, {block_->bytes.get() + begin_ + kSizeField, static_cast<size_t>(size)});
  begin_ += total;
  return {.frame = std::move(frame)};
}

std::optional<size_t> FrameReader::pending_frame_bytes() const {
  if (unread() < kSizeField) return std::nullopt;
  return static_cast<size_t>(load_big_endian<int32_t>(block_->bytes.get() + begin_));
}

// Frames given out share the old block, so what is unread moves to a new one instead of to the front.
void FrameReader::make_room_for(size_t frame_total) {
  if (begin_ + frame_total <= block_->capacity && end_ < block_->capacity) return;
  auto larger = std::make_shared<Block>(std::max(kBlockSize, frame_total));
  const size_t moved = unread();
  std::memcpy(larger->bytes.get(), block_->bytes.get() + begin_, moved);
  block_ = std::move(larger);
  begin_ = 0;
  end_ = moved;
}

}  // namespace naru
