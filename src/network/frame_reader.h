// Cuts a byte stream into frames, in the way of a protocol's Framing. No I/O.
//
// Bytes are read into a block of 16 KiB that the thread lends to whoever reads. Small frames are copied out of it, so
// that a request which waits for long (a parked fetch) holds its own bytes and no more; the block goes back to the
// thread when the reader is done. Larger frames are views that keep the block alive, and are not copied. A frame that
// does not fit into the rest of the block moves, with what has arrived of it, into a block of its own size.
// Between two reads a connection holds nothing, or the beginning of one frame: that is what makes ten thousand idle
// connections cheap.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "foundation/bytes.h"
#include "foundation/shared_bytes.h"
#include "foundation/status.h"
#include "network/framing.h"

namespace naru {

// Used by one thread at a time: the stream's loop.
class FrameReader {
 public:
  static constexpr size_t kBlockSize = 16 * 1024;
  // Up to this size a frame is copied.
  static constexpr size_t kCopiedFrameMax = 2 * 1024;

  explicit FrameReader(size_t max_frame_bytes,
                       std::unique_ptr<Framing> framing = std::make_unique<SizePrefixedFraming>())
      : max_frame_bytes_(max_frame_bytes), framing_(std::move(framing)) {}

  // Where the next bytes go; never empty. Call received() with how many came.
  MutableBytesView space();
  void received(size_t bytes);

  struct Next {
    std::optional<SharedBytes> frame;  // its content
    Status error;                      // malformed or too large: the stream cannot be understood any more
  };
  // The next whole frame, if there is one.
  Next next();

  // No more space() for now: keeps the bytes that were not given out, and gives back the rest of the memory.
  void rest();

  // Bytes that came and were not given out.
  size_t unread() const { return block_ ? end_ - begin_ : leftover_.size(); }

  // Whether a frame has begun and is not whole.
  bool in_the_middle() const { return unread() > 0; }

  // The size of the frame that has begun but is not whole: what to pay for before reading on. Where the end is not
  // known yet, the memory that is used so far.
  std::optional<size_t> pending_frame_bytes() const;

  // How much memory a request with a frame of this size keeps alive.
  static size_t memory_of(size_t frame_bytes);

 private:
  struct Block {
    explicit Block(size_t size) : capacity(size), bytes(new std::byte[size]) {}
    size_t capacity;
    std::unique_ptr<std::byte[]> bytes;
  };
  // A block that nobody reads into now, per thread.
  static std::shared_ptr<Block>& spare_of_this_thread();

  void borrow_block();
  void return_block();
  void make_room_for(size_t frame_total);
  Next too_large(size_t bytes) const;
  const std::byte* first() const { return block_ ? block_->bytes.get() + begin_ : leftover_.data(); }

  size_t max_frame_bytes_;
  std::unique_ptr<Framing> framing_;
  std::optional<FrameBounds> pending_;  // of the frame that has begun, if they are known
  std::shared_ptr<Block> block_;
  bool lent_ = false;  // frames that were given out are views of the block
  size_t begin_ = 0;   // first byte not given out
  size_t end_ = 0;     // behind the last byte received
  Bytes leftover_;     // the beginning of a frame, while there is no block
};

}  // namespace naru
