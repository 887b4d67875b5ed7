// Cuts a byte stream into frames (int32 size + content) without copying what fits into one read. No I/O.
//
// Bytes are read into a block; frames are views of it that keep it alive. A frame that does not fit into the rest of
// the block moves, with what has arrived of it, into a block of its own size. A connection without a half-read frame
// holds no block at all, which is what makes ten thousand idle connections cheap.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "foundation/shared_bytes.h"
#include "foundation/status.h"

namespace naru {

class FrameReader {
 public:
  static constexpr size_t kBlockSize = 16 * 1024;

  explicit FrameReader(size_t max_frame_bytes) : max_frame_bytes_(max_frame_bytes) {}

  // Where the next bytes go; never empty. Call received() with how many came.
  MutableBytesView space();
  void received(size_t bytes);

  struct Next {
    std::optional<SharedBytes> frame;  // content without the size field
    Status error;                      // a size that is negative or too large: the stream cannot be understood any more
  };
  // The next whole frame, if there is one.
  Next next();

  // Whether a frame has begun and is not whole.
  bool in_the_middle() const { return block_ != nullptr && unread() > 0; }

  // The size of the frame that has begun but is not whole, as far as it is known: what to pay for before reading on.
  std::optional<size_t> pending_frame_bytes() const;

 private:
  struct Block {
    explicit Block(size_t size) : capacity(size), bytes(new std::byte[size]) {}
    size_t capacity;
    std::unique_ptr<std::byte[]> bytes;
  };

  void make_room_for(size_t frame_total);
  size_t unread() const { return end_ - begin_; }

  size_t max_frame_bytes_;
  std::shared_ptr<Block> block_;
  size_t begin_ = 0;  // first byte not given out
  size_t end_ = 0;    // behind the last byte received
};

}  // namespace naru
