#include "network/frame_reader.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "foundation/assert.h"

namespace naru {
namespace {

// A beginning that is longer stays in its block: copying it back and forth would cost more than the memory.
constexpr size_t kLeftoverMax = 4 * 1024;

SharedBytes copy_of(BytesView content) {
  const auto owned = std::make_shared_for_overwrite<std::byte[]>(content.size());
  std::memcpy(owned.get(), content.data(), content.size());
  return {owned, BytesView(owned.get(), content.size())};
}

}  // namespace

std::shared_ptr<FrameReader::Block>& FrameReader::spare_of_this_thread() {
  thread_local std::shared_ptr<Block> spare;
  return spare;
}

void FrameReader::borrow_block() {
  block_ = std::exchange(spare_of_this_thread(), nullptr);
  if (!block_) block_ = std::make_shared<Block>(kBlockSize);
  lent_ = false;
  begin_ = 0;
  end_ = leftover_.size();
  std::ranges::copy(leftover_, block_->bytes.get());
  leftover_ = Bytes();
}

void FrameReader::return_block() {
  if (!lent_ && block_->capacity == kBlockSize) spare_of_this_thread() = std::move(block_);
  block_.reset();
}

MutableBytesView FrameReader::space() {
  if (!block_) borrow_block();
  if (pending_) {
    make_room_for(pending_->total());
  } else if (end_ == block_->capacity) {
    make_room_for(std::max(kBlockSize, 2 * unread()));
  }
  return {block_->bytes.get() + end_, block_->capacity - end_};
}

void FrameReader::received(size_t bytes) {
  NARU_ASSERT(block_ && end_ + bytes <= block_->capacity, "received {} bytes into less space", bytes);
  end_ += bytes;
}

FrameReader::Next FrameReader::too_large(size_t bytes) const {
  return {.error =
              error(ErrorCode::malformed_request, "a frame of {} bytes; the limit is {}", bytes, max_frame_bytes_)};
}

FrameReader::Next FrameReader::next() {
  if (unread() == 0) return {};
  auto found = framing_->find({first(), unread()});
  if (!found) return {.error = std::move(found).error()};
  pending_ = *found;
  if (!pending_) return unread() > max_frame_bytes_ ? too_large(unread()) : Next();
  if (pending_->content > max_frame_bytes_) return too_large(pending_->content);
  if (unread() < pending_->total()) return {};
  if (!block_) borrow_block();
  const BytesView content(first() + pending_->before, pending_->content);
  begin_ += pending_->total();
  pending_.reset();
  if (content.size() <= kCopiedFrameMax) return {.frame = copy_of(content)};
  lent_ = true;
  return {.frame = SharedBytes(block_, content)};
}

void FrameReader::rest() {
  if (!block_ || unread() > kLeftoverMax) return;
  leftover_.assign(first(), first() + unread());
  return_block();
}

std::optional<size_t> FrameReader::pending_frame_bytes() const {
  if (pending_) return pending_->total();
  if (block_ && unread() > kBlockSize) return block_->capacity;
  return std::nullopt;
}

size_t FrameReader::memory_of(size_t frame_bytes) {
  return frame_bytes <= kCopiedFrameMax ? frame_bytes : std::max(frame_bytes, kBlockSize);
}

// Frames given out share the old block, so what is unread moves to a new one instead of to the front.
void FrameReader::make_room_for(size_t frame_total) {
  if (begin_ + frame_total <= block_->capacity && end_ < block_->capacity) return;
  if (!lent_ && frame_total <= block_->capacity) {
    std::memmove(block_->bytes.get(), first(), unread());
  } else {
    auto larger = std::make_shared<Block>(std::max(kBlockSize, frame_total));
    std::memcpy(larger->bytes.get(), first(), unread());
    larger.swap(block_);
    if (!lent_ && larger->capacity == kBlockSize) spare_of_this_thread() = std::move(larger);
    lent_ = false;
  }
  end_ = unread();
  begin_ = 0;
}

}  // namespace naru
